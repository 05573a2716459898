"""SqlPasskeys: the owner's passkeys in the store, and the codes by which one is added. The Passkeys port."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import delete, func, insert, select, update

from mcp_proton.domain.errors import OverLimit
from mcp_proton.domain.signing_in import ENROLMENT_LIFE, MOST_PASSKEYS, Passkey, digest, new_code, typed
from mcp_proton.storage.instants import moment, ticks
from mcp_proton.storage.tables import invitations, passkeys

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement

    from mcp_proton.domain.ports import Clock
    from mcp_proton.storage.database import Database


class SqlPasskeys:
    """The passkeys of one store."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def invite(self) -> str:
        """Make a code; see the port."""
        code = new_code()
        until = ticks(self._clock.now() + ENROLMENT_LIFE)
        async with self._database.writing() as connection:
            await connection.execute(delete(invitations))
            await connection.execute(insert(invitations), {"digest": digest(code), "until": until})
        return code

    async def invited(self, code: str) -> bool:
        """Look whether a code is good; see the port."""
        async with self._database.reading() as connection:
            found = await connection.execute(select(invitations).where(self._good(code)))
            return found.first() is not None

    async def add(self, code: str, credential: bytes, key: bytes, name: str) -> Passkey | None:
        """Keep a passkey; see the port."""
        made = Passkey(credential, key, name, self._clock.now())
        async with self._database.writing() as connection:
            if not (await connection.execute(delete(invitations).where(self._good(code)))).rowcount:
                return None
            kept = (await connection.execute(select(func.count()).select_from(passkeys))).scalar_one()
            known = await connection.execute(select(passkeys).where(passkeys.c.credential == credential))
            if kept >= MOST_PASSKEYS or known.first() is not None:
                raise OverLimit(
                    f"there are {kept} passkeys already, or this is one of them",
                    code="too_many_passkeys",
                    next="remove one with `mcp-proton passkeys remove`, then ask for a new code",
                )
            row = {"credential": credential, "key": key, "name": name, "created": ticks(made.created), "counter": 0}
            await connection.execute(insert(passkeys), row)
        return made

    async def listed(self) -> Sequence[Passkey]:
        """Return them, the oldest first."""
        async with self._database.reading() as connection:
            rows = await connection.execute(select(passkeys).order_by(passkeys.c.created))
            return [
                Passkey(
                    row.credential,
                    row.key,
                    row.name,
                    moment(row.created),
                    None if row.used is None else moment(row.used),
                    row.counter,
                )
                for row in rows
            ]

    async def used(self, credential: bytes, count: int) -> bool:
        """Note a use; see the port. A passkey that is on several devices always says 0 (WebAuthn §6.1.1)."""
        now = ticks(self._clock.now())
        counts_on = (passkeys.c.counter < count) if count else (passkeys.c.counter == 0)
        async with self._database.writing() as connection:
            noted = await connection.execute(
                update(passkeys).where(passkeys.c.credential == credential, counts_on).values(used=now, counter=count)
            )
            return noted.rowcount == 1

    async def remove(self, id: str) -> bool:
        """Remove one; see the port."""
        found = next((one for one in await self.listed() if one.id == id), None)
        if found is None:
            return False
        async with self._database.writing() as connection:
            removed = await connection.execute(delete(passkeys).where(passkeys.c.credential == found.credential))
            return removed.rowcount == 1

    def _good(self, code: str) -> ColumnElement[bool]:
        now = ticks(self._clock.now())
        return (invitations.c.digest == digest(typed(code))) & (invitations.c.until > now)
