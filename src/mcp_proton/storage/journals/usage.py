"""Counting what was used of the owner's limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import func, select

from mcp_proton.domain.effects import READING
from mcp_proton.domain.errors import OverLimit
from mcp_proton.storage.instants import ticks
from mcp_proton.storage.tables import uses

if TYPE_CHECKING:
    from datetime import datetime
    from typing import Any

    from sqlalchemy.ext.asyncio import AsyncConnection

    from mcp_proton.domain.limits import Limit
    from mcp_proton.domain.ports import Opening


def use_rows(opening: Opening, operation_id: str, now: datetime) -> list[dict[str, Any]]:
    """Return what an operation counts for. Reading counts only where a limit of the owner's speaks of it."""
    counted = {limit.effect for limit in opening.limits}
    pairs = {
        (impact.effect, impact.scope.account)
        for impact in opening.plan.impacts
        if impact.effect not in READING or impact.effect in counted
    }
    return [
        {
            "record": operation_id,
            "effect": effect.value,
            "created": ticks(now),
            "client": opening.caller.name,
            "account": account or "",
            "units": opening.plan.units(effect, account),
        }
        for effect, account in sorted(pairs, key=str)
    ]


async def used(connection: AsyncConnection, limit: Limit, now: datetime, but: str | None = None) -> int:
    """Return how much of a limit is used in the span that ends now."""
    since = ticks(now) - limit.seconds * 1_000_000
    counting = select(func.coalesce(func.sum(uses.c.units), 0)).where(
        uses.c.effect == limit.effect.value, uses.c.created > since
    )
    if limit.client is not None:
        counting = counting.where(uses.c.client == limit.client)
    if limit.account is not None:
        counting = counting.where(uses.c.account == limit.account)
    if but is not None:
        counting = counting.where(uses.c.record != but)
    return int((await connection.execute(counting)).scalar_one())


async def check(connection: AsyncConnection, opening: Opening, now: datetime) -> None:
    """Raise `OverLimit` unless every limit has room for the opening. To be called with the write lock held."""
    for limit in opening.limits:
        asked = opening.plan.units(limit.effect, limit.account)
        taken = await used(connection, limit, now)
        if taken + asked > limit.most:
            raise OverLimit(f"a limit of the owner's is used up: {taken} of {limit.most} ({limit.source})")
