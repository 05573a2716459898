"""The client's side of a connection: bytes to commands, bad lines skipped to their end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_proton.simulator.imap.parser import InvalidName, Parser
from mcp_proton.simulator.imap.scanner import Dropped, NeedMore, SyntaxFault, line_end_after

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from mcp_proton.simulator.imap.commands import Command

_CHUNK = 256 * 1024
_TLS_HELLO = 0x16


class Hangup(Exception):
    """The connection is over."""


class BadLine(Exception):
    """A command that can't be parsed; it was read to its end."""

    def __init__(self, tag: str, text: str, offset: int, *, looks_like_tls: bool) -> None:
        super().__init__(text)
        self.tag, self.text, self.offset, self.looks_like_tls = tag, text, offset, looks_like_tls


class Incoming:
    """Reads commands from a stream. `received` counts bytes, so that a driver knows when all it sent was read."""

    def __init__(
        self, reader: asyncio.StreamReader, send: Callable[[bytes], None], known: Callable[[], frozenset[str]]
    ) -> None:
        self._reader = reader
        self._send = send
        self._known = known
        self._buffer = bytearray()
        self._previous = 0
        self._prompted: set[int] = set()
        self.received = 0
        self.is_waiting = False

    async def command(self) -> Command:
        """The next command; raises BadLine or InvalidName after such a line, Hangup at the end of the stream."""
        self._prompted.clear()
        while True:
            if self._buffer:
                parser = Parser(self._buffer, self._prompt, known=self._known(), first_offset=self._previous)
                try:
                    command = parser.parse()
                except NeedMore as need:
                    await self._more(need.size)
                    continue
                except Dropped:
                    raise Hangup from None
                except InvalidName:
                    self._consume(parser.scanner.position)
                    raise
                except SyntaxFault as fault:
                    raise await self._bad_line(parser, fault) from None
                self._consume(parser.scanner.position)
                return command
            await self._more(0)

    def _prompt(self, position: int, line: bytes) -> None:
        if position not in self._prompted:
            self._prompted.add(position)
            self._send(line)

    async def _bad_line(self, parser: Parser, fault: SyntaxFault) -> BadLine:
        is_tls = self._buffer[0] == _TLS_HELLO
        while not is_tls and (end := line_end_after(self._buffer, parser.scanner.position)) is None:
            await self._more(0)
        self._consume(len(self._buffer) if is_tls else end or 0)
        return BadLine(parser.tag if fault.tagged else "", fault.text, fault.offset, looks_like_tls=is_tls)

    def _consume(self, count: int) -> None:
        del self._buffer[:count]
        self._previous = count

    async def _more(self, size: int) -> None:
        """Read until a line end has come, or so many bytes."""
        while True:
            chunk = await self._read()
            self._buffer += chunk
            if len(self._buffer) >= size if size else b"\n" in chunk or self._buffer[0] == _TLS_HELLO:
                return

    async def _read(self) -> bytes:
        self.is_waiting = True
        chunk = await self._reader.read(_CHUNK)
        self.is_waiting = False
        if not chunk:
            raise Hangup
        self.received += len(chunk)
        return chunk
