"""A blocking-free IMAP client of a few lines, as far from the product's own as can be."""

from __future__ import annotations

import asyncio
import ssl
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from types import TracebackType

    from tests.servers.bridges import Door


class Client:
    """Sends commands and collects the lines up to the tagged one; every wait ends after some seconds."""

    def __init__(self, door: Door, *, log_in: bool = True, tls: bool = False) -> None:
        self._door = door
        self._log_in = log_in
        self._tls = tls
        self._count = 0
        self.is_over = False

    async def __aenter__(self) -> Self:
        door = self._door
        self.reader, self.writer = await asyncio.open_connection(door.host, door.imap_port, limit=2**24)
        self.greeting = await self.line()
        if self._tls:
            self.writer.write(b"s STARTTLS\r\n")
            await self.line()
            context = ssl.create_default_context(cadata=door.certificate_pem or "")
            context.verify_flags &= ~getattr(ssl, "VERIFY_X509_STRICT", 0)
            await self.writer.start_tls(context, server_hostname=door.host)
        if self._log_in:
            await self(f"LOGIN {door.username} {door.password}")
        return self

    async def __aexit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.writer.close()
        try:
            await self.writer.wait_closed()
        except (ConnectionError, ssl.SSLError):
            pass

    async def line(self) -> str:
        """The next line without its end; an empty string at the end of the stream."""
        try:
            raw = await asyncio.wait_for(self.reader.readline(), 10)
        except ConnectionError:
            raw = b""
        self.is_over = not raw
        return raw.decode("latin-1").removesuffix("\r\n")

    def send(self, raw: bytes) -> None:
        """Send bytes as they are."""
        self.writer.write(raw)

    async def __call__(self, command: str) -> list[str]:
        """Send a command; its lines, the tagged one last and without its tag."""
        self._count += 1
        tag = f"t{self._count}"
        self.send(f"{tag} {command}\r\n".encode())
        lines: list[str] = []
        while True:
            line = await self.line()
            if line.startswith(f"{tag} "):
                return [*lines, line.removeprefix(f"{tag} ")]
            if self.is_over:
                return [*lines, "(connection closed)"]
            lines.append(line)
