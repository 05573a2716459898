"""SqlJournal: what was asked and what became of it, in the store. The Journal port.

Every change is one transaction and durable when the call returns; two processes on one store never both win a move.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from sqlalchemy import delete, insert, or_, select, update

from mcp_proton.domain.errors import Conflict, NotFound
from mcp_proton.domain.outcome import OVER, SETTLED, Ending, Status, check_move
from mcp_proton.storage.instants import ticks
from mcp_proton.storage.journals.glances import Glances
from mcp_proton.storage.journals.items import open_records, read_items, read_open, write_items
from mcp_proton.storage.journals.records import find, record_of, records_of, row_of
from mcp_proton.storage.journals.usage import check, use_rows, used
from mcp_proton.storage.names import new_id
from mcp_proton.storage.runners import Runner, living
from mcp_proton.storage.tables import fates, payloads, records, uses

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import ColumnElement
    from sqlalchemy.ext.asyncio import AsyncConnection

    from mcp_proton.domain.caller import Caller
    from mcp_proton.domain.limits import Limit
    from mcp_proton.domain.outcome import Fate, Record
    from mcp_proton.domain.ports import Clock, Opening
    from mcp_proton.storage.database import Database

_WAITING = (Status.PENDING, Status.APPROVED)
_NEVER_DONE = frozenset({Status.DENIED, Status.EXPIRED})


class SqlJournal:
    """The journal of one store, as one process writes it. `keep_payloads`: how long a stored request outlives its end."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        keep_payloads: timedelta = timedelta(0),
        runner: Runner | None = None,
    ) -> None:
        self._database = database
        self._clock = clock
        self._runner = runner or Runner(database, clock)
        self._keep = keep_payloads
        self._glances = Glances(database)

    async def open(self, opening: Opening) -> Record:
        """Write down the intent; see the port."""
        now, operation_id = self._clock.now(), new_id("op")
        async with self._database.writing() as connection:
            await check(connection, opening, now)
            row_ = row_of(opening, operation_id, opening.status, now)
            row_ |= {"runner": await self._runs(connection, opening.status)}
            row = (await connection.execute(insert(records).values(row_).returning(records))).one()
            await connection.execute(
                insert(payloads), {"record": operation_id, "body": opening.body, "shown": opening.shown}
            )
            counted = use_rows(opening, operation_id, now)
            if counted:
                await connection.execute(insert(uses), counted)
        return record_of(row, {}, {})

    async def usage(self, limits: Sequence[Limit], *, but: str | None = None) -> Mapping[Limit, int]:
        """Return how much of each limit is used; see the port."""
        await self._glances.flush()
        now = self._clock.now()
        async with self._database.reading() as connection:
            return {limit: await used(connection, limit, now, but) for limit in limits}

    def glance(self, opening: Opening, status: Status) -> None:
        """Note a finished read; see the port."""
        self._glances.add(opening, status, self._clock.now())

    @property
    def lag(self) -> float:
        """For how many seconds the line of a finished read has waited that waits longest: above 2 the store is in trouble."""
        oldest = self._glances.oldest
        return max(0.0, (self._clock.now() - oldest).total_seconds()) if oldest else 0.0

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

    async def shown(self, operation_id: str) -> str | None:
        """Return what was kept to be shown; see the port."""
        wanted = select(payloads.c.shown).where(payloads.c.record == operation_id)
        async with self._database.reading() as connection:
            return (await connection.execute(wanted)).scalar_one_or_none()

    async def advance(self, operation_id: str, before: Status, after: Status, *, code: str | None = None) -> Record:
        """Compare-and-set; see the port. An approval that ran out is never claimed, whoever comes how late."""
        check_move(before, after)
        now = ticks(self._clock.now())
        values: dict[str, object] = {"status": after.value}
        if code is not None:
            values["code"] = code
        if after in OVER:
            values |= {"ended": now, "runner": None}
        move = update(records).where(records.c.id == operation_id, records.c.status == before.value)
        if after is Status.EXECUTING:
            move = move.where(or_(records.c.expires.is_(None), records.c.expires > now))
        if before is Status.EXECUTING:
            move = move.where(or_(records.c.runner.is_(None), records.c.runner == self._runner.id))
        async with self._database.writing() as connection:
            runner = await self._runs(connection, after)
            if runner is not None:
                values["runner"] = runner
            done = await connection.execute(move.values(**values).returning(records))
            row = done.one_or_none()
            if row is None:
                raise await _beaten(connection, operation_id, before)
            await self._settle(connection, [operation_id], before, after, now)
            return (await records_of(connection, [row]))[0]

    async def begin(
        self, operation_id: str, upto: int, fates: Sequence[Fate] = (), intents: Sequence[Fate] = ()
    ) -> bool:
        """Write down an intent; see the port."""
        mine = (
            records.c.id == operation_id,
            records.c.status == Status.EXECUTING.value,
            records.c.runner == self._runner.id,
        )
        async with self._database.writing() as connection:
            begun = update(records).where(*mine, records.c.stopping == 0).values(begun=upto)
            goes_on = (await connection.execute(begun)).rowcount > 0
            if not goes_on and (await connection.execute(select(records.c.id).where(*mine))).first() is None:
                raise Conflict("another process settles this operation by now", code="taken_over")
            await write_items(connection, operation_id, [*fates, *intents] if goes_on else fates)
            return goes_on

    async def stop(self, operation_id: str) -> Record:
        """Ask a running operation to stop; see the port."""
        running = update(records).where(
            records.c.id == operation_id, records.c.status == Status.EXECUTING.value, records.c.begun < records.c.total
        )
        async with self._database.writing() as connection:
            await connection.execute(running.values(stopping=1))
            row = await find(connection, operation_id)
            if row is None:
                raise NotFound("there is no such operation")
            return (await records_of(connection, [row]))[0]

    async def adopt(self, operation_id: str | None = None) -> Sequence[Record]:
        """Take over what nobody runs any more; see the port. Writes nothing when there is nothing."""
        left = select(records.c.id).where(records.c.status == Status.EXECUTING.value)
        if operation_id is not None:
            left = left.where(records.c.id == operation_id)
        mine = frozenset() if operation_id is None else frozenset({self._runner.id})
        async with self._database.reading() as connection:
            others = await living(connection, self._clock.now()) - mine
            if (await connection.execute(left.where(_ownerless(others)).limit(1))).first() is None:
                return ()
        async with self._database.writing() as connection:
            others = await living(connection, self._clock.now()) - mine
            taking = update(records).where(records.c.id.in_(left.where(_ownerless(others))))
            runner = await self._runs(connection, Status.EXECUTING)
            taken = await connection.execute(taking.values(runner=runner).returning(records))
            return await records_of(connection, sorted(taken.all(), key=lambda row: row.seq))

    async def unproved(self, account: str) -> Sequence[Record]:
        """Return the records with open ends; see the port."""
        async with self._database.reading() as connection:
            found = await records_of(connection, await open_records(connection))
        return [one for one in found if account in one.accounts and one.status is not Status.EXECUTING]

    async def note(self, operation_id: str, fates_: Sequence[Fate]) -> None:
        """Write down how items ended; a later fate of the same item replaces the earlier one."""
        if fates_:
            async with self._database.writing() as connection:
                await write_items(connection, operation_id, fates_)

    async def fates(self, operation_id: str, start: int = 0, limit: int | None = None) -> Sequence[Fate]:
        """Return how the items ended so far; see the port."""
        async with self._database.reading() as connection:
            return await read_items(connection, operation_id, start, limit)

    async def open_ends(self, operation_id: str) -> Sequence[Fate]:
        """Return the fates that must still be looked at; see the port."""
        async with self._database.reading() as connection:
            return await read_open(connection, operation_id)

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
        await self._runner.aclose()

    async def _runs(self, connection: AsyncConnection, status: Status) -> str | None:
        """Return whose the record is: what executes is this process's."""
        if status is not Status.EXECUTING:
            return None
        await self._runner.appear(connection)
        return self._runner.id

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


def _ownerless(alive: frozenset[str]) -> ColumnElement[bool]:
    return or_(records.c.runner.is_(None), records.c.runner.not_in(alive))


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
