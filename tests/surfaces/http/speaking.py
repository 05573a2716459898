"""Speaking to a service: as the official SDK does, and in raw HTTP."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import httpx2
from mcp.client.session import ClientSession
from mcp.client.streamable_http import streamable_http_client

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

VERSION = "2025-11-25"
MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


@asynccontextmanager
async def session(url: str, token: str, **more: Any) -> AsyncIterator[ClientSession]:
    """Give a session of the official SDK's client, in the handshake era."""
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=50, trust_env=False) as http,
        streamable_http_client(url, http_client=http) as streams,
        ClientSession(streams[0], streams[1], **more) as client,
    ):
        await client.initialize()
        yield client


class Raw:
    """A client written by hand: one request, one answer."""

    def __init__(self, url: str, token: str | None = None, *, socket: str | None = None) -> None:
        headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        transport = httpx2.HTTPTransport(uds=socket) if socket else None
        self.http = httpx2.Client(headers=headers, timeout=50, transport=transport, trust_env=False)
        self.url = url
        self.session: str | None = None

    def __enter__(self) -> Raw:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()

    def post(
        self, method: str, number: int | None = 1, *, session: str | None = None, **params: Any
    ) -> httpx2.Response:
        """Send one message of the handshake era."""
        body: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
        if number is not None:
            body["id"] = number
        chosen = session or self.session
        headers = {"Mcp-Session-Id": chosen, "MCP-Protocol-Version": VERSION} if chosen else {}
        return self.http.post(self.url, json=body, headers=headers)

    def shake(self) -> httpx2.Response:
        """Open a session and keep its id."""
        self.session = None
        info = {"name": "raw", "version": "1"}
        answered = self.post("initialize", protocolVersion=VERSION, capabilities={}, clientInfo=info)
        self.session = answered.headers.get("mcp-session-id")
        if self.session:
            assert self.post("notifications/initialized", None).status_code == 202
        return answered

    def modern(self, method: str, name: str | None = None, **params: Any) -> httpx2.Response:
        """Send one request of the modern era, which needs no session."""
        headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method}
        if name is not None:
            headers["Mcp-Name"] = name
            params["name"] = name
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": MODERN}}
        return self.http.post(self.url, json=body, headers=headers)

    def call(self, tool: str, **arguments: Any) -> httpx2.Response:
        """Call a tool in the modern era."""
        return self.modern("tools/call", tool, arguments=arguments)
