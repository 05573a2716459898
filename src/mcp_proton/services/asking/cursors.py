"""Cursors: the backend's continuation, bound to the request it belongs to (A-62).

A cursor holds positions only; scopes come from the request and are judged anew on every page.
"""

from __future__ import annotations

import hashlib

from mcp_proton.domain.errors import Invalid
from mcp_proton.domain.operation import Request

_NOT_BOUND = {"cursor", "limit", "max_tokens"}


def seal(request: Request, continuation: str | None) -> str | None:
    """Return the cursor that goes on after this page, or None when nothing is left."""
    return None if continuation is None else f"{_binding(request)}~{continuation}"


def unseal(request: Request, cursor: str | None) -> str | None:
    """Return the backend's continuation. Raises `Invalid` for a cursor of another request."""
    if cursor is None:
        return None
    binding, separator, continuation = cursor.partition("~")
    if not separator or binding != _binding(request):
        raise Invalid(
            "this cursor belongs to another request",
            code="foreign_cursor",
            next="repeat the request with the same arguments and only the cursor added, or start without it",
        )
    return continuation


def _binding(request: Request) -> str:
    body = type(request).__name__ + request.model_dump_json(exclude=_NOT_BOUND, by_alias=True)
    return hashlib.sha256(body.encode()).hexdigest()[:10]
