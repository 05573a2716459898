"""Performing: an operation that may act, from its intent to its end in the journal, at once or in the background."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import anyio

from mcp_proton.domain.caller import owner
from mcp_proton.domain.effects import CHANGING, READING, Effect
from mcp_proton.domain.errors import Defect, MailError
from mcp_proton.domain.operation import Operation, Request, Result
from mcp_proton.domain.outcome import Outcome, Record, Status
from mcp_proton.services.acting.batches import PutOffError
from mcp_proton.services.door.call import Call
from mcp_proton.services.door.world import World
from mcp_proton.services.presenting.telling import ended, told, underway

if TYPE_CHECKING:
    from mcp_proton.services.door.following import Following
    from mcp_proton.services.door.proving import Proving

_log = logging.getLogger(__name__)
_LAST_WORDS = 1.5


class Performing:
    """What is being done in this process. `running` are the operations that go on by themselves."""

    def __init__(self, world: World, proving: Proving, following: Following) -> None:
        self.running: dict[str, asyncio.Task[Outcome[Result]]] = {}
        self.doing: set[str] = set()
        self.closing = False
        self._world = world
        self._proving = proving
        self._following = following

    async def start(self, operation: Operation, request: Request, call: Call, record: Record) -> Outcome[Result]:
        """Do it; what is long goes on in the background once the caller has waited long enough."""
        if not record.background:
            return await self.perform(operation, request, call, record)
        task = self.begin(operation, request, call, record)
        try:
            await asyncio.wait({task}, timeout=self._world.settings.patience)
        except asyncio.CancelledError:
            with anyio.CancelScope(shield=True):
                await self._world.journal.stop(record.id)
            raise
        return task.result() if task.done() else underway(record)

    def begin(
        self, operation: Operation, request: Request, call: Call, record: Record
    ) -> asyncio.Task[Outcome[Result]]:
        """Do it in the background."""
        task = asyncio.get_running_loop().create_task(self._alone(operation, request, call, record))
        self.running[record.id] = task
        task.add_done_callback(lambda _: self.running.pop(record.id, None))
        return task

    async def _alone(self, operation: Operation, request: Request, call: Call, record: Record) -> Outcome[Result]:
        """Nobody may be waiting for it: whatever goes wrong is told in the journal and the log."""
        try:
            return await self.perform(operation, request, call, record)
        except MailError as error:
            return told(error)
        except Exception as error:
            frames = "".join(traceback.format_tb(error.__traceback__))
            _log.error("fault in %s: %s\n%s", operation.name, type(error).__name__, frames)
            return told(Defect("a fault of ours stopped this; nothing was repeated"))

    async def perform(self, operation: Operation, request: Request, call: Call, record: Record) -> Outcome[Result]:
        """Do it and write down how it ended."""
        self.doing.add(record.id)
        try:
            return await self._perform(operation, request, call, record)
        finally:
            self.doing.discard(record.id)

    async def _perform(self, operation: Operation, request: Request, call: Call, record: Record) -> Outcome[Result]:
        call.record = record
        try:
            async with self._one_writer(operation, call):
                result = await operation.perform(request, call)
        except PutOffError:
            return underway(record)
        except MailError as error:
            after = Status.DELIVERY_UNKNOWN if error.status == "unsure" else Status.FAILED
            if error.status == "cancelled":
                after = Status.CANCELLED
            await self._write_end(record, after, error.code)
            if after is Status.DELIVERY_UNKNOWN and operation.happened is not None:
                self._proving.later(record)
            return replace(told(error), operation_id=record.id)
        except BaseException as error:
            with anyio.CancelScope(shield=True):
                await self._cut_short(operation, record, error)
            raise
        written = await self._write_end(record, result.ended, result.code_of_end)
        if call.tally is not None and call.tally.is_open:
            self._proving.later(record)
        if Effect.SEND in operation.effects:
            await self._following.after(record.id)
        outcome = ended(result, record)
        return outcome if written else replace(outcome, code="not_recorded", why=_NOT_RECORDED)

    async def aclose(self) -> None:
        """Stop between items, within two seconds; what is left goes on in the next process."""
        self.closing = True
        tasks = list(self.running.values())
        if tasks:
            await asyncio.wait(tasks, timeout=_LAST_WORDS)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    @asynccontextmanager
    async def _one_writer(self, operation: Operation, call: Call) -> AsyncIterator[None]:
        """Hold the accounts that are changed.

        What acts in chunks takes them chunk by chunk, so that others get a turn; what sends takes them when it files.
        """
        planned = call.planned
        alone = operation.chunked or Effect.SEND in operation.effects
        accounts = sorted(planned.accounts) if planned and planned.effects & CHANGING and not alone else ()
        async with AsyncExitStack() as held:
            for account in accounts:
                await held.enter_async_context(self._world.leases.hold(account))
            yield

    async def _write_end(self, record: Record, after: Status, code: str | None) -> bool:
        """Whether the end could be written. Where not, the record stays as it is and is settled by looking."""
        try:
            await self._world.journal.advance(record.id, Status.EXECUTING, after, code=code)
        except MailError as error:
            _log.warning("how an operation ended could not be written: %s", error.message)
            return False
        return True

    async def _cut_short(self, operation: Operation, record: Record, error: BaseException) -> None:
        if record.background and self.closing:
            return
        now = await self._world.journal.read(record.id, owner())
        untouched = operation.chunked and now.begun == 0 and isinstance(error, asyncio.CancelledError)
        after = Status.CANCELLED if untouched else _stopped(operation, error)
        if Effect.SEND in operation.effects:
            after = await self._following.left_as(record.id) or after
        await self._write_end(record, after, "interrupted")


_NOT_RECORDED = (
    "it ended as told here, but the journal could not take it down; ask the owner to see that the disk has room"
)


def interrupted(operation: Operation) -> Status:
    """Say how an act ended that was stopped in the middle: nobody knows how far it came, so it is never called undone."""
    known_by_looking = Effect.SEND in operation.effects or operation.happened is not None
    return Status.DELIVERY_UNKNOWN if known_by_looking else Status.PARTIALLY_SUCCEEDED


def _stopped(operation: Operation, error: BaseException) -> Status:
    if operation.effects <= READING | {Effect.EXPORT} and isinstance(error, asyncio.CancelledError):
        return Status.CANCELLED
    return interrupted(operation)
