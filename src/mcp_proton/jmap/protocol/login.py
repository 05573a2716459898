"""What one shows to a server: a password, a caller's own token, or access tokens that are renewed (RFC 7617, RFC 6750).

`shown` is the value of an Authorization header.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from mcp_proton.imap.login.access_tokens import expiry
from mcp_proton.jmap.protocol.endpoint import Auth

if TYPE_CHECKING:
    from mcp_proton.jmap.protocol.endpoint import Credentials

_BEARER = "Bearer "


class Login:
    """One account's. What was refused is remembered, so that it can be told from what is shown next."""

    def __init__(self, credentials: Credentials) -> None:
        self._credentials = credentials
        self._kept: str | None = None
        self._refused: str | None = None

    async def is_another(self) -> bool:
        """Whether whoever asks brought another token than the one that was refused. False where it is not a caller's."""
        if self._credentials.lasting:
            return False
        self._kept = self._as_shown(await self._credentials.secret())
        return self._kept != self._refused

    async def shown(self) -> str:
        """What to show now."""
        tokens = self._credentials.tokens
        if tokens is not None:
            return self._as_shown(await tokens.current())
        if self._kept is None:
            self._kept = self._as_shown(await self._credentials.secret())
        return self._kept

    async def has_instead(self, refused: str) -> bool:
        """Whether there is another access token than the one that was refused: its end may have been misjudged."""
        tokens = self._credentials.tokens
        return tokens is not None and await tokens.instead_of(refused.removeprefix(_BEARER)) is not None

    def end(self, refused: str) -> float | None:
        """Take note that it was refused. When it ends, where it is a token of which that is known."""
        self._kept, self._refused = None, refused
        if self._credentials.auth is not Auth.BEARER:
            return None
        tokens, token = self._credentials.tokens, refused.removeprefix(_BEARER)
        return expiry(token) if tokens is None else tokens.end_of(token)

    def _as_shown(self, secret: str) -> str:
        if self._credentials.auth is Auth.BEARER:
            return _BEARER + secret
        return "Basic " + base64.b64encode(f"{self._credentials.username}:{secret}".encode()).decode("ascii")
