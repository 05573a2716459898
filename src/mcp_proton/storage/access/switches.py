"""SqlSwitches: pausing, revoking and granting, by the owner. The store is the truth; a file tells every process."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from sqlalchemy import delete, insert, select
from sqlalchemy.dialects.sqlite import insert as upsert

from mcp_proton.domain.effects import Effect
from mcp_proton.domain.errors import NotFound
from mcp_proton.domain.limits import Granted, Switches
from mcp_proton.storage.access.switchfile import encoded
from mcp_proton.storage.files import write_private
from mcp_proton.storage.instants import moment, ticks
from mcp_proton.storage.names import new_id
from mcp_proton.storage.tables import grants, switches

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime
    from pathlib import Path

    from sqlalchemy.ext.asyncio import AsyncConnection

    from mcp_proton.domain.ports import Clock
    from mcp_proton.storage.database import Database

PAUSED_CLIENT, REVOKED_CLIENT, PAUSED_ACCOUNT, ALL_PAUSED = "paused_client", "revoked_client", "paused_account", "all"
FROZEN = "frozen"


class SqlSwitches:
    """The owner's switches. When a method returns, what it did holds in every process."""

    def __init__(self, database: Database, published: Path, clock: Clock) -> None:
        self._database = database
        self._published = published
        self._clock = clock

    async def pause_client(self, name: str) -> None:
        """Stop a client until it is resumed."""
        await self._set(PAUSED_CLIENT, name)

    async def resume_client(self, name: str) -> None:
        """Let a paused client go on."""
        await self._clear(PAUSED_CLIENT, name)

    async def revoke_client(self, name: str) -> None:
        """Take a client's access away, and its grants with it."""
        async with self._database.writing() as connection:
            await _put(connection, REVOKED_CLIENT, name, ticks(self._clock.now()))
            await connection.execute(delete(grants).where(grants.c.client == name))
        await self.publish()

    async def restore_client(self, name: str) -> None:
        """Give a revoked client its access back; its grants stay gone."""
        await self._clear(REVOKED_CLIENT, name)

    async def pause_account(self, name: str) -> None:
        """Stop every client on an account."""
        await self._set(PAUSED_ACCOUNT, name)

    async def resume_account(self, name: str) -> None:
        """Let clients go on with an account."""
        await self._clear(PAUSED_ACCOUNT, name)

    async def freeze(self, account: str, effects: Iterable[Effect]) -> None:
        """Deny effects on an account to every client: mail was lost by them."""
        async with self._database.writing() as connection:
            for effect in effects:
                await _put(connection, FROZEN, f"{account}/{effect}", ticks(self._clock.now()))
        await self.publish()

    async def thaw(self, account: str) -> None:
        """Leave it to the rules again."""
        async with self._database.writing() as connection:
            named = switches.c.name.startswith(f"{account}/", autoescape=True)
            await connection.execute(delete(switches).where(switches.c.kind == FROZEN, named))
        await self.publish()

    async def pause_all(self) -> None:
        """Stop every client."""
        await self._set(ALL_PAUSED, "")

    async def resume_all(self) -> None:
        """Undo `pause_all`; what was paused by name stays paused."""
        await self._clear(ALL_PAUSED, "")

    async def grant(
        self,
        effects: frozenset[Effect],
        verdict: str,
        until: datetime,
        *,
        client: str | None = None,
        account: str | None = None,
        place: str | None = None,
    ) -> Granted:
        """Give a rule that ends by itself."""
        given = Granted(new_id("g"), effects, verdict, until, client, account, place)
        row = {
            "id": given.id,
            "effects": ",".join(sorted(effects)),
            "verdict": verdict,
            "client": client,
            "account": account,
            "place": place,
            "created": ticks(self._clock.now()),
            "until": ticks(until),
        }
        async with self._database.writing() as connection:
            await connection.execute(insert(grants), row)
        await self.publish()
        return given

    async def end_grant(self, grant_id: str) -> None:
        """End a grant early. `NotFound` when there is none of that name."""
        async with self._database.writing() as connection:
            ended = await connection.execute(delete(grants).where(grants.c.id == grant_id))
        if ended.rowcount == 0:
            raise NotFound("there is no such grant")
        await self.publish()

    async def publish(self) -> None:
        """Write the file that every process reads. The write lock is held, so that the last to change is the last to write."""
        async with self._database.writing() as connection:
            await connection.execute(delete(grants).where(grants.c.until <= ticks(self._clock.now())))
            found = await _read(connection)
            await asyncio.to_thread(write_private, self._published, encoded(found).encode())

    async def _set(self, kind: str, name: str) -> None:
        async with self._database.writing() as connection:
            await _put(connection, kind, name, ticks(self._clock.now()))
        await self.publish()

    async def _clear(self, kind: str, name: str) -> None:
        async with self._database.writing() as connection:
            await connection.execute(delete(switches).where(switches.c.kind == kind, switches.c.name == name))
        await self.publish()


async def _put(connection: AsyncConnection, kind: str, name: str, since: int) -> None:
    await connection.execute(upsert(switches).on_conflict_do_nothing(), {"kind": kind, "name": name, "since": since})


async def _read(connection: AsyncConnection) -> Switches:
    named: dict[str, set[str]] = {}
    for row in await connection.execute(select(switches)):
        named.setdefault(row.kind, set()).add(row.name)
    given = [
        Granted(
            row.id,
            frozenset(map(Effect, row.effects.split(","))),
            row.verdict,
            moment(row.until),
            row.client,
            row.account,
            row.place,
        )
        for row in await connection.execute(select(grants).order_by(grants.c.created, grants.c.id))
    ]
    return Switches(
        paused_clients=frozenset(named.get(PAUSED_CLIENT, ())),
        revoked_clients=frozenset(named.get(REVOKED_CLIENT, ())),
        paused_accounts=frozenset(named.get(PAUSED_ACCOUNT, ())),
        all_paused=ALL_PAUSED in named,
        frozen=frozenset(_frozen(name) for name in named.get(FROZEN, ())),
        granted=tuple(given),
    )


def _frozen(name: str) -> tuple[str, Effect]:
    account, _, effect = name.partition("/")
    return account, Effect(effect)
