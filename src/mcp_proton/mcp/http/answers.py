"""Answers of the HTTP layer itself, before any MCP server is asked: JSON-RPC error bodies with an HTTP status."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from starlette.responses import JSONResponse

if TYPE_CHECKING:
    from starlette.responses import Response

INVALID = -32600
RATE_LIMITED = -32029
"""The code other mail servers answer with when a limit is used up (J-105)."""


def refuse(status: int, message: str, *, code: int = INVALID, headers: dict[str, str] | None = None) -> Response:
    """Return an error. The message is ours and quotes nothing of the request."""
    body = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message}}
    return JSONResponse(body, status, {"cache-control": "no-store", **(headers or {})})


def later(status: int, message: str, seconds: float) -> Response:
    """Return an error that says when to come back."""
    wait = str(max(1, math.ceil(seconds)))
    return refuse(status, f"{message}; try again in {wait} s", code=RATE_LIMITED, headers={"retry-after": wait})
