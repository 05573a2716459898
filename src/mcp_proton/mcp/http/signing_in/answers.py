"""Answers of the authorization endpoints: what is wrong, in the words of RFC 6749, quoting nothing that came in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from starlette.responses import JSONResponse, RedirectResponse

from mcp_proton.domain.errors import MailError
from mcp_proton.domain.redirects import with_answer

if TYPE_CHECKING:
    from starlette.responses import Response

FRESH = {"cache-control": "no-store", "pragma": "no-cache"}


class Unfit(MailError):
    """A request that cannot be met. `redirect` and `state` are set once it is certain where an answer may go."""

    def __init__(
        self,
        error: str,
        description: str,
        *,
        status: int = 400,
        redirect: str | None = None,
        state: str | None = None,
    ) -> None:
        super().__init__(description)
        self.error = error
        self.http_status = status
        self.redirect = redirect
        self.state = state

    def as_json(self) -> Response:
        """Answer a program (RFC 6749 §5.2)."""
        return JSONResponse({"error": self.error, "error_description": self.message}, self.http_status, FRESH)

    def as_redirect(self) -> Response | None:
        """Answer by the browser, where an answer may go anywhere (RFC 6749 §4.1.2.1)."""
        if self.redirect is None:
            return None
        return RedirectResponse(refusal(self.redirect, self.state, self.error, self.message), 303, FRESH)


def given(body: dict[str, Any], status: int = 200) -> Response:
    """Answer a program with what it asked for."""
    return JSONResponse(body, status, FRESH)


def success(redirect: str, state: str | None, code: str) -> str:
    """Return where a browser goes with a code."""
    return with_answer(redirect, urlencode({"code": code, **({"state": state} if state is not None else {})}))


def refusal(redirect: str, state: str | None, error: str, description: str) -> str:
    """Return where a browser goes without one."""
    told = {"error": error, "error_description": description, **({"state": state} if state is not None else {})}
    return with_answer(redirect, urlencode(told))
