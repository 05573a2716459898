"""`MemoryJournal`: the journal in lists."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from mcp_proton.domain.caller import Caller
from mcp_proton.domain.errors import Conflict, NotFound, OverLimit
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.limits import Limit
from mcp_proton.domain.outcome import OVER, Fate, Record, Status, check_move, is_open
from mcp_proton.domain.ports import (
    Clock,
    Opening,
)

_GIVEN_BACK = frozenset({Status.DENIED, Status.EXPIRED, Status.CANCELLED})


class MemoryJournal:
    """A journal in lists. `glanced` holds what `glance` was told, in order.

    A test puts the ids of operations whose process is to count as dead into `gone`.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._records: dict[str, Record] = {}
        self._bodies: dict[str, str] = {}
        self._shown: dict[str, str | None] = {}
        self._fates: dict[str, dict[Handle, Fate]] = {}
        self.gone: set[str] = set()
        self.glanced: list[tuple[str, Status]] = []

    async def open(self, opening: Opening) -> Record:
        """Write down the intent."""
        used = await self.usage(opening.limits)
        if any(used[one] + opening.plan.units(one.effect, one.account) > one.most for one in opening.limits):
            raise OverLimit("a limit is used up")
        name = "op_" + base64.b32encode(f"{len(self._records):010d}".encode()).decode().lower()
        record = Record(
            id=name,
            caller=opening.caller.name,
            operation=opening.operation,
            accounts=opening.plan.accounts,
            effects=opening.plan.effects,
            digest=opening.digest,
            status=opening.status,
            created=self._clock.now(),
            expires=opening.expires,
            summary=opening.summary,
            total=len(opening.plan.targets) if opening.total is None else opening.total,
            background=opening.background,
            outline=opening.outline,
        )
        self._records[name], self._bodies[name], self._shown[name] = record, opening.body, opening.shown
        return record

    def glance(self, opening: Opening, status: Status) -> None:
        """Note a finished read."""
        self.glanced.append((opening.operation, status))

    async def read(self, operation_id: str, caller: Caller) -> Record:
        """Return a record of the caller's."""
        record = self._records.get(operation_id)
        if record is None or not (caller.is_owner or record.caller == caller.name):
            raise NotFound("there is no such operation of yours")
        return self._counted(record)

    async def recent(self, caller: Caller, *, limit: int = 50, statuses: Sequence[Status] = ()) -> Sequence[Record]:
        """Return the newest first."""
        mine = (one for one in self._records.values() if caller.is_owner or one.caller == caller.name)
        chosen = [one for one in mine if not statuses or one.status in statuses][::-1][:limit]
        return [self._counted(one) for one in chosen]

    async def body(self, operation_id: str) -> str:
        """Return the stored request."""
        return self._bodies[operation_id]

    async def shown(self, operation_id: str) -> str | None:
        """Return what was kept to be shown."""
        return self._shown[operation_id]

    async def advance(self, operation_id: str, before: Status, after: Status, *, code: str | None = None) -> Record:
        """Compare and set."""
        record = self._records[operation_id]
        if record.status is not before:
            raise Conflict("somebody else was first")
        check_move(before, after)
        ended = self._clock.now() if after in OVER else record.ended
        self._records[operation_id] = replace(record, status=after, code=code or record.code, ended=ended)
        return self._counted(self._records[operation_id])

    async def begin(
        self, operation_id: str, upto: int, fates: Sequence[Fate] = (), intents: Sequence[Fate] = ()
    ) -> bool:
        """Write down an intent."""
        record = self._records[operation_id]
        if record.status is not Status.EXECUTING or operation_id in self.gone:
            raise Conflict("another process settles this operation by now", code="taken_over")
        await self.note(operation_id, fates)
        if record.stopping:
            return False
        await self.note(operation_id, intents)
        self._records[operation_id] = replace(record, begun=upto)
        return True

    async def stop(self, operation_id: str) -> Record:
        """Ask a running operation to stop."""
        record = self._records[operation_id]
        if record.status is Status.EXECUTING and record.begun < record.total:
            self._records[operation_id] = replace(record, stopping=True)
        return self._counted(self._records[operation_id])

    async def adopt(self, operation_id: str | None = None) -> Sequence[Record]:
        """Take over what is in `gone`, or the one that is named."""
        named = set(self.gone) if operation_id is None else {operation_id}
        self.gone -= named
        return [
            self._counted(one) for one in self._records.values() if one.id in named and one.status is Status.EXECUTING
        ]

    async def unproved(self, account: str) -> Sequence[Record]:
        """Return those with open ends."""
        return [
            self._counted(one)
            for one in self._records.values()
            if account in one.accounts
            and one.status is not Status.EXECUTING
            and any(map(is_open, self._fates.get(one.id, {}).values()))
        ]

    async def note(self, operation_id: str, fates: Sequence[Fate]) -> None:
        """Write down how items ended; a later fate of an item replaces the earlier one."""
        self._fates.setdefault(operation_id, {}).update({fate.handle: fate for fate in fates})

    async def fates(self, operation_id: str, start: int = 0, limit: int | None = None) -> Sequence[Fate]:
        """Return how items ended."""
        found = list(self._fates.get(operation_id, {}).values())
        return found[start : None if limit is None else start + limit]

    async def open_ends(self, operation_id: str) -> Sequence[Fate]:
        """Return what must still be looked at."""
        return [fate for fate in self._fates.get(operation_id, {}).values() if is_open(fate)]

    async def expire(self, now: datetime) -> int:
        """Expire what waited too long."""
        waiting = (Status.PENDING, Status.APPROVED)
        late = [one for one in self._records.values() if one.status in waiting and one.expires and one.expires <= now]
        for record in late:
            await self.advance(record.id, record.status, Status.EXPIRED)
        return len(late)

    async def usage(self, limits: Sequence[Limit], *, but: str | None = None) -> Mapping[Limit, int]:
        """Count operations, one unit each; what was denied, expired or withdrawn gives its place back."""
        counted = [one for one in self._records.values() if one.id != but and one.status not in _GIVEN_BACK]
        return {
            limit: sum(
                limit.effect in one.effects
                and limit.client in (None, one.caller)
                and (limit.account is None or limit.account in one.accounts)
                and (self._clock.now() - one.created).total_seconds() <= limit.seconds
                for one in counted
            )
            for limit in limits
        }

    def _counted(self, record: Record) -> Record:
        fates = self._fates.get(record.id, {}).values()
        counts = Counter(fate.ending.value for fate in fates)
        proofs = Counter(fate.proof.value for fate in fates if fate.proof is not None)
        return replace(record, counts=dict(counts), proofs=dict(proofs))
