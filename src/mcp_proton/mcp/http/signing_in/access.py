"""Access tokens of our own: a JWT of five minutes that names a sign-in (RFC 9068, A-32). It is good as long as that is."""

from __future__ import annotations

import time
from dataclasses import dataclass
from secrets import token_urlsafe
from typing import TYPE_CHECKING

from joserfc import jws, jwt
from joserfc.errors import JoseError

from mcp_proton.mcp.oauth.claims import said

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from joserfc.jwk import ECKey

SECONDS = 300
_ALGORITHM = "ES256"
_KIND = "at+jwt"
_LONGEST = 4_096


@dataclass(frozen=True, slots=True)
class Shown:
    """What a good token says: which sign-in, with which scopes, and until when (seconds since 1970)."""

    sign_in: str
    scopes: frozenset[str]
    expires: float


class AccessTokens:
    """Issues tokens for one audience and tells its own from others."""

    def __init__(self, key: ECKey, issuer: str, audience: str, now: Callable[[], float] = time.time) -> None:
        self._key = key
        self._kid = key.thumbprint()
        self._issuer = issuer
        self._audience = audience
        self._now = now

    def issue(self, sign_in: str, scopes: Sequence[str], client_id: str) -> str:
        """Make a token."""
        now = int(self._now())
        claims = {
            "iss": self._issuer,
            "aud": self._audience,
            "sub": sign_in,
            "client_id": client_id,
            "scope": " ".join(scopes),
            "iat": now,
            "exp": now + SECONDS,
            "jti": token_urlsafe(12),
        }
        header = {"alg": _ALGORITHM, "kid": self._kid, "typ": _KIND}
        return jwt.encode(header, claims, self._key, algorithms=[_ALGORITHM])

    def are_ours(self, token: str) -> bool:
        """Whether a token claims to be one of these. Nothing is checked yet."""
        try:
            return len(token) <= _LONGEST and jws.extract_compact(token.encode()).headers().get("kid") == self._kid
        except (JoseError, ValueError, TypeError):
            return False

    def read(self, token: str) -> Shown | None:
        """Return what a token says; None where it is not good."""
        try:
            found = jwt.decode(token, self._key, algorithms=[_ALGORITHM])
        except (JoseError, ValueError, TypeError):
            return None
        if found.header.get("typ") != _KIND:
            return None
        told = said(found.claims, issuer=self._issuer, audience=self._audience, now=self._now())
        return None if told is None else Shown(told.subject, told.scopes, told.expires)
