"""SqlJournal: what was asked and what became of it, in the store. The Journal port.

Every change is one transaction and durable when the call returns; two processes on one store never both win a move.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from sqlalchemy import delete, insert, literal_column, or_, select, update
from sqlalchemy.dialects.sqlite import insert as upsert

from mcp_proton.domain.errors import Conflict, NotFound
from mcp_proton.domain.outcome import SETTLED, Ending, Status, check_move

from .glances import Glances
from .instants import ticks
from .names import new_id
from .records import fate_of, fate_row, find, record_of, records_of, row_of
from .tables import fates, payloads, records, uses
from .usage import check, use_rows, used

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from sqlalchemy.ext.asyncio import AsyncConnection

    from mcp_proton.domain.caller import Caller
    from mcp_proton.domain.limits import Limit
    from mcp_proton.domain.outcome import Fate, Record
    from mcp_proton.domain.ports import Clock, Opening

    from .database import Database

_WAITING = (Status.PENDING, Status.APPROVED)
_NEVER_DONE = frozenset({Status.DENIED, Status.EXPIRED})


class SqlJournal:
    """The journal of one store. `keep_payloads` is how long a stored request outlives its settlement."""

    def __init__(self, database: Database, clock: Clock, keep_payloads: timedelta = timedelta(0)) -> None:
        self._database = database
        self._clock = clock
        self._keep = keep_payloads
        self._glances = Glances(database)

    async def open(self, opening: Opening) -> Record:
        """Write down the intent; see the port."""
        now, operation_id = self._clock.now(), new_id("op")
        async with self._database.writing() as connection:
            await check(connection, opening, now)
            await connection.execute(insert(records), row_of(opening, operation_id, opening.status, now))
            await connection.execute(insert(payloads), {"record": operation_id, "body": opening.body})
            counted = use_rows(opening, operation_id, now)
            if counted:
                await connection.execute(insert(uses), counted)
            row = await find(connection, operation_id)
        if row is None:
            raise NotFound("there is no such operation")
        return record_of(row, {})

    async def usage(self, limits: Sequence[Limit], *, but: str | None = None) -> Mapping[Limit, int]:
        """Return how much of each limit is used; see the port."""
        await self._glances.flush()
        now = self._clock.now()
        async with self._database.reading() as connection:
            return {limit: await used(connection, limit, now, but) for limit in limits}

    def glance(self, opening: Opening, status: Status) -> None:
        """Note a finished read; see the port."""
        self._glances.add(opening, status, self._clock.now())

    async def read(self, operation_id: str, caller: Caller) -> Record:
        """Return a record of this caller's; see the port."""
        async with self._database.reading() as connection:
            row = await find(connection, operation_id)
            if row is None or not (caller.is_owner or row.caller == caller.name):
                raise NotFound("there is no such operation of yours")
            return (await records_of(connection, [row]))[0]

    async def recent(self, caller: Caller, *, limit: int = 50, statuses: Sequence[Status] = ()) -> Sequence[Record]:
        """Return the latest records; see the port."""
        wanted = select(records).order_by(records.c.seq.desc()).limit(limit)
        if not caller.is_owner:
            wanted = wanted.where(records.c.caller == caller.name)
        if statuses:
            wanted = wanted.where(records.c.status.in_([status.value for status in statuses]))
        async with self._database.reading() as connection:
            return await records_of(connection, (await connection.execute(wanted)).all())

    async def body(self, operation_id: str) -> str:
        """Return the stored request; see the port."""
        wanted = select(payloads.c.body).where(payloads.c.record == operation_id)
        async with self._database.reading() as connection:
            found = (await connection.execute(wanted)).scalar_one_or_none()
        if found is None:
            raise NotFound("what was asked is no longer kept")
        return str(found)

    async def advance(self, operation_id: str, before: Status, after: Status, *, code: str | None = None) -> Record:
        """Compare-and-set; see the port. An approval that ran out is never claimed, whoever comes how late."""
        check_move(before, after)
        now = ticks(self._clock.now())
        values: dict[str, object] = {"status": after.value}
        if code is not None:
            values["code"] = code
        if after in SETTLED or after is Status.PARTIALLY_SUCCEEDED:
            values["ended"] = now
        move = update(records).where(records.c.id == operation_id, records.c.status == before.value)
        if after is Status.EXECUTING:
            move = move.where(or_(records.c.expires.is_(None), records.c.expires > now))
        async with self._database.writing() as connection:
            done = await connection.execute(move.values(**values).returning(records))
            row = done.one_or_none()
            if row is None:
                raise await _beaten(connection, operation_id, before)
            await self._settle(connection, [operation_id], before, after, now)
            return (await records_of(connection, [row]))[0]

    async def note(self, operation_id: str, fates_: Sequence[Fate]) -> None:
        """Write down how items ended; a later fate of the same item replaces the earlier one."""
        if not fates_:
            return
        statement = upsert(fates)
        changed = {name: statement.excluded[name] for name in ("ending", "code", "why", "now")}
        statement = statement.on_conflict_do_update(index_elements=["record", "handle"], set_=changed)
        async with self._database.writing() as connection:
            await connection.execute(statement, [fate_row(operation_id, fate) for fate in fates_])

    async def fates(self, operation_id: str) -> Sequence[Fate]:
        """Return how the items ended so far, in the order they were noted first."""
        wanted = select(fates).where(fates.c.record == operation_id).order_by(literal_column("rowid"))
        async with self._database.reading() as connection:
            return [fate_of(row) for row in await connection.execute(wanted)]

    async def expire(self, now: datetime) -> int:
        """Expire what waited too long; see the port. Writes nothing when there is nothing to expire."""
        due = select(records.c.id).where(
            records.c.status.in_([status.value for status in _WAITING]), records.c.expires <= ticks(now)
        )
        async with self._database.reading() as connection:
            if (await connection.execute(due.limit(1))).first() is None:
                return 0
        async with self._database.writing() as connection:
            ids = list((await connection.execute(due)).scalars())
            ending = update(records).where(records.c.id.in_(ids))
            await connection.execute(ending.values(status=Status.EXPIRED.value, ended=ticks(now)))
            await self._settle(connection, ids, Status.PENDING, Status.EXPIRED, ticks(now))
            return len(ids)

    async def purge(self, keep: timedelta) -> int:
        """Delete payloads whose time is over and settled records older than `keep`; return how many records went."""
        now = self._clock.now()
        over = [*SETTLED, Status.PARTIALLY_SUCCEEDED]
        old = delete(records).where(
            records.c.created < ticks(now - keep), records.c.status.in_([status.value for status in over])
        )
        async with self._database.writing() as connection:
            await connection.execute(delete(payloads).where(payloads.c.purge <= ticks(now)))
            return (await connection.execute(old)).rowcount

    async def flush(self) -> None:
        """Write the queued lines of reads now."""
        await self._glances.flush()

    async def aclose(self) -> None:
        """Write the queued lines and stop. The database is closed by whoever opened it."""
        await self._glances.aclose()

    async def _settle(
        self, connection: AsyncConnection, ids: Sequence[str], before: Status, after: Status, now: int
    ) -> None:
        if after in _NEVER_DONE or (after is Status.CANCELLED and before in _WAITING):
            await connection.execute(delete(uses).where(uses.c.record.in_(ids)))
        if after not in SETTLED and not await _certain(connection, ids, after):
            return
        if self._keep:
            purge = now + self._keep // timedelta(microseconds=1)
            await connection.execute(update(payloads).where(payloads.c.record.in_(ids)).values(purge=purge))
        else:
            await connection.execute(delete(payloads).where(payloads.c.record.in_(ids)))


async def _certain(connection: AsyncConnection, ids: Sequence[str], after: Status) -> bool:
    """Whether a partly done operation has no item left whose fate must still be found out."""
    if after is not Status.PARTIALLY_SUCCEEDED:
        return False
    open_ends = select(fates.c.handle).where(fates.c.record.in_(ids), fates.c.ending == Ending.UNCERTAIN.value)
    return (await connection.execute(open_ends.limit(1))).first() is None


async def _beaten(connection: AsyncConnection, operation_id: str, before: Status) -> Conflict | NotFound:
    row = await find(connection, operation_id)
    if row is None:
        return NotFound("there is no such operation")
    if row.status == before.value:
        return Conflict("the approval ran out", code="approval_expired", next="ask for it again")
    return Conflict(f"the operation is {row.status} already", code="already_moved")
