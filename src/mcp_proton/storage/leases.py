"""SqlLeases: one writer per account among all processes of a store. The Leases port.

A lease has a fence, a number that grows with every taking: who was taken for dead and comes back finds another number.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

import anyio
from sqlalchemy import or_, select, update
from sqlalchemy.dialects.sqlite import insert as upsert

from mcp_proton.domain.errors import Conflict, Unavailable
from mcp_proton.storage.runners import GONE_SECONDS, bury, living
from mcp_proton.storage.tables import leases

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mcp_proton.domain.lease import Lease
    from mcp_proton.domain.ports import Clock
    from mcp_proton.storage.database import Database
    from mcp_proton.storage.runners import Runner

PATIENCE_SECONDS = 60.0
_FIRST_LOOK, _LAST_LOOK = 0.02, 0.5


class SqlLeases:
    """The leases of one store, as one process takes them."""

    def __init__(self, database: Database, clock: Clock, runner: Runner, patience: float = PATIENCE_SECONDS) -> None:
        self._database = database
        self._clock = clock
        self._runner = runner
        self._patience = patience
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    @asynccontextmanager
    async def hold(self, account: str) -> AsyncIterator[Lease]:
        """Be the one who writes; see the port. Tasks of this process take turns without asking the store."""
        async with self._turns[account]:
            fence = await self._patiently(account)
            try:
                yield _Held(self._database, self._clock, account, self._runner.id, fence)
            finally:
                with anyio.CancelScope(shield=True):
                    await self._give_back(account, fence)

    async def _patiently(self, account: str) -> int:
        waited, pause = 0.0, _FIRST_LOOK
        while (fence := await self._take(account)) is None:
            if waited >= self._patience:
                raise Unavailable(
                    "another of your programs is changing mail in this account",
                    code="account_busy",
                    next="nothing was done; try again in a minute",
                )
            await asyncio.sleep(pause)
            waited, pause = waited + pause, min(2 * pause, _LAST_LOOK)
        return fence

    async def _take(self, account: str) -> int | None:
        """Take a lease that is free, or one of a process that is gone; None while somebody holds it.

        One of our own that could not be given back is ours to take: the turn says that nobody here holds it.
        """
        its = update(leases).where(leases.c.account == account)
        values = {"runner": self._runner.id, "fence": leases.c.fence + 1}
        async with self._database.writing() as connection:
            await self._runner.appear(connection)
            plainly = its.where(or_(leases.c.runner.is_(None), leases.c.runner == self._runner.id))
            taken = await connection.execute(plainly.values(**values).returning(leases.c.fence))
            if (fence := taken.scalar_one_or_none()) is not None:
                return int(fence)
            alive = await living(connection, self._clock.now())
            await bury(connection, alive)
            await connection.execute(upsert(leases).values(account=account, fence=0).on_conflict_do_nothing())
            gone = its.where(or_(leases.c.runner.is_(None), leases.c.runner.not_in(alive)))
            taken = await connection.execute(gone.values(**values).returning(leases.c.fence))
            fence = taken.scalar_one_or_none()
            return None if fence is None else int(fence)

    async def _give_back(self, account: str, fence: int) -> None:
        mine = update(leases).where(leases.c.account == account, leases.c.fence == fence)
        try:
            async with self._database.writing() as connection:
                await connection.execute(mine.values(runner=None))
        except Unavailable:
            return  # a store that takes nothing more: the lease is free again when this process is gone


class _Held:
    def __init__(self, database: Database, clock: Clock, account: str, runner: str, fence: int) -> None:
        self._database, self._clock = database, clock
        self._account, self._runner, self._fence = account, runner, fence
        self._taken = clock.now()

    async def check(self) -> None:
        """Raise `Conflict` when it is somebody else's by now; see the port.

        Nobody takes a process for dead before its time, so a lease that is young enough is ours without looking.
        """
        if timedelta() <= self._clock.now() - self._taken < timedelta(seconds=GONE_SECONDS / 2):
            return
        wanted = select(leases.c.runner, leases.c.fence).where(leases.c.account == self._account)
        async with self._database.reading() as connection:
            row = (await connection.execute(wanted)).one_or_none()
        if row is None or (row.runner, row.fence) != (self._runner, self._fence):
            raise Conflict(
                "another process took over this account while this one slept",
                code="lease_lost",
                next="operations_status shows what became of it",
            )
