"""ClientServers: one MCP server for each client, made when it first calls and anew when the owner changes what it gets.

A client's sessions live in its own server and nowhere else: what one client is given (session ids, sealed states) means
nothing to another's.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcp_proton.mcp.http.bearers import left_open
from mcp_proton.mcp.http.streams import Streams
from mcp_proton.mcp.identity import agent
from mcp_proton.mcp.server import build

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from mcp_proton.bootstrap import Running
    from mcp_proton.config.values import Profile
    from mcp_proton.mcp.doorway import Gate, Vouching

PATH = "/mcp"
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Terms:
    """What the owner's configuration gives a client."""

    profile: Profile
    accounts: frozenset[str] | None
    output_schemas: bool


class ClientServer:
    """The server of one client, alive in a task of its own from `start` to `aclose`."""

    def __init__(self, name: str, terms: Terms, running: Running, gate: Gate, vouching: Vouching) -> None:
        self.terms = terms
        who = agent(name, terms.accounts)
        server = build(
            running.service,
            who,
            terms.profile,
            output_schemas=terms.output_schemas,
            gate=gate,
            limited=left_open,
            vouching=vouching,
        )
        self._app = server.http_app(
            PATH,
            event_store=Streams(),
            host_origin_protection=False,  # looked at before anybody is recognised
            session_idle_timeout=60.0 * running.settings.config.service.session_minutes,
        )
        self._ready = asyncio.Event()
        self._over = asyncio.Event()
        self._life = asyncio.create_task(self._live())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request of this client's."""
        await self._ready.wait()
        await self._app(scope, receive, send)

    async def aclose(self) -> None:
        """End its sessions; calls that run are cancelled, and end as the journal says."""
        self._over.set()
        await asyncio.gather(self._life, return_exceptions=True)

    async def _live(self) -> None:
        try:
            async with self._app.lifespan(self._app):
                self._ready.set()
                await self._over.wait()
        finally:
            self._ready.set()


class ClientServers:
    """The servers of all clients that called."""

    def __init__(self, running: Running, gate: Gate, vouching: Vouching) -> None:
        self._running = running
        self._gate, self._vouching = gate, vouching
        self._servers: dict[str, ClientServer] = {}
        self._retiring: set[asyncio.Task[None]] = set()

    def of(self, client: str) -> ASGIApp:
        """Return the client's server, under the terms that hold now. Sessions under earlier terms end."""
        config = self._running.config.current()
        terms = Terms(config.clients[client].profile, config.accounts_of(client), config.service.output_schemas)
        served = self._servers.get(client)
        if served is not None and served.terms == terms:
            return served
        if served is not None:
            _log.info("a client is served under new terms: its sessions end")
            self._retire(served)
        served = self._servers[client] = ClientServer(client, terms, self._running, self._gate, self._vouching)
        return served

    async def aclose(self) -> None:
        """End every server."""
        with suppress(asyncio.CancelledError):
            await asyncio.gather(*(served.aclose() for served in self._servers.values()), *self._retiring)

    def _retire(self, served: ClientServer) -> None:
        task = asyncio.create_task(served.aclose())
        self._retiring.add(task)
        task.add_done_callback(self._retiring.discard)
