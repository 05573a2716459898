"""The items of an operation: how each ended, in the store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import literal_column, select, text
from sqlalchemy.dialects.sqlite import insert as upsert

from mcp_proton.storage.journals.records import fate_of, fate_row
from mcp_proton.storage.tables import OPEN_END, fates, records

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from sqlalchemy import Row
    from sqlalchemy.ext.asyncio import AsyncConnection

    from mcp_proton.domain.outcome import Fate

_CHANGES = ("ending", "code", "why", "now", "proof", "identity")


async def write_items(connection: AsyncConnection, operation_id: str, ended: Sequence[Fate]) -> None:
    """Write down fates; a later fate of the same item replaces the earlier one and keeps its place."""
    if not ended:
        return
    statement = upsert(fates)
    changed = {name: statement.excluded[name] for name in _CHANGES}
    statement = statement.on_conflict_do_update(index_elements=["record", "handle"], set_=changed)
    await connection.execute(statement, [fate_row(operation_id, fate) for fate in ended])


async def read_items(connection: AsyncConnection, operation_id: str, start: int, limit: int | None) -> list[Fate]:
    """Return fates in the order they were first noted."""
    wanted = select(fates).where(fates.c.record == operation_id).order_by(literal_column("rowid"))
    return [fate_of(row) for row in await connection.execute(wanted.offset(start).limit(limit))]


async def read_open(connection: AsyncConnection, operation_id: str) -> list[Fate]:
    """Return the fates that must still be looked at."""
    wanted = select(fates).where(fates.c.record == operation_id, text(OPEN_END)).order_by(literal_column("rowid"))
    return [fate_of(row) for row in await connection.execute(wanted)]


async def open_records(connection: AsyncConnection) -> Sequence[Row[Any]]:
    """Return the rows of operations with an item that must still be looked at, the oldest first."""
    open_ends = select(fates.c.record).where(text(OPEN_END))
    wanted = select(records).where(records.c.id.in_(open_ends)).order_by(records.c.seq)
    return (await connection.execute(wanted)).all()
