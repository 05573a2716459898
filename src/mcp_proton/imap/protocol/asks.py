"""One command and the reading of its answers: what is sent, which untagged responses belong to it, what it yields.

An ask is used once. Untagged responses are offered to the asks under way, the oldest first, until one takes it; an
ask takes only what it asked for, since servers may run several commands side by side.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

if TYPE_CHECKING:
    from mcp_proton.domain.outgoing import Octets
    from mcp_proton.imap.protocol.codes import Code
    from mcp_proton.imap.protocol.responses import Response
    from mcp_proton.imap.protocol.wire import Sink
    from mcp_proton.imap.protocol.writer import Line

T_co = TypeVar("T_co", covariant=True)


class Done(NamedTuple):
    """A tagged OK: its response code, and the server's words (not for messages of ours)."""

    code: Code | None
    text: bytes


class Taken(NamedTuple):
    """What an ask took of some lines: this many octets from their beginning on, which were this many responses."""

    octets: int
    responses: int


class Ask(ABC, Generic[T_co]):
    """`name` is the command for messages (never its arguments). `changes`: the mail may be different afterwards, so a
    connection lost before the answer leaves the outcome unknown. `secret`: no word of a refusal is kept."""

    changes = False
    secret = False
    exclusive = False
    """no other command may be sent before it has ended"""
    halts = False
    """nothing after its OK is read before `Connection.upgrade`"""
    reads_lines = False
    """it has `take_lines` called before lines are cut and read one by one"""
    skims = False
    """it has lines passed over that nobody asked for: only while no other command is under way, and nobody listens"""
    held_back = False
    """its reader holds the server back, so what it gathers needs no ceiling"""

    body: Octets | None = None
    """a message that follows the line, which ends with its size in braces"""
    body_sent = False
    """all of it may have gone: before that, a lost connection has changed nothing"""

    def __init__(self, name: str, line: Line) -> None:
        self.name = name
        self.line = line
        self.tag = b""
        """given when it is sent"""

    def take(self, response: Response) -> bool:
        """True if this response answers this ask (it is kept); False if it is news for others."""
        return False

    def take_lines(self, lines: memoryview) -> Taken:
        """Keep as many whole responses as these lines begin with, read all at once: for walks over whole mailboxes.
        What is left goes the usual way. Offered only to the oldest ask, and only if its `reads_lines` is set."""
        return Taken(0, 0)

    def sink_for(self, head: bytes, size: int) -> Sink | None:
        """Where a long literal of its answer shall go instead of memory."""
        return None

    def go_ahead(self, text: bytes) -> bytes | None:
        """What to send after a `+` that no literal of ours waited for; None if it means nothing to this ask."""
        return None

    def abandon(self) -> None:
        """Its caller went away: go on taking the answers, but keep none of them."""
        return

    @abstractmethod
    def result(self, done: Done) -> T_co:
        """What the ask yields after its tagged OK."""


class Plain(Ask[Done]):
    """A command whose only answer is its tagged OK."""

    def result(self, done: Done) -> Done:
        return done


class Nowhere:
    """A sink for what nobody wants any more."""

    def write(self, piece: bytes) -> None:
        return None
