"""The client's side of an SMTP connection: lines of commands, and the text of a mail."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_proton.simulator.imap.incoming import Hangup

if TYPE_CHECKING:
    import asyncio

_CHUNK = 256 * 1024
_LONGEST_LINE = 65_536


class LineTooLongError(Exception):
    """A line is longer than the server takes; nothing more can be read."""


class Arriving:
    """Reads from a stream. `received` counts bytes, `is_waiting` tells that it waits for the client."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader
        self._buffer = bytearray()
        self._is_too_long = False
        self.received = 0
        self.is_waiting = False

    async def line(self) -> bytes:
        """The next line without its LF; raises Hangup at the end of the stream, LineTooLongError."""
        searched = 0
        while (end := self._buffer.find(b"\n", searched)) < 0:
            searched = len(self._buffer)
            self._check(searched)
            await self._more()
        self._check(end)
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return line

    async def exactly(self, size: int) -> bytes:
        """So many bytes, whatever lines they are; raises Hangup when the stream ends before."""
        while len(self._buffer) < size:
            await self._more()
        taken = bytes(self._buffer[:size])
        del self._buffer[:size]
        return taken

    def forget(self) -> None:
        """Drop what came before TLS began."""
        self._buffer.clear()

    def _check(self, length: int) -> None:
        # The LF before a line counts as well.
        self._is_too_long = self._is_too_long or length + 1 > _LONGEST_LINE
        if self._is_too_long:
            raise LineTooLongError

    async def _more(self) -> None:
        self.is_waiting = True
        chunk = await self._reader.read(_CHUNK)
        self.is_waiting = False
        if not chunk:
            raise Hangup
        self.received += len(chunk)
        self._buffer += chunk


class DataText:
    """The text after DATA, up to the line with a dot.

    With `bare_dot_ends` that line counts wherever an LF came before it, and with or without a CR of its own.
    """

    def __init__(self, arriving: Arriving, *, bare_dot_ends: bool) -> None:
        self._arriving = arriving
        self._bare_dot_ends = bare_dot_ends
        self._is_read = False

    async def all(self) -> bytes:
        """The whole text, doubled dots undone; raises Hangup or LineTooLongError."""
        lines: list[bytes] = []
        after_crlf = True
        while True:
            line = await self._arriving.line()
            if (line == b".\r" and (after_crlf or self._bare_dot_ends)) or (line == b"." and self._bare_dot_ends):
                self._is_read = True
                return b"".join(lines)
            after_crlf = line.endswith(b"\r")
            lines.append(line.removeprefix(b".") + b"\n")

    async def drain(self) -> None:
        """Read what is left of it."""
        if not self._is_read:
            await self.all()


class ChunkedText:
    """The text of a mail that comes by BDAT; `give` adds the next chunk."""

    def __init__(self) -> None:
        self._chunks: list[bytes] = []

    def give(self, chunk: bytes) -> None:
        """One more chunk."""
        self._chunks.append(chunk)

    async def all(self) -> bytes:
        """What has come so far."""
        return b"".join(self._chunks)
