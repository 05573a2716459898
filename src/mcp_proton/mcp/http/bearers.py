"""Bearers: who a request comes from, by the token in its `Authorization` header (RFC 6750) and by nothing else (P-41)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fastmcp.server.dependencies import get_http_request

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcp_proton.bootstrap import Running


@dataclass(frozen=True, slots=True)
class Bearer:
    """An authenticated client: the owner's label for it, what vouches for it (the public half of its token), and the first
    16 digits of that token's hash.
    """

    client: str
    subject: str
    hash: str


@dataclass(frozen=True, slots=True)
class Stranger:
    """Nobody we know. `presented`: a token was shown, and it is not good (any more)."""

    presented: bool

    @property
    def challenge(self) -> str:
        """The `WWW-Authenticate` header: an error is named only where a token was shown (RFC 6750 §3.1, J-87)."""
        if not self.presented:
            return 'Bearer realm="mcp-proton"'
        return 'Bearer realm="mcp-proton", error="invalid_token", error_description="the token is not valid (any more)"'


def present() -> Bearer | None:
    """Return who sent the request that is being served; None outside of one."""
    try:
        found = get_http_request().scope.get("state", {}).get("bearer")
    except RuntimeError:
        return None
    return found if isinstance(found, Bearer) else None


class Bearers:
    """Recognises clients. What the owner revokes, removes or replaces is a stranger from the next look on (P-97)."""

    def __init__(self, running: Running) -> None:
        self._running = running

    async def recognise(self, headers: Iterable[tuple[bytes, bytes]]) -> Bearer | Stranger:
        """Return who sent these headers. Raises `Unavailable` when the store cannot be asked."""
        given = [value for name, value in headers if name == b"authorization"]
        if len(given) != 1:
            return Stranger(presented=bool(given))
        scheme, _, token = given[0].decode("latin-1").partition(" ")
        if scheme.lower() != "bearer":
            return Stranger(presented=False)
        known = await self._running.tokens.check(token.strip())
        if known is None or not await self._is_let_in(known.client):
            return Stranger(presented=True)
        return Bearer(known.client, known.shown, known.digest.hex()[:16])

    async def _is_let_in(self, client: str) -> bool:
        listed = client in self._running.config.current().clients
        return listed and client not in (await self._running.switches.current()).revoked_clients
