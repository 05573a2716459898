"""InProcess: one writer per account among the tasks of one process, for a world that shares its store with nobody."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mcp_proton.domain.lease import Lease


class _Held:
    async def check(self) -> None:
        """Nobody else could have taken it."""


class InProcess:
    """Leases that are locks."""

    def __init__(self) -> None:
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    @asynccontextmanager
    async def hold(self, account: str) -> AsyncIterator[Lease]:
        """Wait for the account's turn; see the port."""
        async with self._locks[account]:
            yield _Held()
