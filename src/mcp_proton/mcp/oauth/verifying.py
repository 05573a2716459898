"""Verifying: is this token one of the authorization server's, and of whom does it speak?

A JWT is checked here, by the server's keys; what is no JWT is shown to the server (RFC 7662). What was found is kept for a
minute at most, and never beyond the token's own end (J-82, J-89).
"""

from __future__ import annotations

import hashlib
import time
import warnings
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from joserfc import jws, jwt
from joserfc.errors import JoseError, SecurityWarning

from mcp_proton.mcp.oauth.claims import TYPES, Said, said
from mcp_proton.mcp.oauth.fetching import client, fetched
from mcp_proton.mcp.oauth.keys import Keys

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcp_proton.config.oauth import OAuth

KEEP = 60.0
MOST_KEPT = 256
_LONGEST = 16 << 10


class Verifier:
    """Checks tokens of one authorization server, for one audience. `secret` gives the password for introspection."""

    def __init__(
        self,
        rules: OAuth,
        audience: str,
        secret: Callable[[], Awaitable[str]],
        now: Callable[[], float] = time.time,
    ) -> None:
        self._rules = rules
        self._audience = audience
        self._secret = secret
        self._now = now
        self._http = client()
        self._keys = Keys(rules.jwks_url, self._http) if rules.jwks_url else None
        self._kept: OrderedDict[bytes, tuple[float, Said | None]] = OrderedDict()

    async def check(self, token: str) -> Said | None:
        """Return what a token says; None where it is not good. Raises `Unavailable` where nobody can tell."""
        if len(token) > _LONGEST or not token.isascii():
            return None
        key, now = hashlib.sha256(token.encode()).digest(), self._now()
        at, found = self._kept.get(key, (float("-inf"), None))
        if now - at >= KEEP:
            found = await self._look(token)
            self._kept[key] = (now, found)
            self._kept.move_to_end(key)
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        return found if found is not None and found.expires > self._now() else None

    async def aclose(self) -> None:
        """Let go of connections."""
        await self._http.aclose()

    async def _look(self, token: str) -> Said | None:
        if token.count(".") == 2 and self._keys is not None:
            return await self._by_keys(token, self._keys)
        return await self._by_asking(token) if self._rules.introspection_url else None

    async def _by_keys(self, token: str, keys: Keys) -> Said | None:
        try:
            header = jws.extract_compact(token.encode()).headers()
            kind, key_id = header.get("typ"), header.get("kid")
            if header.get("alg") not in self._rules.algorithms or _lower(kind) not in TYPES:
                return None
            known = await keys.holding(key_id if isinstance(key_id, str) else None)
            if known is None:
                return None
            with warnings.catch_warnings():
                warnings.simplefilter(
                    "ignore", SecurityWarning
                )  # "EdDSA" has a newer name; servers still use the old one
                key = known.keys[0] if key_id is None else known
                claims = jwt.decode(token, key, algorithms=list(self._rules.algorithms)).claims
        except (JoseError, ValueError, TypeError):
            return None
        return self._said(claims)

    async def _by_asking(self, token: str) -> Said | None:
        assert self._rules.introspection_url is not None
        assert self._rules.client_id is not None
        form = {"token": token, "token_type_hint": "access_token"}
        login = (self._rules.client_id, await self._secret())
        told = await fetched(self._http, "POST", self._rules.introspection_url, form, auth=login)
        if told.get("active") is not True:
            return None
        return self._said({"iss": self._rules.issuer, **told})

    def _said(self, claims: dict[str, Any]) -> Said | None:
        return said(claims, issuer=self._rules.issuer, audience=self._audience, now=self._now())


def _lower(kind: object) -> object:
    return kind.lower() if isinstance(kind, str) else kind
