"""Keys: the authorization server's key set (RFC 7517), fetched when needed and kept for an hour (J-89)."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from mcp_proton.domain.errors import MailError, Unavailable
from mcp_proton.mcp.oauth.fetching import fetched

if TYPE_CHECKING:
    from collections.abc import Callable

    import httpx2

KEEP = 3600.0
COOLING = 30.0
"""A key id nobody knows makes us look again, but at most so often: else anybody could make us ask without end."""


class Keys:
    """The key set at `url`. Private and symmetric keys in it are of no use to anybody."""

    def __init__(self, url: str, http: httpx2.AsyncClient, now: Callable[[], float] = time.monotonic) -> None:
        self._url = url
        self._http = http
        self._now = now
        self._keys: KeySet | None = None
        self._fetched = self._tried = float("-inf")
        self._fetching = asyncio.Lock()

    async def holding(self, key_id: str | None) -> KeySet | None:
        """Return the set where it has this key; None where it has not. Raises `Unavailable` where there is no set."""
        if not self._knows(key_id) and self._now() - self._tried >= COOLING:
            await self._fetch(key_id)
        if self._keys is None or self._now() - self._fetched >= KEEP:
            raise Unavailable("the authorization server's keys cannot be had", code="upstream_unavailable")
        return self._keys if self._knows(key_id) else None

    def _knows(self, key_id: str | None) -> bool:
        if self._keys is None or self._now() - self._fetched >= KEEP:
            return False
        if key_id is None:
            return len(self._keys.keys) == 1
        return any(key.kid == key_id for key in self._keys.keys)

    async def _fetch(self, key_id: str | None) -> None:
        async with self._fetching:
            if self._knows(key_id) or self._now() - self._tried < COOLING:
                return
            self._tried = self._now()
            try:
                found = (await fetched(self._http, "GET", self._url)).get("keys")
                usable = [one for one in found if _is_public(one)] if isinstance(found, list) else []
                self._keys = KeySet.import_key_set({"keys": usable})
            except (MailError, JoseError, ValueError, TypeError, LookupError):
                return  # the keys we have stay good for their hour
            self._fetched = self._now()


def _is_public(key: object) -> bool:
    return isinstance(key, dict) and key.get("kty") in ("RSA", "EC", "OKP") and "d" not in key
