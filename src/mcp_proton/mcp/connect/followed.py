"""What the client follows, so that it is followed again where a session had to be opened anew or a stream broke. What happened
meanwhile nobody knows, so each resource is told once then: the client looks, and sees it if it may not any more."""

from __future__ import annotations

import threading
from typing import Any

from mcp_proton.mcp.connect.messages import Message, line

SUBSCRIBE, UNSUBSCRIBE, LISTEN = "resources/subscribe", "resources/unsubscribe", "subscriptions/listen"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
_UPDATED = "notifications/resources/updated"


class Followed:
    """The resources of the handshake era's session. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._uris: dict[str, None] = {}

    def __bool__(self) -> bool:
        return bool(self._uris)

    def learn(self, asked: Message) -> None:
        """Take what the service agreed to."""
        with self._lock:
            if asked.method == "initialize":
                self._uris.clear()
            elif asked.method == SUBSCRIBE and asked.name is not None:
                self._uris[asked.name] = None
            elif asked.method == UNSUBSCRIBE:
                self._uris.pop(asked.name or "", None)

    def again(self) -> list[tuple[bytes, bytes]]:
        """Return for each what asks for it anew, and what tells the client to look."""
        with self._lock:
            uris = list(self._uris)
        return [
            (
                line({"jsonrpc": "2.0", "id": f"follow-{number}", "method": SUBSCRIBE, "params": {"uri": uri}}),
                line({"jsonrpc": "2.0", "method": _UPDATED, "params": {"uri": uri}}),
            )
            for number, uri in enumerate(uris)
        ]


def all_told(acknowledged: dict[str, Any]) -> list[bytes]:
    """Return what tells the client to look at everything that a stream follows, from the stream's first event."""
    try:
        params = acknowledged["params"]
        uris, meta = params["notifications"].get("resourceSubscriptions") or [], params.get("_meta") or {}
        return [line({"jsonrpc": "2.0", "method": _UPDATED, "params": {"uri": uri, "_meta": meta}}) for uri in uris]
    except (LookupError, TypeError, AttributeError):
        return []
