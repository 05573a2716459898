"""The grammar of a response, once: words and parenthesised lists out of its text. Iterative, so depth is no danger.

A node is `bytes` (quoted string, literal, atom or number), None (NIL) or a list of nodes. Lists nested deeper than
`Limits.nesting` are left out. Anything unbalanced is a ProtocolViolation.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

from mcp_proton.imap.errors import LimitExceeded, ProtocolViolation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mcp_proton.imap.limits import Limits

Node: TypeAlias = "bytes | list[Node] | None"

QUOTED = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
# The last alternative takes all that follows a quote that is never closed, so that it is looked for once.
_TOKEN = re.compile(
    QUOTED + rb'|[()]|(?:BODY|BINARY(?:\.SIZE)?)\[[^\]]{0,4000}+\](?:<[0-9]+>)?|[^\s()"]++|".*+',
    re.DOTALL | re.IGNORECASE,
)
_CLOSED = re.compile(QUOTED, re.DOTALL)
_LITERAL = re.compile(rb"~?\{[0-9]+\+?\}\Z")
_ESCAPE = re.compile(rb"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
_GO_ESCAPES = {b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}
_OPEN, _CLOSE, _QUOTE, _BRACE, _TILDE = b'()"{~'
_MARKS = frozenset((_BRACE, _TILDE))
_CROWDED = 1 << 20


def unquoted(quoted: bytes) -> bytes:
    r"""The value of a quoted string. Besides IMAP's two escapes, Go's are understood: Bridge sends `\t`, `\u00a0`."""
    return unescaped(quoted[1:-1])


def unescaped(inside: bytes) -> bytes:
    """The value of a quoted string from what stands between its quotes."""
    return _ESCAPE.sub(_escaped, inside) if b"\\" in inside else inside


def _escaped(match: re.Match[bytes]) -> bytes:
    escape = match[1]
    if len(escape) == 1:
        return _GO_ESCAPES.get(escape, escape)
    code = int(escape[1:], 16)
    if escape[:1] == b"x":
        return bytes((code,))
    return chr(code).encode("utf-8", "replace") if code <= 0x10FFFF else b"?"


def parse(text: bytes, literals: Sequence[bytes], limits: Limits) -> list[Node]:
    """The nodes of `text`, in which each `{n}` stands for the next of `literals`."""
    if len(text) > _CROWDED and text.count(b" ") + text.count(b"(") > limits.nodes:
        raise LimitExceeded("the mail server sent a response of too many words")
    nest = _Nest(limits.nesting)
    waiting = iter(literals)
    words = _TOKEN.findall(text)
    if words and words[-1][0] == _QUOTE and not _CLOSED.fullmatch(words[-1]):
        raise ProtocolViolation("the mail server left a quoted string open")
    for token in words:
        first = token[0]
        if first == _OPEN:
            nest.open()
        elif first == _CLOSE:
            nest.close()
        elif first == _QUOTE:
            nest.add(unquoted(token))
        elif first in _MARKS and _LITERAL.match(token):
            nest.add(_next(waiting))
        else:
            nest.add(None if len(token) == 3 and token.upper() == b"NIL" else token)
    if next(waiting, None) is not None:
        raise ProtocolViolation("the mail server sent a literal where none belongs")
    return nest.whole()


class _Nest:
    """The list being filled, and those around it."""

    __slots__ = ("_around", "_limit", "_resume", "_skipping", "add", "top")

    def __init__(self, limit: int) -> None:
        self.top: list[Node] = []
        self.add: Callable[[Node], None] = self.top.append
        self._around: list[Callable[[Node], None]] = []
        self._limit = limit
        self._skipping = 0
        self._resume = self.add

    def open(self) -> None:
        if self._skipping or len(self._around) >= self._limit:
            if not self._skipping:
                self._resume, self.add = self.add, _ignore
            self._skipping += 1
            return
        inner: list[Node] = []
        self.add(inner)
        self._around.append(self.add)
        self.add = inner.append

    def close(self) -> None:
        if self._skipping:
            self._skipping -= 1
            if not self._skipping:
                self.add = self._resume
            return
        if not self._around:
            raise ProtocolViolation("the mail server closed a list that it never opened")
        self.add = self._around.pop()

    def whole(self) -> list[Node]:
        if self._around or self._skipping:
            raise ProtocolViolation("the mail server left a list open")
        return self.top


def _ignore(node: Node) -> None:
    return None


def _next(literals: Iterator[bytes]) -> bytes:
    value = next(literals, None)
    if value is None:
        raise ProtocolViolation("the mail server named a literal that it did not send")
    return value
