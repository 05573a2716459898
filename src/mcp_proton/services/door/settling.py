"""Settling: whether an act on no messages (a folder made, a label renamed) happened is found out by looking, never by doing.

What is seen to be there was done. What is not there was not done once the server's own view has caught up; until then, and
where two names are there or none, nobody knows.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from mcp_proton.domain.caller import owner
from mcp_proton.domain.errors import MailError
from mcp_proton.domain.operation import Operation
from mcp_proton.domain.outcome import Record, Status
from mcp_proton.services.acting.looking import NOT_DONE
from mcp_proton.services.door.asked import caller_of, rebuilt
from mcp_proton.services.door.call import Call
from mcp_proton.services.door.registry import primitive
from mcp_proton.services.door.world import World

if TYPE_CHECKING:
    from mcp_proton.services.door.service import MailService

_log = logging.getLogger(__name__)
_OPEN = (Status.DELIVERY_UNKNOWN, Status.PARTIALLY_SUCCEEDED)


class Settling:
    """Looks at records without items."""

    def __init__(self, world: World, door: MailService) -> None:
        self._world = world
        self._door = door

    async def all(self) -> None:
        """Look at everything lately begun whose end is not known."""
        for record in await self._world.journal.recent(owner(), statuses=_OPEN):
            await self.one(record)

    async def one(self, record: Record) -> None:
        """Look at one; trouble with the server leaves it as it is."""
        operation = primitive(self._world.catalog.by_name[record.operation])
        if record.status not in (*_OPEN, Status.EXECUTING) or operation.happened is None or record.outline is None:
            return
        try:
            happened = await self._looked(operation, record.outline, record)
        except MailError as error:
            _log.info("whether an operation was done cannot be seen yet: %s", error.message)
            return
        if happened:
            await self._world.journal.advance(record.id, record.status, Status.SUCCEEDED)
        elif happened is False and self._is_old(record):
            await self._world.journal.advance(record.id, record.status, Status.FAILED, code=NOT_DONE)

    async def _looked(self, operation: Operation, outline: str, record: Record) -> bool | None:
        call = Call(self._world, caller_of(record, self._world), await self._world.policies.current(), self._door)
        assert operation.happened is not None
        return await operation.happened(rebuilt(operation, outline, ()), call)

    def _is_old(self, record: Record) -> bool:
        """Whether the server's own view is younger than the act, as far as that can be told."""
        if record.ended is None:
            return False
        age = (self._world.clock.now() - record.ended).total_seconds()
        return all(age >= self._world.accounts.backend(account).lag for account in record.accounts)
