"""Journal lines of finished reads: queued, and written in batches within a second. No read ever waits for a disk."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import TYPE_CHECKING

from sqlalchemy import insert

from mcp_proton.domain.errors import Unavailable
from mcp_proton.domain.outcome import Status
from mcp_proton.storage.instants import ticks
from mcp_proton.storage.journals.records import row_of
from mcp_proton.storage.journals.usage import use_rows
from mcp_proton.storage.names import new_id
from mcp_proton.storage.tables import records, uses

if TYPE_CHECKING:
    from datetime import datetime

    from mcp_proton.domain.ports import Opening
    from mcp_proton.storage.database import Database

_log = logging.getLogger(__name__)

BATCH = 500
_DELAY = 0.5
_MOST_WAITING = 10_000


class Glances:
    """The queue. When the store does not take them the oldest are dropped beyond 10,000, and the log says so once."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._waiting: deque[tuple[Opening, Status, datetime]] = deque(maxlen=_MOST_WAITING)
        self._writing: list[tuple[Opening, Status, datetime]] = []
        self._flushing = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None
        self._failing = False

    def add(self, opening: Opening, status: Status, now: datetime) -> None:
        """Queue a line."""
        self._waiting.append((opening, status, now))
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._soon())

    @property
    def oldest(self) -> datetime | None:
        """Since when the line waits that was queued first; None where none does."""
        first = self._writing or self._waiting
        return first[0][2] if first else None

    async def flush(self) -> None:
        """Write what waits. Raises `Unavailable` and keeps the rest when the store does not take it.

        What is queued meanwhile waits for the next time: under load there is always a line more.
        """
        async with self._flushing:
            waiting = len(self._waiting)
            while waiting > 0:
                # Taken out first: a queue that fills up meanwhile drops from its front, and may not drop these and others.
                batch = self._writing = [self._waiting.popleft() for _ in range(min(BATCH, waiting))]
                try:
                    await self._write(batch)
                except BaseException:
                    self._put_back(batch)
                    raise
                finally:
                    self._writing = []
                waiting -= BATCH

    async def aclose(self) -> None:
        """Write what waits, if that can be done, and stop."""
        if self._task is not None:
            async with self._flushing:  # what is being written is not cut short: its lock would keep the rest out
                self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        try:
            await self.flush()
        except Unavailable as error:
            _log.warning("%d journal lines of reads were lost: %s", len(self._waiting), error.message)

    async def _soon(self) -> None:
        while self._waiting:
            await asyncio.sleep(_DELAY)
            try:
                await self.flush()
                self._failing = False
            except Unavailable as error:
                if not self._failing:
                    _log.warning("journal lines of reads have to wait: %s", error.message)
                self._failing = True

    def _put_back(self, batch: list[tuple[Opening, Status, datetime]]) -> None:
        room = _MOST_WAITING - len(self._waiting)
        self._waiting.extendleft(reversed(batch[-room:] if room else []))

    async def _write(self, batch: list[tuple[Opening, Status, datetime]]) -> None:
        rows, counted = [], []
        for opening, status, now in batch:
            operation_id = new_id("op")
            rows.append(row_of(opening, operation_id, status, now) | {"ended": ticks(now)})
            if status is not Status.DENIED:
                counted += use_rows(opening, operation_id, now)
        async with self._database.writing() as connection:
            await connection.execute(insert(records), rows)
            if counted:
                await connection.execute(insert(uses), counted)
