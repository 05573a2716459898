"""Provider: the authorization server of the owner's that programs are handed on to. It knows the service as one client."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from mcp_proton.config.oauth import is_safe
from mcp_proton.domain.errors import MailError, Unavailable
from mcp_proton.domain.redirects import with_answer
from mcp_proton.mcp.oauth.fetching import answered, client, fetched

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from mcp_proton.config.signing_in import SigningIn

_KEEP = 3_600.0
_PLACES = ("/.well-known/openid-configuration", "/.well-known/oauth-authorization-server")
_PASSED_ON = ("access_token", "token_type", "expires_in", "refresh_token", "scope")
_ERRORS = (
    "invalid_request",
    "invalid_client",
    "invalid_grant",
    "unauthorized_client",
    "invalid_scope",
    "invalid_target",
)


class Provider:
    """Asks the provider at `issuer`. `secret` gives the service's own password there, where it has one."""

    def __init__(
        self,
        issuer: str,
        rules: SigningIn,
        secret: Callable[[], Awaitable[str]] | None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.issuer = issuer
        self._rules = rules
        self._secret = secret
        self._now = now
        self._http = client()
        self._found: tuple[float, str, str] | None = None

    async def asking(self, fields: Mapping[str, str]) -> str:
        """Return the address to which a browser is sent with a request. Raises `Unavailable`."""
        place, _ = await self._places()
        return with_answer(place, urlencode({"client_id": self._rules.client_id, **fields}))

    async def exchange(self, fields: Mapping[str, str]) -> tuple[int, dict[str, Any]]:
        """Return the HTTP status and what of the provider's answer is for the program: tokens, or what is wrong."""
        _, place = await self._places()
        more: dict[str, Any] = {}
        if self._secret is None:
            fields = {"client_id": self._rules.client_id, **fields}
        else:
            more["auth"] = (self._rules.client_id, await self._secret())
        status, told = await answered(self._http, "POST", place, fields, **more)
        if status == 200 and isinstance(told.get("access_token"), str):
            return 200, {name: told[name] for name in _PASSED_ON if isinstance(told.get(name), str | int)}
        error = told.get("error")
        if 400 <= status < 500 and error in _ERRORS:
            return 400, {"error": error, "error_description": "the provider refuses it"}
        raise Unavailable("the authorization server is of no use now", code="upstream_unavailable")

    async def aclose(self) -> None:
        """Let go of connections."""
        await self._http.aclose()

    async def _places(self) -> tuple[str, str]:
        if self._rules.authorize_url and self._rules.token_url:
            return self._rules.authorize_url, self._rules.token_url
        if self._found is None or self._now() - self._found[0] >= _KEEP:
            self._found = (self._now(), *await self._looked_up())
        return self._found[1], self._found[2]

    async def _looked_up(self) -> tuple[str, str]:
        """Look at where a provider describes itself (OpenID Connect Discovery §4, RFC 8414 §3)."""
        for place in _PLACES:
            try:
                told = await fetched(self._http, "GET", f"{self.issuer.rstrip('/')}{place}")
            except MailError:
                continue
            places = told.get("authorization_endpoint"), told.get("token_endpoint")
            if told.get("issuer") == self.issuer and all(isinstance(one, str) and is_safe(one) for one in places):
                return str(places[0]), str(places[1])
        raise Unavailable("the authorization server does not say where it signs people in", code="upstream_unavailable")
