"""The octets of one SMTP connection: aiosmtplib's protocol, with writing held back and every reply counted.

aiosmtplib bounds a reply (32 KiB, lines of 8 KiB). What it does not do is hold a long text back to the speed of the
server, and notice that a server said more than it was asked (Bridge, after a 554; an attacker before TLS): the next
reply would then be taken for the answer to something else.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from aiosmtplib.protocol import SMTPProtocol

from mcp_proton.imap.errors import ProtocolViolation

if TYPE_CHECKING:
    import ssl

    from aiosmtplib import SMTPResponse


class Wire(SMTPProtocol):
    """Made inside a running loop. One question at a time."""

    def __init__(self) -> None:
        super().__init__()
        self._writable = asyncio.Event()
        self._writable.set()
        self._heard: bytearray | None = bytearray()
        self._out_of_step = False

    def pause_writing(self) -> None:
        """The server takes no more for now."""
        super().pause_writing()
        self._writable.clear()

    def resume_writing(self) -> None:
        """It takes more."""
        super().resume_writing()
        self._writable.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """Whoever waits to write goes on, and finds out."""
        self._writable.set()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Note what belongs to no question. Whoever waits to write looks up: it may be a no."""
        self._writable.set()
        if self._heard is None:
            self._out_of_step = True
        else:
            self._heard += data
        super().data_received(data)

    async def greeting(self, patience: float) -> SMTPResponse:
        """What the server says first."""
        return await self._counted(patience)

    async def ask(self, *words: bytes, patience: float) -> SMTPResponse:
        """One command and its reply. Raises `ProtocolViolation` when the server said more than it was asked before."""
        self._check_step()
        self._heard = bytearray()
        try:
            return await self.execute_command(*words, timeout=patience)
        finally:
            self._count()

    async def begin_tls(self, context: ssl.SSLContext, host: str, patience: float) -> None:
        """STARTTLS. What was said in plain text beyond its reply is somebody else's word, and ends the conversation."""
        self._check_step()
        self._heard = bytearray()
        try:
            await self.start_tls(context, host, patience)
        finally:
            self._count()
        self._check_step()

    async def answer(self) -> SMTPResponse:
        """The reply to what is being written. To be waited for beside the writing: a server may say no in between."""
        self._check_step()
        self._heard = bytearray()
        return await self._counted(None)

    async def push(self, data: bytes, patience: float) -> None:
        """Write, and return when the server is ready for more."""
        self.write(data)
        if not self._writable.is_set():
            async with asyncio.timeout(patience):
                await self._writable.wait()

    def close(self) -> None:
        """Close when what was written has gone."""
        if self.transport is not None:
            self.transport.close()

    def abort(self) -> None:
        """Close at once."""
        if isinstance(self.transport, asyncio.WriteTransport):
            self.transport.abort()

    async def _counted(self, patience: float | None) -> SMTPResponse:
        try:
            return await self.read_response(timeout=patience)
        finally:
            self._count()

    def _count(self) -> None:
        heard, self._heard = bytes(self._heard or b""), None
        lines = heard.split(b"\n")
        ends = next((at for at, line in enumerate(lines) if line[3:4] != b"-"), len(lines))
        if lines[ends + 1 :] not in ([], [b""]):
            self._out_of_step = True

    def _check_step(self) -> None:
        if self._out_of_step:
            raise ProtocolViolation("the mail server said more than it was asked")
