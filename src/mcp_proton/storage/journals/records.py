"""Rows and records: how a journal line looks in the store and how it is read back."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

from sqlalchemy import func, select

from mcp_proton.domain.effects import Effect
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.outcome import Ending, Fate, Proof, Record, Status
from mcp_proton.storage.instants import moment, ticks
from mcp_proton.storage.tables import fates, records

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime
    from typing import Any

    from sqlalchemy import Row
    from sqlalchemy.ext.asyncio import AsyncConnection

    from mcp_proton.domain.ports import Opening


def row_of(opening: Opening, operation_id: str, status: Status, now: datetime) -> dict[str, Any]:
    """Return the row of a new record. Nothing of the request's content is in it."""
    return {
        "id": operation_id,
        "caller": opening.caller.name,
        "operation": opening.operation,
        "accounts": json.dumps(sorted(opening.plan.accounts)),
        "effects": json.dumps(sorted(opening.plan.effects)),
        "digest": opening.digest,
        "status": status.value,
        "created": ticks(now),
        "expires": None if opening.expires is None else ticks(opening.expires),
        "ended": None,
        "summary": opening.summary,
        "code": None,
        "total": len(opening.plan.targets) if opening.total is None else opening.total,
        "background": int(opening.background),
        "outline": opening.outline,
    }


def record_of(row: Row[Any], counts: Mapping[str, int], proofs: Mapping[str, int]) -> Record:
    """Return the record of a row."""
    return Record(
        id=row.id,
        caller=row.caller,
        operation=row.operation,
        accounts=frozenset(json.loads(row.accounts)),
        effects=frozenset(map(Effect, json.loads(row.effects))),
        digest=row.digest,
        status=Status(row.status),
        created=moment(row.created),
        expires=None if row.expires is None else moment(row.expires),
        ended=None if row.ended is None else moment(row.ended),
        summary=row.summary,
        code=row.code,
        counts=counts,
        proofs=proofs,
        total=row.total,
        begun=row.begun,
        background=bool(row.background),
        stopping=bool(row.stopping),
        outline=row.outline,
    )


async def records_of(connection: AsyncConnection, rows: Sequence[Row[Any]]) -> list[Record]:
    """Return the records of rows, with how many items ended how and how well that is known."""
    counts: dict[str, Counter[str]] = {row.id: Counter() for row in rows}
    proofs: dict[str, Counter[str]] = {row.id: Counter() for row in rows}
    if counts:
        counting = (
            select(fates.c.record, fates.c.ending, fates.c.proof, func.count())
            .where(fates.c.record.in_(counts))
            .group_by(fates.c.record, fates.c.ending, fates.c.proof)
        )
        for record, ending, proof, number in await connection.execute(counting):
            counts[record][ending] += number
            if proof is not None:
                proofs[record][proof] += number
    return [record_of(row, dict(counts[row.id]), dict(proofs[row.id])) for row in rows]


async def find(connection: AsyncConnection, operation_id: str) -> Row[Any] | None:
    """Return the row of an operation, if it is there."""
    return (await connection.execute(select(records).where(records.c.id == operation_id))).one_or_none()


def fate_row(operation_id: str, fate: Fate) -> dict[str, str | None]:
    """Return the row of a fate."""
    return {
        "record": operation_id,
        "handle": str(fate.handle),
        "ending": fate.ending.value,
        "code": fate.code,
        "why": fate.why,
        "now": None if fate.now is None else str(fate.now),
        "proof": None if fate.proof is None else fate.proof.value,
        "identity": fate.identity,
    }


def fate_of(row: Row[Any]) -> Fate:
    """Return the fate of a row."""
    now = None if row.now is None else Handle.parse(row.now)
    proof = None if row.proof is None else Proof(row.proof)
    return Fate(Handle.parse(row.handle), Ending(row.ending), row.code, row.why, now, proof, row.identity)
