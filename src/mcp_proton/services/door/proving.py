"""Proving: what an answer named is looked for once the server's own view has caught up, and what is uncertain is looked at.

copyuid → seen, or orphaned (it is brought back), or lost (told at once; the owner's rules are asked from then on)
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from mcp_proton.domain.caller import owner
from mcp_proton.domain.errors import Conflict, MailError
from mcp_proton.domain.operation import Operation, Request
from mcp_proton.domain.outcome import Ending, Fate, Proof, Record, Status
from mcp_proton.domain.ports import HOME
from mcp_proton.services.acting.looking import by_account
from mcp_proton.services.door.asked import caller_of, rebuilt
from mcp_proton.services.door.call import Call
from mcp_proton.services.door.registry import primitive
from mcp_proton.services.door.world import World

if TYPE_CHECKING:
    from mcp_proton.services.door.service import MailService

_log = logging.getLogger(__name__)
BACK = "brought_back"
"""The code of an orphan that was put where its kind belongs, whatever it was to be before."""
_LOOKS = 3
"""How often a process looks at one operation by itself."""


class Proving:
    """Looks back at what was done."""

    def __init__(self, world: World, door: MailService) -> None:
        self._world = world
        self._door = door
        self._waiting: set[asyncio.Task[None]] = set()

    def later(self, record: Record) -> None:
        """Look at it when the server's view has caught up, if this process still lives then."""
        task = asyncio.get_running_loop().create_task(self._in_time(record))
        self._waiting.add(task)
        task.add_done_callback(self._waiting.discard)

    async def all(self) -> None:
        """Look at everything whose end is open, in every account; and once more later at what is still open."""
        for account in self._world.accounts.names:
            for record in await self._world.journal.unproved(account):
                await self.one(record)
                if await self._world.journal.open_ends(record.id):
                    self.later(record)

    async def one(self, record: Record) -> None:
        """Look at the open ends of one operation. Trouble with the server leaves them as they are."""
        journal = self._world.journal
        open_ends = await journal.open_ends(record.id)
        operation = primitive(self._world.catalog.by_name[record.operation])
        if not open_ends or operation.look is None or record.outline is None:
            return
        call = Call(self._world, caller_of(record, self._world), await self._world.policies.current(), self._door)
        request = rebuilt(operation, record.outline, [fate.handle for fate in open_ends])
        try:
            found = await self.looked(operation, request, open_ends, record, call)
        except MailError as error:
            _log.info("how items of an operation ended cannot be seen yet: %s", error.message)
            return
        await journal.note(record.id, found)
        await self._settle(record)

    async def looked(
        self, operation: Operation, request: Request, fates: Sequence[Fate], record: Record, call: Call
    ) -> Sequence[Fate]:
        """Return the fates as they are known now; an orphan is brought back on the way."""
        if operation.look is None:
            return fates
        age = (self._world.clock.now() - (record.ended or record.created)).total_seconds()
        age = age if record.ended else 0.0
        home = [fate for fate in fates if fate.code == BACK]
        async with AsyncExitStack() as held:  # looking may pay what an earlier write still owes
            for account in sorted({fate.handle.account for fate in fates}):
                await held.enter_async_context(self._world.leases.hold(account))
            found = list(await operation.look(request, [fate for fate in fates if fate.code != BACK], age, call))
            found += await by_account(home, call, lambda backend, mine: backend.prove(mine, HOME, age))
        known = {fate.handle: fate.proof for fate in fates}
        lost = {
            fate.handle.account
            for fate in found
            if fate.proof is Proof.LOST and known.get(fate.handle) is not Proof.LOST
        }
        for account in sorted(lost):
            await self._alarm(account, record)
        return [await self._brought_back(fate, record) if _is_orphan(fate) else fate for fate in found]

    async def aclose(self) -> None:
        """Stop waiting; the next process looks."""
        for task in self._waiting:
            task.cancel()
        await asyncio.gather(*self._waiting, return_exceptions=True)

    async def _in_time(self, record: Record) -> None:
        """Look, and look again at what takes a second event to show."""
        for _ in range(_LOOKS):
            await asyncio.sleep(self._world.settings.prove_after)
            await self._door.settled(await self._world.journal.read(record.id, owner()))
            if not await self._world.journal.open_ends(record.id):
                return

    async def _brought_back(self, fate: Fate, record: Record) -> Fate:
        """Put an orphan where its kind belongs: written down before, since it is a change like any other."""
        if fate.now is None:
            return fate
        backend = self._world.accounts.backend(fate.handle.account)
        async with self._world.leases.hold(fate.handle.account):
            await self._world.journal.note(record.id, [replace(fate, code="bringing_back")])
            back = (await backend.reattach([fate.now], HOME))[0]
        if back.ending is Ending.DONE:
            return replace(fate, code=BACK, now=back.now or fate.now, proof=back.proof)
        return replace(fate, code=back.code, why=back.why)

    async def _alarm(self, account: str, record: Record) -> None:
        _log.error("a message that %s changed in account %s is nowhere to be found", record.id, account)
        if self._world.alarm is not None:
            await self._world.alarm(account, record.effects)

    async def _settle(self, record: Record) -> None:
        """A partly done operation without an uncertain item is settled."""
        now = await self._world.journal.read(record.id, owner())
        if now.status is not Status.PARTIALLY_SUCCEEDED or now.counts.get(Ending.UNCERTAIN):
            return
        done = now.counts.get(Ending.DONE, 0) + now.counts.get(Ending.SKIPPED, 0)
        after = Status.SUCCEEDED if done == now.total else Status.FAILED if done == 0 else None
        if after is not None:
            with suppress(Conflict):  # somebody else looked at the same time, and saw the same
                await self._world.journal.advance(record.id, Status.PARTIALLY_SUCCEEDED, after)


def _is_orphan(fate: Fate) -> bool:
    """What was moved and is in no place. What was to be destroyed and was not is told, and not put among other mail."""
    return fate.ending is Ending.DONE and fate.proof is Proof.ORPHANED
