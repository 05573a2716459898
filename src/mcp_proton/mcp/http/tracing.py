"""Traces for an OpenTelemetry collector (extra `otlp`): a span for each call, and below it one for each command to a mail
server (J-133); a command that no call began is a trace by itself. In their attributes are words and numbers of ours alone.

Switched on by `OTEL_EXPORTER_OTLP_ENDPOINT`, as everywhere. The provider is ours and not the process's: what libraries
would put into spans of theirs (arguments, addresses of resources) is never asked for.
"""

from __future__ import annotations

import asyncio
import os
import time
from typing import TYPE_CHECKING

from fastmcp.server.dependencies import get_http_request
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from mcp_proton import __version__
from mcp_proton.domain.errors import Defect, MailError
from mcp_proton.mcp.http.watching import NO_OPERATION

if TYPE_CHECKING:
    from opentelemetry.context import Context

    from mcp_proton.domain.caller import Caller
    from mcp_proton.domain.exchanges import Exchange
    from mcp_proton.domain.operation import Request, Result
    from mcp_proton.domain.outcome import Outcome
    from mcp_proton.mcp.doorway import Gate, Submit
    from mcp_proton.services.door.registry import Definition

SECONDS = 5.0
"""How long a collector may take; what it does not take in that time is lost, and nothing of ours waits for it."""
_propagator = TraceContextTextMapPropagator()


class Tracing:
    """Sends spans to the collector that the environment names."""

    def __init__(self) -> None:
        self._provider = _provider()
        self._tracer = self._provider.get_tracer("mcp_proton", __version__)

    def gate(self, inner: Gate) -> Gate:
        """Return a gate that makes a span of every call; a client's own trace (`traceparent`) is gone on with."""

        async def traced(
            caller: Caller, definition: Definition | None, request: Request | None, submit: Submit
        ) -> Outcome[Result]:
            operation = definition.name if definition else NO_OPERATION
            told = {"mcp_proton.client": caller.name, "mcp_proton.operation": operation}
            span = self._tracer.start_span(f"call {operation}", _parent(), trace.SpanKind.SERVER, told)
            with trace.use_span(span, end_on_exit=True, record_exception=False, set_status_on_exception=False):
                try:
                    outcome = await inner(caller, definition, request, submit)
                except MailError as error:
                    _ended(span, error.status, error.code)
                    raise
                except asyncio.CancelledError:
                    _ended(span, "cancelled", None)
                    raise
                _ended(span, outcome.status, outcome.code, outcome.operation_id)
                return outcome

        return traced

    def exchanged(self, exchange: Exchange) -> None:
        """Make a span of a command to a mail server, below the call that it was for; of no call's, in a trace of its own."""
        end = time.time_ns()
        told = {"network.protocol.name": exchange.protocol, "mcp_proton.end": exchange.end}
        span = self._tracer.start_span(
            f"{exchange.protocol} {exchange.command}",
            kind=trace.SpanKind.CLIENT,
            attributes=told,
            start_time=end - int(exchange.seconds * 1e9),
        )
        if exchange.end == "lost":
            span.set_status(trace.StatusCode.ERROR)
        span.end(end)

    async def aclose(self) -> None:
        """Send what waits, if the collector takes it."""
        await asyncio.to_thread(self._provider.shutdown)


def _provider() -> TracerProvider:
    name = os.environ.get("OTEL_SERVICE_NAME", "mcp-proton")
    provider = TracerProvider(resource=Resource.create({"service.name": name, "service.version": __version__}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(timeout=SECONDS)))
    return provider


def _parent() -> Context | None:
    try:
        shown = get_http_request().headers.get("traceparent")
    except RuntimeError:
        return None
    return _propagator.extract({"traceparent": shown}) if shown else None


def _ended(span: trace.Span, status: str, code: str | None, operation_id: str | None = None) -> None:
    told = {"mcp_proton.status": status, "mcp_proton.code": code, "mcp_proton.operation_id": operation_id}
    span.set_attributes({name: value for name, value in told.items() if value is not None})
    if code == Defect.code:
        span.set_status(trace.StatusCode.ERROR)
