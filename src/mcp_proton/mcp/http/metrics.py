"""Metrics for Prometheus, on a listener of their own: how much, how long and how it ended, by client and operation (J-132)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastmcp.server.http import HostOriginGuardMiddleware
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.responses import PlainTextResponse, Response

from mcp_proton.domain.caller import owner
from mcp_proton.domain.errors import MailError
from mcp_proton.domain.outcome import Status
from mcp_proton.domain.sendings import Stage

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Receive, Scope, Send

    from mcp_proton.bootstrap import Running
    from mcp_proton.domain.exchanges import Exchange
    from mcp_proton.domain.turns import Turns
    from mcp_proton.mcp.http.sessions import Sessions
    from mcp_proton.mcp.http.watching import Seen

_DENIED = frozenset({"policy_denied", "out_of_bounds", "over_limit", "paused", "not_onboarded"})
_BUCKETS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100)
_MOST_WAITING = 1_000


class Metrics:
    """What happened since the start, and what is now. An ASGI application that serves `/metrics`."""

    def __init__(self, running: Running) -> None:
        self.registry = CollectorRegistry()
        self._running = running
        self._guarded = HostOriginGuardMiddleware(self._served, mode="strict")
        self._calls = Counter(
            "mcp_proton_tool_calls",
            "Calls, by how they ended",
            ("client", "operation", "status"),
            registry=self.registry,
        )
        self._latency = Histogram(
            "mcp_proton_tool_latency_seconds",
            "How long calls took",
            ("operation",),
            buckets=_BUCKETS,
            registry=self.registry,
        )
        self._verdicts = Counter(
            "mcp_proton_verdicts", "What the owner's rules said to calls", ("verdict",), registry=self.registry
        )
        self._events = Counter(
            "mcp_proton_refusals", "Requests that reached no call, by why", ("event",), registry=self.registry
        )
        self._exchanges = Histogram(
            "mcp_proton_mail_exchange_seconds",
            "How long mail servers took to answer a command",
            ("protocol", "command"),
            buckets=_BUCKETS,
            registry=self.registry,
        )
        self._ends = Counter(
            "mcp_proton_mail_exchanges",
            "Commands to mail servers, by how they ended",
            ("protocol", "command", "end"),
            registry=self.registry,
        )
        self._connections = Gauge(
            "mcp_proton_mail_connections",
            "Connections to mail servers now",
            ("account", "state"),
            registry=self.registry,
        )
        self._sendings = Gauge(
            "mcp_proton_sendings", "Mails that were about to leave, by what became of them", ("stage",),
            registry=self.registry,
        )  # fmt: skip
        self._waiting = Gauge(
            "mcp_proton_approvals_waiting", "Operations that wait for the owner", registry=self.registry
        )

        self._gauge(
            "mcp_proton_journal_lag_seconds", "How long journal lines of reads wait", lambda: running.load().lag
        )

        watching = running.service.watching
        self._gauge(
            "mcp_proton_watched_accounts", "Accounts watched now, on a connection each", lambda: watching.accounts
        )
        self._gauge("mcp_proton_followed_resources", "Resources that clients are told of", lambda: watching.followers)

    def watch(self, sessions: Sessions, turns: Turns) -> None:
        """Show what is open and running now."""
        self._gauge("mcp_proton_sessions", "Open sessions", lambda: len(sessions))
        self._gauge("mcp_proton_active_clients", "Clients with an open session", lambda: sessions.clients)
        self._gauge("mcp_proton_calls_running", "Calls being done", lambda: turns.taken)

    def called(self, seen: Seen) -> None:
        """Count a call."""
        self._calls.labels(seen.client, seen.operation, seen.status).inc()
        self._latency.labels(seen.operation).observe(seen.seconds)
        self._verdicts.labels(_verdict(seen)).inc()

    def exchanged(self, exchange: Exchange) -> None:
        """Count a command to a mail server."""
        self._exchanges.labels(exchange.protocol, exchange.command).observe(exchange.seconds)
        self._ends.labels(exchange.protocol, exchange.command, exchange.end).inc()

    def noticed(self, event: str) -> None:
        """Count something that is no call."""
        self._events.labels(event).inc()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve `/metrics`."""
        if scope["type"] == "http":
            await self._guarded(scope, receive, send)

    async def _served(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer: ASGIApp = PlainTextResponse("Not Found", 404)
        if (scope["path"], scope["method"]) == ("/metrics", "GET"):
            await self._look()
            answer = Response(generate_latest(self.registry), media_type="text/plain; version=0.0.4; charset=utf-8")
        await answer(scope, receive, send)

    async def _look(self) -> None:
        world = self._running.service.world
        for account, (opened, busy) in self._running.load().connections.items():
            self._connections.labels(account, "busy").set(busy)
            self._connections.labels(account, "idle").set(opened - busy)
        try:
            waiting = await world.journal.recent(owner(), limit=_MOST_WAITING, statuses=(Status.PENDING,))
            stages = await world.sendings.tally()
        except MailError:
            self._waiting.set(float("nan"))
            return
        self._waiting.set(len(waiting))
        for stage in Stage:
            self._sendings.labels(stage.value).set(stages.get(stage, 0))

    def _gauge(self, name: str, what: str, value: Callable[[], float]) -> None:
        Gauge(name, what, registry=self.registry).set_function(value)


def _verdict(seen: Seen) -> str:
    if seen.status == "approval_pending":
        return "ask"
    return "deny" if seen.status == "refused" and seen.code in _DENIED else "allow"
