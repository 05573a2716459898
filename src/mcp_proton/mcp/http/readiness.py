"""Readiness: whether the store and the mail accounts can be used now. Counts and words, no names."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from mcp_proton.domain.errors import MailError

if TYPE_CHECKING:
    from mcp_proton.bootstrap import Running

KEEP_SECONDS = 10.0
LOOK_SECONDS = 5.0


class Readiness:
    """Looks at most once in ten seconds, however often it is asked."""

    def __init__(self, running: Running) -> None:
        self._running = running
        self._looking = asyncio.Lock()
        self._found: dict[str, object] = {}
        self._at = float("-inf")

    async def look(self) -> dict[str, object]:
        """Return `ready`, and what there is to say about storage and accounts."""
        async with self._looking:
            if time.monotonic() - self._at >= KEEP_SECONDS:
                self._found = await self._look()
                self._at = time.monotonic()
            return self._found

    async def _look(self) -> dict[str, object]:
        """Accounts of callers are no part of it: without a caller there is nothing to log in with."""
        world = self._running.service.world
        accounts = [name for name in world.accounts.names if not world.settings.of_caller(name)]
        storage, *well = await asyncio.gather(self._storage(), *map(self._account, accounts))
        reachable = sum(well)
        return {
            "ready": storage and reachable == len(accounts) and bool(world.accounts.names),
            "storage": "ok" if storage else "unavailable",
            "accounts": len(accounts),
            "reachable": reachable,
        }

    async def _storage(self) -> bool:
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                await self._running.tokens.listed()
        except (MailError, TimeoutError):
            return False
        return True

    async def _account(self, name: str) -> bool:
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                return (await self._running.service.world.accounts.backend(name).health()).connected
        except (MailError, TimeoutError):
            return False
