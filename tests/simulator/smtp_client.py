"""A blocking-free SMTP client of a few lines that says whatever it is told to."""

from __future__ import annotations

import asyncio
import base64
import re
import ssl
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from types import TracebackType

    from mcp_proton.simulator import Simulator

CLOSED = "(connection closed)"


class SmtpClient:
    """Sends commands and collects replies; every wait ends after some seconds."""

    def __init__(self, simulator: Simulator, *, log_in: bool = True, implicit_tls: bool = False) -> None:
        self._simulator = simulator
        self._log_in = log_in
        self._implicit_tls = implicit_tls

    async def __aenter__(self) -> Self:
        sim = self._simulator
        context = trusting(sim) if self._implicit_tls else None
        self.reader, self.writer = await asyncio.open_connection(sim.host, sim.smtp_port, limit=2**24, ssl=context)
        self.greeting = await self.reply()
        if self._log_in:
            await self("EHLO client.example")
            assert await self.log_in() == ["235 2.0.0 Authentication succeeded"]
        return self

    async def __aexit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.writer.close()
        try:
            await self.writer.wait_closed()
        except (ConnectionError, ssl.SSLError):
            pass

    async def log_in(self, name: str = "", password: str = "") -> list[str]:
        sim = self._simulator
        plain = f"\0{name or sim.username}\0{password or sim.password}".encode()
        return await self(f"AUTH PLAIN {base64.b64encode(plain).decode()}")

    async def start_tls(self) -> None:
        await self("STARTTLS")
        await self.writer.start_tls(trusting(self._simulator), server_hostname=self._simulator.host)

    def send(self, raw: bytes) -> None:
        self.writer.write(raw)

    async def reply(self) -> list[str]:
        """The lines of one reply; `(connection closed)` at the end of the stream."""
        lines: list[str] = []
        while True:
            try:
                raw = await asyncio.wait_for(self.reader.readline(), 10)
            except ConnectionError:
                raw = b""
            if not raw:
                return [*lines, CLOSED]
            lines.append(raw.decode("latin-1").removesuffix("\r\n"))
            if re.match(r"\d{3}( |$)", lines[-1]):
                return lines

    async def __call__(self, command: str) -> list[str]:
        self.send(command.encode() + b"\r\n")
        return await self.reply()

    async def begin(self, *recipients: str, sender: str = "") -> None:
        """MAIL, RCPT, DATA up to its 354."""
        await self(f"MAIL FROM:<{sender or self._simulator.username}>")
        for recipient in recipients:
            await self(f"RCPT TO:<{recipient}>")
        assert (await self("DATA"))[0].startswith("354")

    async def mail(self, text: bytes, *recipients: str, sender: str = "") -> str:
        """Send a mail; the last line of the last reply."""
        await self.begin(*(recipients or ("ext@example.com",)), sender=sender)
        self.send(wire(text))
        return (await self.reply())[-1]


def trusting(sim: Simulator) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=sim.certificate_pem)
    context.verify_flags &= ~getattr(ssl, "VERIFY_X509_STRICT", 0)
    return context


def wire(text: bytes) -> bytes:
    """A text as it goes after DATA: CRLF, dots doubled, its end marked."""
    lines = text.replace(b"\r\n", b"\n").removesuffix(b"\n").replace(b"\n", b"\r\n")
    return re.sub(rb"(?m)^\.", b"..", lines) + b"\r\n.\r\n"


def letter(subject: str, body: str = "hello", *headers: str, sender: str = "Alice <alice@proton.local>") -> bytes:
    """A small mail to ext@example.com; further headers may name To anew."""
    named = {header.partition(":")[0] for header in headers}
    own = [
        *([f"From: {sender}"] if sender else []),
        *([] if "To" in named else ["To: Ext <ext@example.com>"]),
        f"Subject: {subject}",
        *([] if "Date" in named else ["Date: Mon, 02 Jan 2023 10:00:00 +0000"]),
        *([] if "Message-ID" in named else [f"Message-ID: <{subject.replace(' ', '-')}@client.example>"]),
        *headers,
    ]
    return ("\n".join(own) + f"\n\n{body}\n").encode()
