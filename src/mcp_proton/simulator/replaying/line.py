"""A recorded connection being replayed: what is sent, what is heard, and the session at the other end."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from mcp_proton.simulator.imap.session import Session
    from mcp_proton.simulator.server import Simulator
    from mcp_proton.simulator.smtp.session import SmtpSession

Proto = Literal["imap", "smtp"]


class Line:
    """A client's connection to the simulator; `sent` and `received` count what went over it in clear."""

    session: Session | SmtpSession

    def __init__(self, letter: str, address: str, proto: Proto = "imap") -> None:
        self.letter = letter
        self.tag = letter
        self.address = address
        self.proto = proto
        self.heard = bytearray()
        self.sent = 0
        self.received = 0
        self.is_over = False
        self._count = 0
        self._pump: asyncio.Task[None] | None = None
        self._reader: asyncio.StreamReader
        self._writer: asyncio.StreamWriter

    async def open(self, simulator: Simulator, *, tls: bool) -> bytes:
        """Connect (and go over to TLS); returns what the server said until then."""
        is_smtp = self.proto == "smtp"
        known = _sessions(simulator, self.proto)
        port = simulator.smtp_port if is_smtp else simulator.imap_port
        self._reader, self._writer = await asyncio.open_connection(simulator.host, port)
        greeting = await self._reader.readline()
        self.session = next(iter(_sessions(simulator, self.proto) - known))
        answer = b""
        if tls:
            self.send(b"STARTTLS\r\n" if is_smtp else b"s STARTTLS\r\n")
            answer = await self._reader.readline()
            await self._writer.start_tls(_any_certificate())
        self.received = len(greeting) + len(answer)
        self._pump = asyncio.create_task(self._hear())
        return greeting + answer

    async def start_tls(self) -> None:
        """Go over to TLS in the middle of a conversation."""
        await self._stop_hearing()
        await self._writer.start_tls(_any_certificate())
        self._pump = asyncio.create_task(self._hear())

    async def _hear(self) -> None:
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            while chunk := await self._reader.read(2**18):
                self.heard += chunk
                self.received += len(chunk)
        self.is_over = True

    def send_command(self, text: bytes, number: int | None = None) -> None:
        """Send a command under the next tag, or a later one of that number; DONE counts but has none. SMTP has no tags."""
        self._count = max(self._count + 1, number or 0)
        if self.proto == "smtp":
            self.send(text + b"\r\n")
        elif text.upper() == b"DONE":
            self.send(b"DONE\r\n")
        else:
            self.tag = f"{self.letter}{self._count}"
            self.send(f"{self.tag} ".encode() + text + b"\r\n")

    def send(self, data: bytes) -> None:
        """Send bytes as they are."""
        if not self.is_over and data:
            self.sent += len(data)
            self._writer.write(data)

    def take(self) -> bytes:
        """What was heard since the last time."""
        heard = bytes(self.heard)
        self.heard.clear()
        return heard

    def put_back(self, data: bytes) -> None:
        """Give back what belongs to a later step."""
        self.heard[:0] = data

    async def close(self) -> None:
        """Drop the connection."""
        self.session.close()
        self._writer.close()
        await self._stop_hearing()
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            await self._writer.wait_closed()

    async def _stop_hearing(self) -> None:
        if self._pump is not None:
            self._pump.cancel()
            await asyncio.gather(self._pump, return_exceptions=True)


def _sessions(simulator: Simulator, proto: Proto) -> set[Session | SmtpSession]:
    return set(simulator.smtp_sessions) if proto == "smtp" else set(simulator.sessions)


def _any_certificate() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
