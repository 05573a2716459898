"""The HTTP application: what is looked at before a request reaches a client's MCP server.

    shape and Host → who → session and its limits → body → that client's server
                   → signing in, where the owner has it

Who it is comes from the token alone; a session id of another client's is answered as one that does not exist.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from fastmcp.server.http import HostOriginGuardMiddleware
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.responses import JSONResponse, PlainTextResponse, Response

from mcp_proton import __version__
from mcp_proton.domain.errors import MailError
from mcp_proton.mcp.http.addresses import Addresses
from mcp_proton.mcp.http.answers import later, refuse
from mcp_proton.mcp.http.bearers import Bearer, Bearers
from mcp_proton.mcp.http.bodies import Bodies, replayed
from mcp_proton.mcp.http.files import Files
from mcp_proton.mcp.http.holding import held
from mcp_proton.mcp.http.introspecting import Introspection
from mcp_proton.mcp.http.rates import Rate, starting
from mcp_proton.mcp.http.servers import ClientServers
from mcp_proton.mcp.http.sessions import Sessions
from mcp_proton.mcp.http.trusted import WELL_KNOWN
from mcp_proton.storage.access import links

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from mcp_proton.bootstrap import Running
    from mcp_proton.mcp.doorway import Gate
    from mcp_proton.mcp.http.trusted import Trusted

MOST_HEADERS = 64
SESSIONS_AT_ONCE = 32
SECONDS_A_SESSION = 60.0
"""A client opens so many sessions at once, and one more a minute (J-101)."""
STRANGERS_PER_MINUTE = 240
"""So many requests a minute from one address are told what is wrong with their token; more are told to wait."""
_SESSION, _VERSION, _METHOD = b"mcp-session-id", b"mcp-protocol-version", b"mcp-method"


class Application:
    """One service for all clients. `ending` is set when it begins to end: streams are closed then."""

    def __init__(
        self,
        running: Running,
        gate: Gate,
        ready: Callable[[], Awaitable[dict[str, object]]],
        noticed: Callable[[str], None],
        trusted: Trusted | None = None,
        front: ASGIApp | None = None,
    ) -> None:
        service = running.settings.config.service
        self.ending = asyncio.Event()
        self.sessions = Sessions(service.sessions, 60.0 * service.session_minutes)
        self._trusted = trusted
        self._front = front or PlainTextResponse("Not Found", 404)
        self._bearers = Bearers(running, trusted)
        self._servers = ClientServers(running, gate, self._bearers.vouching)
        self._starting = starting(SESSIONS_AT_ONCE, SECONDS_A_SESSION)
        self._addresses = Addresses(service.trusted_proxies)
        self._strangers = Rate(STRANGERS_PER_MINUTE, 60.0)
        self._introspection = Introspection()
        self._bodies = Bodies()
        self._files = Files(
            running.service.world, self._bearers, lambda scope: self._strangers.take(self._addresses.of(scope))
        )
        self._ready = ready
        self._notice = noticed
        hosts = [service.public_host] if service.public_host else []
        origins = [service.public_url] if service.public_url else []
        self._guarded = HostOriginGuardMiddleware(self._routed, hosts, origins, "strict")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or refuse it."""
        if scope["type"] != "http":
            return
        wrong = _shape(scope["headers"])
        await (wrong or self._guarded)(scope, receive, send)

    async def aclose(self) -> None:
        """End all servers and their sessions."""
        self.ending.set()
        await self._servers.aclose()

    async def _routed(self, scope: Scope, receive: Receive, send: Send) -> None:
        route: ASGIApp
        match scope["path"], scope["method"]:
            case ("/mcp", _):
                route = self._mcp
            case ("/token/introspect", "GET" | "HEAD"):
                route = self._introspect
            case (path, _) if path.startswith(links.PATH):
                route = self._files
            case ("/health", "GET" | "HEAD"):
                route = JSONResponse({"status": "ok", "version": __version__})
            case ("/ready", "GET" | "HEAD"):
                state = await self._ready()
                route = JSONResponse(state, 200 if state["ready"] else 503)
            case (path, "GET" | "HEAD") if path in WELL_KNOWN and self._trusted is not None:
                route = JSONResponse(self._trusted.metadata(scope["headers"]), headers={"cache-control": "no-store"})
            case ("/health" | "/ready" | "/token/introspect", _):
                route = PlainTextResponse("Method Not Allowed", 405, {"allow": "GET, HEAD"})
            case _:
                route = self._front
        await route(scope, receive, send)

    async def _mcp(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self.ending.is_set():
            await later(503, "the service is ending", 5)(scope, receive, send)
            return
        who = await self._bearer(scope)
        if isinstance(who, Response):
            await who(scope, receive, send)
            return
        self._introspection.used(who, self._addresses.of(scope))
        refusal = self._admit(scope, who.client)
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        body = await self._bodies.read(receive) if scope["method"] == "POST" else b""
        if isinstance(body, Response):
            self._notice("body_refused")
            await body(scope, receive, send)
            return
        scope.setdefault("state", {})["bearer"] = who
        await self._served(who, scope, replayed(body, receive), send)

    async def _introspect(self, scope: Scope, receive: Receive, send: Send) -> None:
        who = await self._bearer(scope)
        answer = who if isinstance(who, Response) else self._introspection.answer(who)
        await answer(scope, receive, send)

    async def _bearer(self, scope: Scope) -> Bearer | Response:
        """Return who sent a request; or what a stranger is told."""
        try:
            who = await self._bearers.recognise(scope["headers"])
        except MailError as error:
            return later(503, error.message, 5)
        if isinstance(who, Bearer):
            return who
        self._notice(who.event)
        wait = self._strangers.take(self._addresses.of(scope))
        if wait:
            return later(429, "too many requests without a token that is good", wait)
        return refuse(who.status, who.told, headers={"www-authenticate": who.challenge})

    def _admit(self, scope: Scope, client: str) -> Response | None:
        """Look at the session a request belongs to, or would open. Return the refusal, if there is one."""
        session = _one(scope["headers"], _SESSION)
        if session is not None:
            return None if self.sessions.belongs(session, client) else refuse(404, "there is no such session")
        version = _one(scope["headers"], _VERSION)
        if scope["method"] != "POST" or (version is not None and version not in HANDSHAKE_PROTOCOL_VERSIONS):
            return None
        wait = self.sessions.room(client) or self._starting.take(client)
        if not wait:
            return None
        self._notice("sessions_limited")
        return later(429, "too many sessions are open, or were opened of late", wait)

    async def _served(self, who: Bearer, scope: Scope, receive: Receive, send: Send) -> None:
        session = _one(scope["headers"], _SESSION)

        async def noted(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._note(who.client, session, scope["method"], message)
            await send(message)

        acting = scope["method"] == "POST"

        async def still_good() -> bool:
            return await self._bearers.still_good(scope["headers"], who if acting else None)

        server = self._servers.of(who.client)
        if session is not None:
            self.sessions.begin(session)
        try:
            listens = not acting or _one(scope["headers"], _METHOD) == "subscriptions/listen"
            over = self.ending if listens else None
            await held(server, scope, receive, noted, still_good=still_good, over=over)
        finally:
            if session is not None:
                self.sessions.end(session)

    def _note(self, client: str, session: str | None, method: str, start: Message) -> None:
        opened = _one(start["headers"], _SESSION)
        if session is None and opened is not None and start["status"] < 400:
            self.sessions.opened(opened, client)
        elif session is not None and (start["status"] == 404 or (method == "DELETE" and start["status"] < 300)):
            self.sessions.ended(session)


def _shape(headers: list[tuple[bytes, bytes]]) -> Response | None:
    """Refuse what two readers of HTTP could read in two ways (RFC 9112 §6.1, §11.2), and heads out of proportion."""
    names = [name for name, _ in headers]
    alone = (b"host", b"content-length", b"transfer-encoding", b"content-type", _SESSION, _VERSION)
    both = b"transfer-encoding" in names and b"content-length" in names
    if both or len(names) > MOST_HEADERS or any(names.count(name) > 1 for name in alone):
        return PlainTextResponse("Bad Request", 400, {"connection": "close"})
    return None


def _one(headers: list[tuple[bytes, bytes]], name: bytes) -> str | None:
    return next((value.decode("latin-1") for given, value in headers if given.lower() == name), None)
