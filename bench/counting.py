"""A relay between a client and a server that counts bytes and turns: how often the client waits for an answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mcp_proton.imap.backend import ImapBackend
from mcp_proton.imap.login.endpoint import Credentials, Endpoint, TlsMode
from mcp_proton.imap.protocol.pool import Habits

from .places import Place


class Relay:
    """Counts what passes. A turn is a packet of the client's after something of the server's."""

    def __init__(self, host: str, port: int, octets_a_second: float = float("inf")) -> None:
        self._server_at, self._rate = (host, port), octets_a_second
        self.port = self._open = 0
        self.reset()

    def reset(self) -> None:
        """Begin to count anew."""
        self.turns = self.octets = 0
        self._answering = True

    async def pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Connect one client with the server."""
        inward, outward = await asyncio.open_connection(*self._server_at)
        self._open += 1

        async def asked() -> None:
            while chunk := await reader.read(65536):
                self.turns += self._answering
                self._answering = False
                outward.write(chunk)
            outward.close()

        async def answered() -> None:
            while chunk := await inward.read(65536):
                self._answering = True
                self.octets += len(chunk)
                if self._rate != float("inf"):
                    await asyncio.sleep(len(chunk) / self._rate)
                writer.write(chunk)
                await writer.drain()
            writer.close()

        await asyncio.gather(asked(), answered(), return_exceptions=True)
        self._open -= 1

    async def quiet(self) -> None:
        """Wait until what clients left open has ended, a moment at most."""
        for _ in range(100):
            if not self._open:
                return
            await asyncio.sleep(0.01)


def through(relay: Relay, place: Place, sessions: Habits | None = None) -> ImapBackend:
    """A backend of a place that talks through the relay."""

    async def password() -> str:
        return place.password

    endpoint = Endpoint("127.0.0.1", relay.port, TlsMode.PLAIN, plain_to_this_machine=True)
    return ImapBackend("bench", endpoint, Credentials(place.username, password), sessions=sessions)


@asynccontextmanager
async def relay(host: str, port: int, octets_a_second: float = float("inf")) -> AsyncIterator[Relay]:
    """Run a relay before a server, as fast as the machine or as a slow line."""
    made = Relay(host, port, octets_a_second)
    server = await asyncio.start_server(made.pass_on, "127.0.0.1", 0)
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        server.close()
        await made.quiet()
