"""Recovery: what another process left in the middle is settled by looking, never by doing it again (A-94)."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from mcp_proton.domain.caller import owner
from mcp_proton.domain.effects import Effect
from mcp_proton.domain.errors import MailError
from mcp_proton.domain.operation import Operation, Request
from mcp_proton.domain.outcome import Ending, Fate, Record, Status
from mcp_proton.services.acting.batches import in_order
from mcp_proton.services.door.asked import caller_of, items
from mcp_proton.services.door.call import Call
from mcp_proton.services.door.performing import interrupted
from mcp_proton.services.door.planning import plan
from mcp_proton.services.door.registry import primitive
from mcp_proton.services.door.settling import Settling
from mcp_proton.services.door.world import World

if TYPE_CHECKING:
    from mcp_proton.services.door.following import Following
    from mcp_proton.services.door.performing import Performing
    from mcp_proton.services.door.proving import Proving
    from mcp_proton.services.door.service import MailService

_log = logging.getLogger(__name__)
CODE = "interrupted"


class Recovery:
    """Takes over what is executing in a process that is gone."""

    def __init__(
        self, world: World, door: MailService, performing: Performing, proving: Proving, following: Following
    ) -> None:
        self._world = world
        self._door = door
        self._performing = performing
        self._proving = proving
        self._following = following
        self._settling = Settling(world, door)

    async def all(self) -> None:
        """Settle everything that is nobody's any more; go on with what was in the background."""
        for record in await self._world.journal.adopt():
            await self._one(record)
        await self._settling.all()

    async def settled(self, record: Record) -> Record:
        """Look at one record, and return it as it is then."""
        if record.status is not Status.EXECUTING:
            await self._proving.one(record)
            await self._settling.one(record)
            await self._following.one(record.id)
        elif record.id not in self._performing.running and record.id not in self._performing.doing:
            for adopted in await self._world.journal.adopt(record.id):
                await self._one(adopted)
        return await self._world.journal.read(record.id, owner())

    async def _one(self, record: Record) -> None:
        operation = primitive(self._world.catalog.by_name[record.operation])
        if not operation.chunked:
            after = interrupted(operation)
            if Effect.SEND in operation.effects:  # how far it came is remembered
                after = await self._following.left_as(record.id) or after
            record = await self._world.journal.advance(record.id, record.status, after, code=CODE)
            await self._settling.one(record)
            await self._following.one(record.id)
            return
        body = await self._world.journal.body(record.id)
        request = operation.request.model_validate_json(body)
        call = Call(self._world, caller_of(record, self._world), await self._world.policies.current(), self._door)
        await self._look(operation, request, record, call)
        record = await self._world.journal.read(record.id, owner())
        if record.background and not record.stopping and (operation.repeatable or record.begun < record.total):
            afresh = replace(record, begun=0, counts={}) if operation.repeatable else record
            await self._go_on(operation, request, afresh, call)
        else:
            await self._close(record, CODE)

    async def _look(self, operation: Operation, request: Request, record: Record, call: Call) -> None:
        """Find out how those ended that were begun. Until then, and where the server cannot be asked, they are uncertain."""
        journal = self._world.journal
        fates = {fate.handle: fate for fate in await journal.fates(record.id)}
        begun = in_order(items(operation, request))[: record.begun]
        open_ends = [
            fates.get(one) or Fate(one, Ending.UNCERTAIN, "outcome_unknown", "it was interrupted in the middle")
            for one in begun
            if one not in fates or fates[one].ending is Ending.UNCERTAIN
        ]
        await journal.note(record.id, open_ends)
        try:
            await journal.note(record.id, await self._proving.looked(operation, request, open_ends, record, call))
        except MailError as error:
            _log.info("how items of an operation ended cannot be seen yet: %s", error.message)

    async def _go_on(self, operation: Operation, request: Request, record: Record, call: Call) -> None:
        """Go on with what was not begun, if the rules still let it and the world is as it was."""
        try:
            call.planned = await plan(operation, request, call)
            call.reachable = call.planned.accounts
            await self._door.judge(call, call.planned, but=record.id)
        except MailError as error:
            await self._close(record, error.code)
            return
        self._performing.begin(operation, request, call, record)

    async def _close(self, record: Record, code: str) -> None:
        done = record.counts.get(Ending.DONE, 0) + record.counts.get(Ending.SKIPPED, 0)
        if record.counts.get(Ending.UNCERTAIN) or 0 < done < record.total:
            after = Status.PARTIALLY_SUCCEEDED
        else:
            after = Status.SUCCEEDED if done == record.total else Status.FAILED
        await self._world.journal.advance(
            record.id, Status.EXECUTING, after, code=None if after is Status.SUCCEEDED else code
        )
