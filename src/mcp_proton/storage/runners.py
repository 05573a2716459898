"""Runner: this process as the others see it in the store, and how they tell that it is gone.

A process on this machine is gone when its pid is; any other, and one that hangs, when its heart has not beaten for half a
minute. Who wakes up after that (a laptop that slept) finds its lease and its operations taken, and stops.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import delete, select, update
from sqlalchemy.dialects.sqlite import insert as upsert

from mcp_proton.domain.errors import MailError
from mcp_proton.storage.instants import ticks
from mcp_proton.storage.names import new_id
from mcp_proton.storage.tables import leases, records, runners

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy.ext.asyncio import AsyncConnection

    from mcp_proton.domain.ports import Clock
    from mcp_proton.storage.database import Database

_log = logging.getLogger(__name__)

BEAT_SECONDS = 5.0
GONE_SECONDS = 30


class Runner:
    """One process that changes mail. It is written down when it first does, and beats until it is closed."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self.id = new_id("run")
        self._database = database
        self._clock = clock
        self._beating: asyncio.Task[None] | None = None
        self._seen: datetime | None = None

    async def appear(self, connection: AsyncConnection) -> None:
        """Write this process down, in the caller's transaction, unless that was done just now; and start to beat."""
        now = self._clock.now()
        if self._seen is None or not timedelta() <= now - self._seen < timedelta(seconds=BEAT_SECONDS):
            values = {"id": self.id, "place": place(), "pid": os.getpid(), "beat": ticks(now)}
            statement = upsert(runners).values(values)
            await connection.execute(
                statement.on_conflict_do_update(index_elements=["id"], set_={"beat": values["beat"]})
            )
            self._seen = now
        if self._beating is None or self._beating.done():
            self._beating = asyncio.get_running_loop().create_task(self._beat())

    async def aclose(self) -> None:
        """Stop beating and give everything back: what is still executing is for the next process to settle."""
        if self._beating is None:
            return
        self._beating.cancel()
        await asyncio.gather(self._beating, return_exceptions=True)
        try:
            async with self._database.writing() as connection:
                await connection.execute(update(leases).where(leases.c.runner == self.id).values(runner=None))
                await connection.execute(update(records).where(records.c.runner == self.id).values(runner=None))
                await connection.execute(delete(runners).where(runners.c.id == self.id))
        except MailError as error:
            _log.warning("the store did not take this process's end: %s", error.message)

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(BEAT_SECONDS)
            try:
                async with self._database.writing() as connection:
                    self._seen = None
                    await self.appear(connection)
            except MailError as error:
                _log.warning("the store did not take a heartbeat: %s", error.message)


async def living(connection: AsyncConnection, now: datetime) -> frozenset[str]:
    """Return the processes that are not gone."""
    here, latest = place(), ticks(now) - GONE_SECONDS * 1_000_000
    return frozenset(
        row.id
        for row in await connection.execute(select(runners))
        if row.beat > latest and (row.place != here or _exists(row.pid))
    )


async def bury(connection: AsyncConnection, alive: frozenset[str]) -> None:
    """Forget the processes that are gone."""
    await connection.execute(delete(runners).where(runners.c.id.not_in(alive)))


def place() -> str:
    """Name the machine, its start and the space of pids this process lives in: elsewhere a pid means somebody else."""
    told = [socket.gethostname()]
    for read in (_boot, _pids):
        try:
            told.append(read())
        except OSError:
            told.append("")
    return "|".join(told)


def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def _pids() -> str:
    return str(Path("/proc/self/ns/pid").readlink())


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
