"""SqlSendings: what is remembered of every mail that was about to leave, in the store. The Sendings port."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, func, insert, or_, select, update

from mcp_proton.domain.handles import Handle
from mcp_proton.domain.outgoing import Accepted
from mcp_proton.domain.sendings import MAY_HAVE_LEFT, OPEN, Bounce, Sending, Stage
from mcp_proton.storage.instants import moment, ticks
from mcp_proton.storage.tables import sendings

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Row, Select

    from mcp_proton.storage.database import Database


class SqlSendings:
    """The sendings of one store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def begin(self, sending: Sending) -> None:
        """Write down that it is about to leave; see the port."""
        async with self._database.writing() as connection:
            await connection.execute(insert(sendings).values(**_row(sending)))

    async def write(self, sending: Sending) -> None:
        """Write down what is known now; see the port."""
        its = update(sendings).where(sendings.c.record == sending.operation)
        async with self._database.writing() as connection:
            await connection.execute(its.values(**_row(sending)))

    async def find(self, operation_id: str) -> Sending | None:
        """Return the sending of an operation; see the port."""
        found = await self._read(select(sendings).where(sendings.c.record == operation_id))
        return found[0] if found else None

    async def alike(
        self, account: str, since: datetime, *, key: str | None = None, content: str | None = None
    ) -> Sequence[Sending]:
        """Return those with this key or this content; see the port."""
        same = sendings.c.key == key if key is not None else sendings.c.content == content
        mine = select(sendings).where(sendings.c.account == account, sendings.c.begun >= ticks(since), same)
        return await self._read(mine.order_by(sendings.c.begun.desc()))

    async def waiting(self, account: str, since: datetime) -> Sequence[Sending]:
        """Return those that are open or young; see the port."""
        still = or_(
            sendings.c.stage.in_([stage.value for stage in OPEN]),
            sendings.c.stray == 1,
            and_(sendings.c.stage == Stage.FOUND.value, sendings.c.draft.is_not(None)),
            sendings.c.begun >= ticks(since),
        )
        mine = select(sendings).where(sendings.c.account == account, still)
        return await self._read(mine.order_by(sendings.c.begun))

    async def tally(self) -> Mapping[Stage, int]:
        """Count them in the store; see the port."""
        counted = select(sendings.c.stage, func.count()).group_by(sendings.c.stage)
        async with self._database.reading() as connection:
            return {Stage(stage): number for stage, number in (await connection.execute(counted)).all()}

    async def reached(self, account: str, recipients: Collection[str]) -> frozenset[str]:
        """Return those that were written to before; see the port."""
        asked = {one.casefold() for one in recipients}
        left = [stage.value for stage in MAY_HAVE_LEFT]
        mine = select(sendings.c.recipients).where(sendings.c.account == account, sendings.c.stage.in_(left))
        async with self._database.reading() as connection:
            rows = (await connection.execute(mine)).scalars()
            return frozenset(asked.intersection(one.casefold() for row in rows for one in json.loads(row)))

    async def _read(self, wanted: Select[Any]) -> list[Sending]:
        async with self._database.reading() as connection:
            return [_sending(row) for row in (await connection.execute(wanted)).all()]


def _row(one: Sending) -> dict[str, Any]:
    return {
        "record": one.operation,
        "account": one.account,
        "message_id": one.message_id,
        "sender": one.sender,
        "recipients": json.dumps(one.recipients),
        "wire": one.wire,
        "size": one.size,
        "receipt": one.receipt,
        "content": one.content,
        "key": one.key,
        "begun": ticks(one.begun),
        "ended": None if one.ended is None else ticks(one.ended),
        "stage": one.stage.value,
        "code": one.code,
        "answers": json.dumps([[it.recipient, it.accepted, it.code] for it in one.answers]),
        "sent": None if one.sent is None else str(one.sent),
        "draft": None if one.draft is None else str(one.draft),
        "stray": int(one.stray),
        "looked": None if one.looked is None else ticks(one.looked),
        "bounces": json.dumps([[it.recipient, it.action, it.status, str(it.notice)] for it in one.bounces]),
    }


def _sending(row: Row[Any]) -> Sending:
    return Sending(
        operation=row.record,
        account=row.account,
        message_id=row.message_id,
        sender=row.sender,
        recipients=tuple(json.loads(row.recipients)),
        wire=row.wire,
        size=row.size,
        receipt=row.receipt,
        content=row.content,
        key=row.key,
        begun=moment(row.begun),
        ended=None if row.ended is None else moment(row.ended),
        stage=Stage(row.stage),
        code=row.code,
        answers=tuple(Accepted(recipient, accepted, code) for recipient, accepted, code in json.loads(row.answers)),
        sent=None if row.sent is None else Handle.parse(row.sent),
        draft=None if row.draft is None else Handle.parse(row.draft),
        stray=bool(row.stray),
        looked=None if row.looked is None else moment(row.looked),
        bounces=tuple(
            Bounce(recipient, action, status, Handle.parse(notice))
            for recipient, action, status, notice in json.loads(row.bounces)
        ),
    )
