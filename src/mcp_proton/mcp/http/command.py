"""`mcp-proton serve`: the always-on service, for many clients, until a signal ends it."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import sys
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from mcp_proton import bootstrap
from mcp_proton.config.serving import Place, place
from mcp_proton.domain import exchanges
from mcp_proton.domain.errors import MailError, NotFound, Unavailable
from mcp_proton.mcp.http import announcing, listening, watching
from mcp_proton.mcp.http.app import Application
from mcp_proton.mcp.http.identifying import identity
from mcp_proton.mcp.http.limits import Limits
from mcp_proton.mcp.http.log_writer import beside
from mcp_proton.mcp.http.readiness import Readiness
from mcp_proton.mcp.http.running import serve
from mcp_proton.mcp.http.servers import PATH
from mcp_proton.mcp.logs import to_stderr

if TYPE_CHECKING:
    from collections.abc import Sequence
    from socket import socket

    from starlette.types import ASGIApp

    from mcp_proton.config.tables import Service
    from mcp_proton.mcp.doorway import Gate
    from mcp_proton.mcp.http.metrics import Metrics
    from mcp_proton.mcp.http.tracing import Tracing

_COLLECTOR = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_log = logging.getLogger(__name__)


def run(arguments: Sequence[str]) -> int:
    """Serve until a signal comes; return the exit code: 2 for what the owner has to mend, 5 for what may pass."""
    given = _parser().parse_args(arguments)
    try:
        asyncio.run(_serve(given.listen, demo=given.demo))
    except MailError as error:
        sys.stderr.write(f"mcp-proton: {error.message}" + (f"; {error.next}" if error.next else "") + "\n")
        return 5 if isinstance(error, Unavailable) else 2
    return 0


async def _serve(where: Place | None, *, demo: bool) -> None:
    to_stderr()
    if not demo and not bootstrap.settings(os.environ).config.accounts:
        raise NotFound("no account is connected yet", next="run `mcp-proton setup`, or try --demo")
    async with AsyncExitStack() as stack:
        world = bootstrap.demonstration() if demo else bootstrap.real(os.environ)
        running = await stack.enter_async_context(world)
        service = running.settings.config.service
        to_stderr(getattr(logging, service.log.upper()), service.log_format)
        stack.enter_context(beside())
        door = listening.opened(where or place(service.listen), service.socket_group)
        stack.callback(door.close)
        running.links.origin = service.public_url or (None if door.path else str(door))
        limits, observers, notices = Limits(service), [watching.audit], watching.Notices()
        doors: list[tuple[ASGIApp, socket]] = []
        metrics = _metrics(running, service, stack, doors)
        if metrics is not None:
            observers.append(metrics.called)
            stack.callback(exchanges.listen(metrics.exchanged))
            notices = watching.Notices(metrics.noticed)
        trusted, front = await stack.enter_async_context(identity(running, door, notices))
        gate: Gate = watching.Watched(limits, observers)
        tracing = _tracing()
        if tracing is not None:
            gate = tracing.gate(gate)
            stack.callback(exchanges.listen(tracing.exchanged))
            stack.push_async_callback(tracing.aclose)
        app = Application(running, gate, Readiness(running).look, notices, trusted, front)
        stack.push_async_callback(app.aclose)
        if metrics is not None:
            metrics.watch(app.sessions, limits.turns)
        if not demo:
            running.service.recover()
        await _announce(door, running, demo=demo)
        await serve([(app, door.socket), *doors], app.ending.set)


def _metrics(
    running: bootstrap.Running, service: Service, stack: AsyncExitStack, doors: list[tuple[ASGIApp, socket]]
) -> Metrics | None:
    """Open the listener for metrics, where there shall be one."""
    if service.metrics_listen is None:
        return None
    from mcp_proton.mcp.http.metrics import Metrics

    metrics, door = Metrics(running), listening.opened(place(service.metrics_listen))
    stack.callback(door.close)
    doors.append((metrics, door.socket))
    watching.write("measuring", where=f"{door}/metrics")
    return metrics


def _tracing() -> Tracing | None:
    """Begin to trace, where the environment names a collector and the extra is there."""
    if not any(os.environ.get(name) for name in _COLLECTOR):
        return None
    try:
        from mcp_proton.mcp.http.tracing import Tracing
    except ModuleNotFoundError:
        _log.warning("a collector for traces is named, but the extra is missing: pip install 'mcp-proton[otlp]'")
        return None
    return Tracing()


async def _announce(door: listening.Listening, running: bootstrap.Running, *, demo: bool) -> None:
    if demo:
        token = await running.tokens.issue(bootstrap.DEMO_CLIENT)
        sys.stderr.write(f"mcp-proton: the demonstration's client token is {token}\n")
        sys.stderr.flush()
    watching.write("serving", where=str(door) if door.path else f"{door}{PATH}")
    announcing.ready()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="mcp-proton serve", description="Serve MCP over HTTP to many clients.")
    parser.add_argument("--listen", type=_place, help="where to listen, instead of what config.toml says")
    parser.add_argument("--demo", action="store_true", help="serve the demonstration mailbox")
    return parser


def _place(text: str) -> Place:
    try:
        found = place(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if not found.is_of_this_machine:
        raise argparse.ArgumentTypeError("only an address of this machine can be given here; others in config.toml")
    return found
