"""SqlChannels: the clients' live checks, in the store. The Channels port."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from sqlalchemy import delete, select
from sqlalchemy.dialects.sqlite import insert as upsert

from mcp_proton.domain.review import Challenge, Channel
from mcp_proton.storage.instants import moment, ticks
from mcp_proton.storage.tables import channels

if TYPE_CHECKING:
    from mcp_proton.domain.ports import Clock
    from mcp_proton.storage.database import Database

ARMED_SECONDS = 600


class SqlChannels:
    """The live checks of one store."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def read(self, client: str) -> Channel:
        """Return what is known of a client; a check that waited too long is no more."""
        async with self._database.reading() as connection:
            row = (await connection.execute(select(channels).where(channels.c.client == client))).one_or_none()
        if row is None:
            return Channel()
        fresh = row.armed is not None and ticks(self._clock.now()) - row.armed <= ARMED_SECONDS * 1_000_000
        challenge = _challenge(row.challenge) if fresh and row.challenge else None
        return Channel(challenge, None if row.checked is None else moment(row.checked))

    async def arm(self, client: str) -> Challenge:
        """Let the client's next call be the check; see the port."""
        made = Challenge.new()
        written = json.dumps([made.number, *made.questions])
        await self._put(client, {"challenge": written, "armed": ticks(self._clock.now()), "checked": None})
        return made

    async def answered(self, client: str, *, passed: bool) -> None:
        """Write down how it ended; see the port."""
        checked = ticks(self._clock.now()) if passed else None
        await self._put(client, {"challenge": None, "armed": None, "checked": checked})

    async def forget(self, client: str) -> None:
        """Nothing is answered through it any more; see the port."""
        async with self._database.writing() as connection:
            await connection.execute(delete(channels).where(channels.c.client == client))

    async def _put(self, client: str, values: dict[str, object]) -> None:
        statement = upsert(channels).values(client=client, **values)
        async with self._database.writing() as connection:
            await connection.execute(statement.on_conflict_do_update(index_elements=["client"], set_=values))


def _challenge(written: str) -> Challenge:
    number, *questions = json.loads(written)
    return Challenge(number, tuple(questions))
