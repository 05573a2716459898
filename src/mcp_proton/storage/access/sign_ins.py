"""SqlSignIns: what programs were given, in the store. The SignIns port."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import delete, func, insert, select, update

from mcp_proton.domain.signing_in import (
    LIFE,
    MOST_ROTATIONS,
    MOST_SIGN_INS,
    OVERLAP,
    Over,
    SignIn,
    digest,
    new_refresh,
)
from mcp_proton.storage.instants import moment, ticks
from mcp_proton.storage.names import new_id
from mcp_proton.storage.remembered import Remembered
from mcp_proton.storage.tables import refresh_tokens, sign_ins

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import Any

    from sqlalchemy import Row
    from sqlalchemy.ext.asyncio import AsyncConnection

    from mcp_proton.domain.ports import Clock
    from mcp_proton.storage.database import Database


class SqlSignIns:
    """The sign-ins of one store. `changed` is a file that is written anew when one begins or ends."""

    def __init__(self, database: Database, changed: Path, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._known = Remembered(changed, self._by_id)

    async def begin(self, client: str, program: str, scopes: Sequence[str]) -> tuple[SignIn, str]:
        """Keep a new one; see the port."""
        now, refresh = self._clock.now(), new_refresh()
        made = SignIn(new_id("si"), client, program, tuple(scopes), now, now + LIFE, now)
        row = {
            "id": made.id,
            "client": client,
            "program": program,
            "scopes": " ".join(scopes),
            "created": ticks(now),
            "ends": ticks(made.ends),
            "renewed": ticks(now),
        }
        async with self._database.writing() as connection:
            await connection.execute(delete(sign_ins).where(sign_ins.c.ends <= ticks(now)))
            await self._make_room(connection)
            await connection.execute(insert(sign_ins), row)
            await self._add(connection, made.id, refresh, 0)
        self._known.tell()
        return made, refresh

    async def renew(self, refresh: str) -> tuple[SignIn, str] | Over:
        """Spend a refresh token; see the port."""
        now, following = ticks(self._clock.now()), new_refresh()
        async with self._database.writing() as connection:
            row = await self._row(connection, refresh)
            if row is None:
                return Over.UNKNOWN
            newest, newest_used = await self._generations(connection, row.id)
            copied = row.used is not None and not (
                row.generation == newest_used and now - row.used <= OVERLAP.total_seconds() * 1e6
            )
            if copied or row.ends <= now or newest >= MOST_ROTATIONS:
                await connection.execute(delete(sign_ins).where(sign_ins.c.id == row.id))
            else:
                shown = refresh_tokens.c.digest == digest(refresh)
                await connection.execute(update(refresh_tokens).where(shown).values(used=now))
                await self._add(connection, row.id, following, newest + 1)
                await connection.execute(update(sign_ins).where(sign_ins.c.id == row.id).values(renewed=now))
                return _sign_in(row, renewed=now), following
        self._known.tell()
        return Over.REUSED if copied else Over.ENDED

    async def of(self, refresh: str) -> SignIn | None:
        """Return whose it is; see the port."""
        async with self._database.reading() as connection:
            row = await self._row(connection, refresh)
        return None if row is None or row.ends <= ticks(self._clock.now()) else _sign_in(row)

    async def check(self, id: str) -> SignIn | None:
        """Return one that holds; see the port."""
        found = (await self._known.current()).get(id)
        return found if found is not None and found.ends > self._clock.now() else None

    async def listed(self) -> Sequence[SignIn]:
        """Return all that hold; see the port."""
        now = ticks(self._clock.now())
        async with self._database.reading() as connection:
            rows = await connection.execute(
                select(sign_ins).where(sign_ins.c.ends > now).order_by(sign_ins.c.created, sign_ins.c.id)
            )
            return [_sign_in(row) for row in rows]

    async def end(self, *, id: str | None = None, client: str | None = None) -> int:
        """End some; see the port."""
        which = delete(sign_ins)
        if id is not None:
            which = which.where(sign_ins.c.id == id)
        if client is not None:
            which = which.where(sign_ins.c.client == client)
        async with self._database.writing() as connection:
            ended = await connection.execute(which)
        self._known.tell()
        return ended.rowcount

    async def _by_id(self) -> dict[str, SignIn]:
        return {one.id: one for one in await self.listed()}

    async def _make_room(self, connection: AsyncConnection) -> None:
        kept = select(sign_ins.c.id).order_by(sign_ins.c.renewed.desc()).limit(MOST_SIGN_INS - 1)
        await connection.execute(delete(sign_ins).where(sign_ins.c.id.not_in(kept)))

    async def _row(self, connection: AsyncConnection, refresh: str) -> Row[Any] | None:
        joined = refresh_tokens.join(sign_ins)
        found = await connection.execute(
            select(sign_ins, refresh_tokens.c.generation, refresh_tokens.c.used)
            .select_from(joined)
            .where(refresh_tokens.c.digest == digest(refresh))
        )
        return found.first()

    async def _generations(self, connection: AsyncConnection, id: str) -> tuple[int, int]:
        """Return the newest generation, and the newest that was used (-1: none was)."""
        used = func.max(refresh_tokens.c.generation).filter(refresh_tokens.c.used.is_not(None))
        found = await connection.execute(
            select(func.max(refresh_tokens.c.generation), used).where(refresh_tokens.c.sign_in == id)
        )
        newest, newest_used = found.one()
        return newest, -1 if newest_used is None else newest_used

    async def _add(self, connection: AsyncConnection, id: str, refresh: str, generation: int) -> None:
        row = {"digest": digest(refresh), "sign_in": id, "generation": generation, "used": None}
        await connection.execute(insert(refresh_tokens), row)


def _sign_in(row: Row[Any], renewed: int | None = None) -> SignIn:
    return SignIn(
        row.id,
        row.client,
        row.program,
        tuple(row.scopes.split()),
        moment(row.created),
        moment(row.ends),
        moment(row.renewed if renewed is None else renewed),
    )
