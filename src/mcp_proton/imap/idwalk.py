"""Ids of a mailbox in the order they were received (N-4): by the index of dates, compared with the mailbox as it is now.

The state is the UIDVALIDITY and a digest of the UIDs walked over, so that neither a message that came nor one that was
expunged can go unnoticed between two pages.
"""

from __future__ import annotations

import asyncio
import hashlib
from typing import TYPE_CHECKING

from mcp_proton.domain.errors import NotSynced
from mcp_proton.domain.walk import Interval, Stretch
from mcp_proton.imap import keys
from mcp_proton.imap.dates import LATEST

if TYPE_CHECKING:
    from array import array
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager
    from datetime import datetime

    from mcp_proton.domain.mail import Mailbox
    from mcp_proton.imap.box import Box
    from mcp_proton.imap.indexing import DateIndexes

PATIENCE = 20.0
"""seconds to wait for the dates of a mailbox that was never looked at"""


class IdWalk:
    """One account's walks."""

    def __init__(self, open_box: Callable[[Mailbox], AbstractAsyncContextManager[Box]], indexes: DateIndexes) -> None:
        self._open_box, self._indexes = open_box, indexes
        self._digested: tuple[array[int], str] | None = None

    async def ids(self, mailbox: Mailbox, within: Interval, position: int, limit: int) -> Stretch:
        """See `MailBackend.ids`."""
        uids, uidvalidity = await self._ordered(mailbox, within)
        chosen = uids[position : position + limit]
        digest = self._digest(uids)
        name = keys.handles(mailbox, uidvalidity)
        more = position + len(chosen) < len(uids)
        return Stretch([name(uid) for uid in chosen], len(uids), f"{keys.base36(uidvalidity)}-{digest}", more)

    def _digest(self, uids: array[int]) -> str:
        """The index gives the same array again while nothing changed."""
        if self._digested is None or self._digested[0] is not uids:
            self._digested = uids, hashlib.sha256(uids.tobytes()).hexdigest()[:24]
        return self._digested[1]

    async def _ordered(self, mailbox: Mailbox, within: Interval) -> tuple[array[int], int]:
        deadline = asyncio.get_running_loop().time() + PATIENCE
        for last in (False, True):
            async with self._open_box(mailbox) as box:
                index = await self._indexes.current(mailbox, box)
                if index is not None:
                    if len(index) != box.exists:
                        index.keep(set(await box.search()))
                    return index.between(_second(within.since, 0), _second(within.until, LATEST + 1)), box.uidvalidity
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
