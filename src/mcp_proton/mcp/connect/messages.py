"""Messages as they come by: what a line is, and what is answered where the service gave no answer."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass
from typing import Any

_VERSION = "io.modelcontextprotocol/protocolVersion"
_NAMED = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    "resources/subscribe": "uri",
    "resources/unsubscribe": "uri",
}
_PLAIN = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")
_ENCODED = re.compile(r"=\?base64\?.*\?=")
CANCELLED = "notifications/cancelled"
NO_SERVICE = -32000


@dataclass(frozen=True)
class Message:
    """One JSON-RPC message from the client, and its octets, which travel as they are."""

    octets: bytes
    body: dict[str, Any]

    @property
    def method(self) -> str | None:
        """The method of a request or a notification; None for an answer to the service."""
        method = self.body.get("method")
        return method if isinstance(method, str) else None

    @property
    def id(self) -> Any:
        """The id; None for a notification."""
        return self.body.get("id")

    @property
    def is_request(self) -> bool:
        """Whether the client waits for an answer."""
        return self.method is not None and self.id is not None

    @property
    def modern(self) -> str | None:
        """The protocol version of a message that needs no session; None in the handshake era."""
        meta = self._params.get("_meta")
        version = meta.get(_VERSION) if isinstance(meta, dict) else None
        return version if isinstance(version, str) else None

    @property
    def name(self) -> str | None:
        """The tool, prompt or resource that is named."""
        found = self._params.get(_NAMED.get(self.method or "", ""))
        return found if isinstance(found, str) else None

    @property
    def cancels(self) -> Any:
        """The id of the request that this gives up."""
        return self._params.get("requestId") if self.method == CANCELLED else None

    def headers(self) -> dict[str, str]:
        """What routes a message of the modern era."""
        if self.modern is None:
            return {}
        named = {"Mcp-Name": _field(self.name)} if self.name is not None else {}
        return {"MCP-Protocol-Version": self.modern, "Mcp-Method": _field(self.method or ""), **named}

    @property
    def _params(self) -> dict[str, Any]:
        params = self.body.get("params")
        return params if isinstance(params, dict) else {}


def read(line: bytes) -> Message | None:
    """Return the message in a line; None where there is none."""
    try:
        body = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return Message(line.strip(), body) if isinstance(body, dict) else None


def fault(number: Any, message: str, code: int = NO_SERVICE) -> bytes:
    """Return an error for a request."""
    return line({"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": message}})


def unsure(asked: Message) -> bytes:
    """Return the answer to a call of which nobody knows how far it came. It is never repeated by us."""
    answer = {
        "status": "unsure",
        "code": "outcome_unknown",
        "why": "the connection to the mail service broke while this was being done",
        "next": "do not repeat it; operations_list, or a look at the mail, says what became of it",
    }
    result: dict[str, Any] = {
        "content": [{"type": "text", "text": json.dumps(answer, separators=(",", ":"))}],
        "structuredContent": answer,
        "isError": False,
    }
    if asked.modern is not None:
        result["resultType"] = "complete"
    return line({"jsonrpc": "2.0", "id": asked.id, "result": result})


def line(body: dict[str, Any]) -> bytes:
    """Return a message as it is sent."""
    return json.dumps(body, separators=(",", ":")).encode()


def _field(value: str) -> str:
    """Write a value so that it survives in an HTTP field."""
    if _PLAIN.fullmatch(value) and not _ENCODED.fullmatch(value):
        return value
    return f"=?base64?{base64.b64encode(value.encode(errors='replace')).decode()}?="
