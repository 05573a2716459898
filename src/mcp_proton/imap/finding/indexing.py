"""Date indexes of an account's mailboxes: built behind the first page, kept per UIDVALIDITY, extended by new UIDs only.

Building takes its windows one by one, each with a connection of its own turn, so a page never waits behind a walk.
"""

from __future__ import annotations

import asyncio
import logging
from bisect import bisect_right
from collections import OrderedDict
from typing import TYPE_CHECKING, Protocol

from mcp_proton.domain.errors import MailError
from mcp_proton.imap.finding import date_lines, windows
from mcp_proton.imap.finding.dates import DateIndex, seconds
from mcp_proton.imap.protocol.fetching import Items
from mcp_proton.imap.protocol.uids import UidSet

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager

    from mcp_proton.domain.mail import Mailbox
    from mcp_proton.imap.protocol.box import Box

WINDOW = 2_500
AT_ONCE = 4
"""windows asked for in one packet: the server reads the next one while we read the first"""
CATCH_UP = 5_000
"""new UIDs read on the spot; more are left to the build behind"""
SLACK = 50
"""messages that may be gone from the mailbox before the index is compared with it"""
MOST_MESSAGES = 4_000_000
DATES = Items(internaldate=True)

_log = logging.getLogger(__name__)


class DateIndexStore(Protocol):
    """Where indexes outlive the process. Losing one costs a walk, so neither method may raise."""

    async def load(self, account: str, tag: str, uidvalidity: int) -> bytes | None:
        """What was saved for this mailbox and UIDVALIDITY, or None."""
        ...

    async def save(self, account: str, tag: str, uidvalidity: int, octets: bytes) -> None:
        """Keep `octets` in the place of what was saved for this mailbox before."""
        ...


class DateIndexes:
    """All indexes of one account. `open_box` gives a turn on a mailbox."""

    def __init__(
        self,
        open_box: Callable[[Mailbox], AbstractAsyncContextManager[Box]],
        store: DateIndexStore | None = None,
    ) -> None:
        self._open_box = open_box
        self._store = store
        self._ready: OrderedDict[str, DateIndex] = OrderedDict()
        self._building: dict[str, tuple[int, asyncio.Task[None]]] = {}
        self._asked: set[tuple[str, int]] = set()

    async def current(self, mailbox: Mailbox, box: Box) -> DateIndex | None:
        """The index of an open mailbox, up to date; None while there is none yet."""
        index = await self._find(mailbox, box.uidvalidity)
        if index is None or (box.uidnext and box.uidnext - 1 - index.upper > CATCH_UP):
            return None
        await catch_up(index, box)
        self._ready.move_to_end(mailbox.tag)
        return index

    async def _find(self, mailbox: Mailbox, uidvalidity: int) -> DateIndex | None:
        index = self._ready.get(mailbox.tag)
        if index is not None and index.uidvalidity == uidvalidity:
            return index
        self._ready.pop(mailbox.tag, None)
        if self._store is None or (mailbox.tag, uidvalidity) in self._asked:
            return None
        self._asked.add((mailbox.tag, uidvalidity))
        saved = await self._store.load(mailbox.account, mailbox.tag, uidvalidity)
        index = None if saved is None else DateIndex.load(saved, uidvalidity)
        if index is not None:
            self._keep(mailbox.tag, index)
        return index

    def learn(self, mailbox: Mailbox, index: DateIndex) -> None:
        """Take an index that came as a by-product of something else."""
        self._keep(mailbox.tag, index)

    def begin(self, mailbox: Mailbox, uidvalidity: int) -> None:
        """Build the index behind what goes on, unless that is under way."""
        running = self._building.get(mailbox.tag)
        if running is not None and running[0] == uidvalidity and not running[1].done():
            return
        if running is not None:
            running[1].cancel()
        task = asyncio.create_task(self._build(mailbox, uidvalidity), name=f"dates of {mailbox.tag}")
        self._building[mailbox.tag] = (uidvalidity, task)

    async def wait(self, mailbox: Mailbox, uidvalidity: int, seconds_left: float) -> None:
        """Wait until the index is built, or as long as there is time. Building begins now if it had not."""
        self.begin(mailbox, uidvalidity)
        _, task = self._building[mailbox.tag]
        await asyncio.wait({task}, timeout=max(seconds_left, 0))

    async def aclose(self) -> None:
        """Stop building."""
        tasks = [task for _, task in self._building.values()]
        self._building.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _build(self, mailbox: Mailbox, uidvalidity: int) -> None:
        try:
            index = await self._walk(mailbox, uidvalidity)
        except MailError as error:
            # Nobody waits for this by itself: a list that does will say that the order is not ready.
            _log.info("the dates of a mailbox could not be read: %s", error.code)
            return
        self._keep(mailbox.tag, index)
        if self._store is not None:
            await self._store.save(mailbox.account, mailbox.tag, uidvalidity, index.dump())

    async def _walk(self, mailbox: Mailbox, uidvalidity: int) -> DateIndex:
        index = self._ready.get(mailbox.tag)
        if index is None or index.uidvalidity != uidvalidity:
            index = DateIndex(uidvalidity)
        async with self._open_box(mailbox) as box:
            _check(box, uidvalidity)
            uids = await box.search()
            uids = uids[bisect_right(uids, index.upper) :]
        if not uids:
            return index
        received = date_lines.Received(uids)
        spans = [windows.span(uids[start : start + WINDOW]) for start in range(0, len(uids), WINDOW)]
        for start in range(0, len(spans), AT_ONCE):
            async with self._open_box(mailbox) as box:
                _check(box, uidvalidity)
                await date_lines.fetch(box, spans[start : start + AT_ONCE], received)
        # Whatever the server says of a date, or does not: a message that is there has its place.
        # What came meanwhile may have been taken in by a page.
        known = bisect_right(uids, index.upper)
        if known:
            index.extend(uids[known:], received.dates[known:], uids[-1])
        else:
            index.extend(uids, received.dates, uids[-1])
        return index

    def _keep(self, tag: str, index: DateIndex) -> None:
        self._ready[tag] = index
        self._ready.move_to_end(tag)
        while len(self._ready) > 1 and sum(map(len, self._ready.values())) > MOST_MESSAGES:
            self._ready.popitem(last=False)


async def catch_up(index: DateIndex, box: Box) -> None:
    """Take in mail that came since, and let go of what is gone where that is more than a little."""
    if box.uidnext == 0 or box.uidnext - 1 > index.upper:
        rows = await box.fetch_all(UidSet.since(index.upper + 1), DATES)
        highest = max((row.uid for row in rows), default=index.upper)
        index.add(((seconds(row.internaldate), row.uid) for row in rows), max(highest, box.uidnext - 1))
    if len(index) - box.exists > SLACK:
        index.keep(await box.search())


def _check(box: Box, uidvalidity: int) -> None:
    if box.uidvalidity != uidvalidity:
        raise MailError("the mailbox was rebuilt while its dates were read", code="rebuilt")
