"""Forms: what programs and browsers send to sign in, read within bounds, nothing given twice (RFC 6749 §3.1)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from starlette.responses import Response

from mcp_proton.mcp.http.bodies import Bodies
from mcp_proton.mcp.http.signing_in.answers import Unfit

if TYPE_CHECKING:
    from starlette.requests import Request

_FIELDS = 40
_OCTETS = 32 << 10
_bodies = Bodies(most=64 << 10, all_together=4 << 20)


def asked(request: Request) -> dict[str, str]:
    """Return the parameters of a request's address."""
    return _once(request.scope["query_string"])


async def form(request: Request) -> dict[str, str]:
    """Return the fields of a form."""
    _expect(request, "application/x-www-form-urlencoded")
    return _once(await _body(request))


async def document(request: Request) -> dict[str, Any]:
    """Return a JSON object."""
    _expect(request, "application/json")
    try:
        found = json.loads(await _body(request))
    except (ValueError, RecursionError):
        raise Unfit("invalid_request", "this is no JSON") from None
    if not isinstance(found, dict):
        raise Unfit("invalid_request", "this is no JSON object")
    return found


def _expect(request: Request, kind: str) -> None:
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given != kind:
        raise Unfit("invalid_request", f"the content type must be {kind}")


async def _body(request: Request) -> bytes:
    found = await _bodies.read(request.receive)
    if isinstance(found, Response):
        raise Unfit("invalid_request", "the body is too large, or took too long", status=found.status_code)
    return found


def _once(octets: bytes) -> dict[str, str]:
    if len(octets) > _OCTETS:
        raise Unfit("invalid_request", "that is too much")
    try:
        pairs = parse_qsl(octets.decode(), keep_blank_values=True, max_num_fields=_FIELDS, errors="strict")
    except ValueError:
        raise Unfit("invalid_request", "this cannot be read") from None
    given = dict(pairs)
    if len(given) != len(pairs):
        raise Unfit("invalid_request", "a parameter is given twice")
    return given
