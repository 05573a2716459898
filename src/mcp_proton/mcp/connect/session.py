"""Session: the handshake era's session with the service, opened anew when the service has forgotten it."""

from __future__ import annotations

import json
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from mcp_proton.mcp.connect.service import BrokenError, NotReachedError

if TYPE_CHECKING:
    from mcp_proton.mcp.connect.messages import Message
    from mcp_proton.mcp.connect.service import Exchange, Service

_FIRST = "2025-11-25"
_INITIALIZED = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'


class Session:
    """What must be said with each message of the handshake era. Safe to use from several threads."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._lock = threading.Lock()
        self._initialize: bytes | None = None
        self._version = _FIRST
        self.id: str | None = None
        self.shaken = threading.Event()
        """Set unless the client's `initialize` waits for its answer: what comes after it has to wait as well."""
        self.shaken.set()

    def headers(self) -> dict[str, str]:
        """Return the headers of a message in the session."""
        return {"MCP-Protocol-Version": self._version, **({"Mcp-Session-Id": self.id} if self.id else {})}

    def opened(self, asked: Message, exchange: Exchange, answer: bytes) -> None:
        """Keep what the service answered to the client's own `initialize`."""
        self._initialize = asked.octets
        self._keep(exchange, answer)

    def renew(self, forgotten: str | None) -> bool:
        """Open the session again, unless another thread did. False where the service does not let us."""
        with self._lock:
            if self.id != forgotten:
                return True
            if self._initialize is None:
                return False
            self.id = None
            with suppress(NotReachedError, BrokenError):
                return self._open()
        return False

    def end(self) -> None:
        """Tell the service that nobody will use it any more."""
        if self.id is None:
            return
        exchange = self._service.exchange()
        with suppress(NotReachedError, BrokenError):
            self._service.begin(exchange, "DELETE", None, self.headers())
        exchange.close()

    def _open(self) -> bool:
        exchange = self._service.exchange()
        try:
            self._service.begin(exchange, "POST", self._initialize, {})
            if exchange.status != 200:
                return False
            answers = [one.data for one in exchange.events() if one.data] if exchange.is_stream else [exchange.body()]
            self._keep(exchange, answers[-1] if answers else b"")
        finally:
            exchange.close()
        told = self._service.exchange()
        try:
            self._service.begin(told, "POST", _INITIALIZED, self.headers())
            return told.status == 202
        finally:
            told.close()

    def _keep(self, exchange: Exchange, answer: bytes) -> None:
        self.id = exchange.header("mcp-session-id") or self.id
        with suppress(ValueError, LookupError, TypeError):
            version = json.loads(answer)["result"]["protocolVersion"]
            self._version = version if isinstance(version, str) else self._version
