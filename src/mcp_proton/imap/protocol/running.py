"""A command under way: what was asked, by which tag, since when, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from mcp_proton.domain import exchanges
from mcp_proton.domain.errors import Ambiguous, Defect, MailError
from mcp_proton.domain.exchanges import Exchange
from mcp_proton.imap.errors import Rejected

if TYPE_CHECKING:
    import asyncio

    from mcp_proton.imap.protocol.asks import Ask, Done

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class Running(Generic[T]):
    """A command on its way. `done` is its tagged OK, or the error it ended with."""

    ask: Ask[T]
    tag: bytes
    begun: float
    done: asyncio.Future[Done]
    held: int = 0
    forgotten: bool = False
    """nobody waits for it any more"""
    silence: float | None = None
    """its own limit of silence; None: that of the connection"""


def told(running: Running[Any], began: float, done: asyncio.Future[Done]) -> None:
    """Tell whoever watches how a command ended."""
    if done.cancelled():
        end = "left"
    elif (error := done.exception()) is None:
        end = "ok"
    else:
        end = "refused" if isinstance(error, Rejected) else "lost"
    seconds = done.get_loop().time() - began
    exchanges.tell(Exchange("imap", running.ask.name, seconds, end))


def outcome(ask: Ask[Any], reason: MailError) -> MailError:
    """What an ask ends with when its connection does: the reason, or Ambiguous where mail may have changed."""
    unsent = ask.body is not None and not ask.body_sent
    if not ask.changes or unsent or isinstance(reason, Defect):
        return reason
    unsure = Ambiguous(f"the connection ended before the mail server answered `{ask.name}`")
    unsure.__cause__ = reason
    return unsure
