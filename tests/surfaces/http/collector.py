"""A collector for traces on loopback, as OpenTelemetry's exporters speak to it (OTLP over HTTP, protobuf)."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.canaries import hearing


class Collector:
    """Keeps what it is sent. `url` is what `OTEL_EXPORTER_OTLP_ENDPOINT` is set to."""

    def __init__(self) -> None:
        self.octets = b""
        self.spans: list[Any] = []

    def __enter__(self) -> Self:
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                collector._take(self.path, self.rfile.read(int(self.headers["content-length"])))
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join(10)
        self._server.server_close()
        hearing.listen(self.octets.decode("latin-1"), "what traces told")

    def _take(self, path: str, octets: bytes) -> None:
        assert path == "/v1/traces"
        self.octets += octets
        for resource in ExportTraceServiceRequest.FromString(octets).resource_spans:
            for scope in resource.scope_spans:
                self.spans += scope.spans

    def told(self, span: Any) -> dict[str, str]:
        """Return a span's attributes."""
        return {one.key: one.value.string_value for one in span.attributes}
