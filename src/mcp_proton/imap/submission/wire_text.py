"""A message on the wire (RFC 5321 §4.5.2, §2.3.8): what it needs of a server, and its dots doubled, chunk by chunk.

INVARIANT: nothing but CRLF ends a line. A server that takes a bare LF for a line end would take a dot between two of
them for the end of the mail, and the rest for commands (Bridge does).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcp_proton.domain.errors import Invalid

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mcp_proton.domain.outgoing import Octets

LONGEST_LINE = 998
"""octets without the line end (RFC 5322 §2.1.1)"""
END = b".\r\n"


@dataclass(frozen=True, slots=True)
class Needs:
    """`eight_bit`: octets above 127 anywhere. `eight_bit_header`: in the header block, which RFC 6532 alone allows."""

    eight_bit: bool
    eight_bit_header: bool


async def needs(mail: Octets, longest: int | None = LONGEST_LINE) -> Needs:
    """Read a message through. Raises `Invalid` where it cannot go on the wire as it is, saying why.

    `longest` None: lines may be of any length, as in what is only stored.
    """
    scan = _Scan(longest)
    async for chunk in mail.chunks():
        scan.feed(chunk)
    scan.finish()
    return Needs(scan.eight_bit, scan.eight_bit_header)


async def stuffed(mail: Octets) -> AsyncIterator[bytes]:
    """Yield it with a dot before every dot that begins a line, up to a line end. `END` comes after it."""
    last = b"\n"
    async for chunk in mail.chunks():
        if not chunk:
            continue
        doubled = chunk.replace(b"\n.", b"\n..")
        yield b"." + doubled if last == b"\n" and chunk[:1] == b"." else doubled
        last = chunk[-1:]
    if last != b"\n":
        yield b"\r\n"


class _Scan:
    def __init__(self, longest: int | None) -> None:
        self._longest = longest
        self.eight_bit = self.eight_bit_header = False
        self._in_header = True
        self._tail = b""
        self._before = b"\r\n"
        self._column = 0

    def feed(self, chunk: bytes) -> None:
        held = chunk.endswith(b"\r")
        text = self._tail + (chunk[:-1] if held else chunk)
        self._tail = b"\r" if held else b""
        if not text:
            return
        if b"\0" in text:
            raise Invalid("the message holds NUL, which mail may not", code="malformed_message")
        pairs = text.count(b"\r\n")
        if text.count(b"\r") != pairs or text.count(b"\n") != pairs:
            raise Invalid("a line of the message ends in something else than CRLF", code="malformed_message")
        if self._longest is not None:
            self._measure(text, self._longest)
        if not text.isascii():
            self.eight_bit = True
        if self._in_header:
            self._header(text)

    def finish(self) -> None:
        if self._tail:
            raise Invalid("a line of the message ends in something else than CRLF", code="malformed_message")

    def _measure(self, text: bytes, most: int) -> None:
        lines = text.split(b"\r\n")
        longest = max(len(lines[0]) + self._column, *map(len, lines))
        if longest > most:
            raise Invalid(f"a line of the message is longer than {most} octets", code="malformed_message")
        self._column = len(lines[-1]) + (self._column if len(lines) == 1 else 0)

    def _header(self, text: bytes) -> None:
        head, blank, _ = (self._before + text).partition(b"\r\n\r\n")
        self._before = text[-3:] if len(text) >= 3 else (self._before + text)[-3:]
        self.eight_bit_header = self.eight_bit_header or not head.isascii()
        self._in_header = not blank
