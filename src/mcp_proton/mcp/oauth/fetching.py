"""Fetching from the authorization server: small JSON documents, in time, without detours."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import httpx2

from mcp_proton.domain.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Mapping

SECONDS = 10.0
OCTETS = 1 << 20


def client() -> httpx2.AsyncClient:
    """Return a client that follows no redirects and heeds no proxy of the environment."""
    return httpx2.AsyncClient(timeout=SECONDS, follow_redirects=False, trust_env=False)


async def fetched(
    http: httpx2.AsyncClient, method: str, url: str, form: Mapping[str, str] | None = None, **more: Any
) -> dict[str, Any]:
    """Return a JSON object. `Unavailable` for anything else: nobody can be recognised, nobody is let in."""
    status, found = await answered(http, method, url, form, **more)
    if status != 200:
        raise _unavailable(f"HTTP status {status}")
    return found


async def answered(
    http: httpx2.AsyncClient, method: str, url: str, form: Mapping[str, str] | None = None, **more: Any
) -> tuple[int, dict[str, Any]]:
    """Return the HTTP status and a JSON object, whatever the status. `Unavailable` where there is no object."""
    try:
        async with http.stream(method, url, data=form, headers={"Accept": "application/json"}, **more) as response:
            content = b""
            async for chunk in response.aiter_bytes():
                content += chunk
                if len(content) > OCTETS:
                    raise _unavailable("it sent too much")
    except httpx2.HTTPError:
        raise _unavailable("it cannot be reached") from None
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        raise _unavailable(f"it sent no JSON, HTTP status {response.status_code}") from None
    if not isinstance(found, dict):
        raise _unavailable("it sent no JSON object")
    return response.status_code, found


def _unavailable(why: str) -> Unavailable:
    return Unavailable(f"the authorization server is of no use now ({why})", code="upstream_unavailable")
