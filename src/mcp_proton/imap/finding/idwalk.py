"""Ids of a mailbox in the order they were received (N-4): by the index of dates, compared with the mailbox as it is now.

The state is the UIDVALIDITY and a digest of the UIDs walked over, so that neither a message that came nor one that was
expunged can go unnoticed between two pages.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from mcp_proton.domain.errors import NotSynced
from mcp_proton.domain.walk import Interval, Stretch
from mcp_proton.imap import keys
from mcp_proton.imap.finding.dates import LATEST

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager
    from datetime import datetime

    from mcp_proton.domain.mail import Mailbox
    from mcp_proton.imap.finding.dates import DateIndex
    from mcp_proton.imap.finding.indexing import DateIndexes
    from mcp_proton.imap.protocol.box import Box

PATIENCE = 20.0
"""seconds to wait for the dates of a mailbox that was never looked at"""


class IdWalk:
    """One account's walks."""

    def __init__(self, open_box: Callable[[Mailbox], AbstractAsyncContextManager[Box]], indexes: DateIndexes) -> None:
        self._open_box, self._indexes = open_box, indexes

    async def ids(self, mailbox: Mailbox, within: Interval, position: int, limit: int) -> Stretch:
        """See `MailBackend.ids`."""
        index, uidvalidity = await self._index(mailbox)
        places = index.between(_second(within.since, 0), _second(within.until, LATEST + 1))
        chosen = places[position : position + limit]
        name = keys.handles(mailbox, uidvalidity)
        handles = [name(uid) for uid in index.uids_at(chosen)]
        state = f"{keys.base36(uidvalidity)}-{index.digest(places)}"
        return Stretch(handles, len(places), state, position + len(chosen) < len(places))

    async def _index(self, mailbox: Mailbox) -> tuple[DateIndex, int]:
        """The index as the mailbox is now, for UIDs of this UIDVALIDITY. Good until something else is awaited."""
        deadline = asyncio.get_running_loop().time() + PATIENCE
        for last in (False, True):
            async with self._open_box(mailbox) as box:
                index = await self._indexes.current(mailbox, box)
                if index is not None:
                    if len(index) != box.exists:
                        index.keep(await box.search())
                    return index, box.uidvalidity
                uidvalidity = box.uidvalidity
            if not last:
                await self._indexes.wait(mailbox, uidvalidity, deadline - asyncio.get_running_loop().time())
        raise NotSynced("the dates of all messages are still being read", next="try again in a minute")


def _second(moment: datetime | None, otherwise: int) -> int:
    """The first whole second that is not before a moment: servers keep whole seconds."""
    if moment is None:
        return otherwise
    whole = int(moment.timestamp())
    return min(max(whole if moment.timestamp() == whole else whole + 1, 0), LATEST + 1)
