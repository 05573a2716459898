"""Wire: HTTP/1.1 as uvicorn speaks it, for connections nobody has vouched for yet.

A head that does not arrive whole in time, or is too large, ends the connection: whoever feeds us a byte at a time holds
nothing for longer than that. Websockets and upgrades are not spoken.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from mcp_proton.mcp.http.answers import later

if TYPE_CHECKING:
    import asyncio

    from starlette.types import Receive, Scope, Send

HEAD_SECONDS = 10.0
HEAD_OCTETS = 32 << 10
CONNECTIONS = 512
"""At most so many connections, and requests, at once. Beyond, a request is told to come back, and its connection ends."""
SECONDS = 2.0


class Joined(h11.Connection):
    """What is written, the head of a response that says how long it is together with what follows: one packet, not two."""

    _head = b""

    def send(self, event: h11.Event) -> bytes | None:  # type: ignore[override]
        """Return what to write now."""
        octets = super().send(event)
        if isinstance(event, h11.Response) and any(name == b"content-length" for name, _ in event.headers):
            self._head, octets = octets or b"", b""
        elif octets is not None:
            self._head, octets = b"", self._head + octets
        return octets


class Wire(H11Protocol):
    """One connection."""

    _patience: asyncio.TimerHandle | None = None

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.conn = Joined(h11.SERVER, HEAD_OCTETS)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a first request."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Take octets. Between two requests uvicorn's own timer runs until the first of them arrive; then ours does."""
        if self._patience is None and self.conn.their_state is h11.IDLE:
            self._wait()
        crowded = len(self.connections) > CONNECTIONS or len(self.tasks) >= CONNECTIONS
        self.app = _crowded if crowded else self.config.loaded_app
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the timer."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _should_upgrade(self) -> bool:
        return False

    def _wait(self) -> None:
        self._patience = self.loop.call_later(HEAD_SECONDS, self._give_up)

    def _stop_waiting(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _give_up(self) -> None:
        self._patience = None
        if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
            self.transport.close()


async def _crowded(scope: Scope, receive: Receive, send: Send) -> None:
    answer = later(503, "too many are connected at once", SECONDS)
    answer.headers["connection"] = "close"
    await answer(scope, receive, send)


def settings() -> dict[str, Any]:
    """Return what uvicorn is told about connections."""
    return {
        "http": Wire,
        "ws": "none",
        "timeout_keep_alive": 30,
        "server_header": False,
        "proxy_headers": False,
    }
