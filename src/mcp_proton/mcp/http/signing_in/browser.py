"""Browser: that the one who answers is the one who was asked. A cookie binds what is under way to one browser."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from typing import TYPE_CHECKING

from starlette.responses import RedirectResponse, Response

from mcp_proton.mcp.http.signing_in.answers import Unfit

if TYPE_CHECKING:
    from starlette.requests import Request

    from mcp_proton.mcp.http.signing_in.site import Site

_FORM = re.compile(r"[A-Za-z0-9_-]{43}")


class Browser:
    """Knows browsers again, for as long as their session lasts; of a browser nothing but a hash is kept."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._name = "__Host-mcp-proton" if site.is_secure else "mcp-proton"

    def greet(self, request: Request) -> tuple[str, dict[str, str]]:
        """Return by what this browser is known again, and the header that makes it so."""
        shown = self._shown(request) or secrets.token_urlsafe(32)
        secure = "; Secure" if self._site.is_secure else ""
        return _hash(shown), {"set-cookie": f"{self._name}={shown}; Path=/; HttpOnly; SameSite=Lax{secure}"}

    def is_same(self, request: Request, known: str) -> bool:
        """Whether it is the browser that was greeted so."""
        shown = self._shown(request)
        return shown is not None and hmac.compare_digest(_hash(shown), known)

    def from_our_page(self, request: Request) -> None:
        """Raise `Unfit` unless the request comes from a page of ours: another on this machine is not."""
        if request.headers.get("origin") != self._site.issuer:
            raise Unfit("invalid_request", "this comes from no page of the service", status=403)

    def led_home(self, request: Request) -> Response | None:
        """Send a browser to the name that passkeys are for, where it came by another; None where it did not."""
        if not self._site.is_of_this_machine or request.url.hostname == self._site.host:
            return None
        query = f"?{request.url.query}" if request.url.query else ""
        return RedirectResponse(f"{self._site.issuer}{request.url.path}{query}", 307)

    def _shown(self, request: Request) -> str | None:
        found = request.cookies.get(self._name, "")
        return found if _FORM.fullmatch(found) else None


def _hash(shown: str) -> str:
    return hashlib.sha256(shown.encode()).hexdigest()
