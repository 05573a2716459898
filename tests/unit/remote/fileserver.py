"""An https server on loopback that answers with the octets a test gives it, and remembers what it was asked."""

from __future__ import annotations

import asyncio
import ssl
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.servers.certificate import Certificate


@dataclass
class FileServer:
    """`answer` is written as it is; then `drip` (over and over, with a pause), else the connection ends."""

    port: int = 0
    answer: bytes = b""
    drip: bytes = b""
    heads: list[bytes] = field(default_factory=list)
    names: list[str | None] = field(default_factory=list)
    connections: int = 0
    written: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request."""
        with suppress(ConnectionError, ssl.SSLError, asyncio.IncompleteReadError, TimeoutError):
            self.heads.append(await reader.readuntil(b"\r\n\r\n"))
            writer.write(self.answer)
            await writer.drain()
            while self.drip:
                writer.write(self.drip)
                self.written += len(self.drip)
                await writer.drain()
                if len(self.drip) < 1_000:
                    await asyncio.sleep(0.02)
        writer.close()
        with suppress(ConnectionError, ssl.SSLError, TimeoutError):
            await writer.wait_closed()


def page(body: bytes, *fields: str, status: str = "200 OK") -> bytes:
    """Return an answer with its length."""
    head = "".join(f"{line}\r\n" for line in (f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *fields))
    return f"{head}\r\n".encode("latin-1") + body


@asynccontextmanager
async def running(certificate: Certificate, host: str = "127.0.0.1") -> AsyncIterator[FileServer]:
    """Run one."""
    server = FileServer()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate.chain, certificate.key)
    context.sni_callback = lambda _, name, __: server.names.append(name)

    async def counted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server.connections += 1
        await server.serve(reader, writer)

    listening = await asyncio.start_server(counted, host, 0, ssl=context)
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listening.close()


def trusting(certificate: Certificate) -> ssl.SSLContext:
    """Return a client's context that trusts this certificate alone, as the world's trusts its authorities."""
    return ssl.create_default_context(cafile=str(certificate.chain))
