"""SqlTokens: the clients' tokens, hashed, in the store. The Tokens port."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import delete, insert, select

from mcp_proton.domain.tokens import ClientToken, matches, new, public_half
from mcp_proton.storage.instants import moment, ticks
from mcp_proton.storage.remembered import Remembered
from mcp_proton.storage.tables import tokens

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from pathlib import Path

    from mcp_proton.domain.ports import Clock
    from mcp_proton.storage.database import Database


class SqlTokens:
    """The tokens of one store. `changed` is a file that is written anew with every change, for other processes to see."""

    def __init__(self, database: Database, changed: Path, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._known = Remembered(changed, self._by_id)

    async def issue(self, client: str, expires: datetime | None = None) -> str:
        """Make a client's token; see the port."""
        text, made = new(client, self._clock.now(), expires)
        row = {
            "id": made.id,
            "client": client,
            "digest": made.digest.hex(),
            "created": ticks(made.created),
            "expires": None if expires is None else ticks(expires),
        }
        async with self._database.writing() as connection:
            await connection.execute(delete(tokens).where(tokens.c.client == client))
            await connection.execute(insert(tokens), row)
        self._known.tell()
        return text

    async def withdraw(self, client: str) -> bool:
        """End a client's token; see the port."""
        async with self._database.writing() as connection:
            ended = await connection.execute(delete(tokens).where(tokens.c.client == client))
        self._known.tell()
        return ended.rowcount > 0

    async def listed(self) -> Sequence[ClientToken]:
        """Return what is kept, by client."""
        async with self._database.reading() as connection:
            rows = await connection.execute(select(tokens).order_by(tokens.c.client))
            return [
                ClientToken(
                    row.id,
                    row.client,
                    bytes.fromhex(row.digest),
                    moment(row.created),
                    None if row.expires is None else moment(row.expires),
                )
                for row in rows
            ]

    async def check(self, shown: str) -> ClientToken | None:
        """Return whose token this is; see the port."""
        kept = (await self._known.current()).get(public_half(shown) or "")
        if not matches(shown, kept) or kept is None or kept.is_over(self._clock.now()):
            return None
        return kept

    async def _by_id(self) -> dict[str, ClientToken]:
        return {one.id: one for one in await self.listed()}
