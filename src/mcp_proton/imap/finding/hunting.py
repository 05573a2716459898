"""One mailbox searched: candidates judged by their headers, from memory, and by their content where headers do not tell.

Headers are read newest first until the page is full, content is looked into in the order of the page. Whatever the time
allows is reported with what it covers, and nothing that was decided is decided again by the next page (N-3).
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left, bisect_right
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mcp_proton.domain.ports import Order
from mcp_proton.imap.finding import walking, windows
from mcp_proton.imap.finding.dates import seconds
from mcp_proton.imap.finding.judging import bits
from mcp_proton.imap.finding.listing import DATES
from mcp_proton.imap.finding.targets import Findings, Hit, rank
from mcp_proton.imap.protocol.uids import UidSet

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from mcp_proton.imap.finding.contents import Contents
    from mcp_proton.imap.finding.dates import DateIndex, Place
    from mcp_proton.imap.finding.headlines import HeaderReader
    from mcp_proton.imap.finding.judging import Judge
    from mcp_proton.imap.finding.summaries import Block, Book
    from mcp_proton.imap.finding.targets import Target
    from mcp_proton.imap.protocol.box import Box

OUT_OF_TIME = "the time for this call was used up; go on with the cursor"
HEADERS_SHARE = 0.6
"""of the time, at most, goes to headers where bodies have to be read as well"""
FIRST_LOOK, LARGEST_LOOK = 32, 128
"""messages whose content is looked into at once"""


@dataclass(frozen=True, slots=True)
class Wanted:
    """How much is wanted, in which order, and until when (by the loop's clock)."""

    order: Order
    limit: int
    begun: float
    deadline: float

    def share(self, part: float) -> float:
        """The moment when a part of the time is used up."""
        return self.begun + (self.deadline - self.begun) * part


@dataclass(slots=True)
class Hunt:
    """One search of one open mailbox. `index` only makes it stop earlier; without one the order is provisional until
    all candidates are known."""

    target: Target
    box: Box
    book: Book
    index: DateIndex | None
    judge: Judge
    contents: Contents
    reader: HeaderReader
    wanted: Wanted
    _answers: dict[int, bool | None] = field(default_factory=dict)
    """UIDs that may match: True where headers decided it, None where they left it open"""
    _ordered: list[Place] = field(default_factory=list)
    """their places, in the order wanted, behind what the pages before showed"""
    _dates: dict[int, int] = field(default_factory=dict)
    _cut_short: bool = False

    async def run(self, candidates: Sequence[int], unsearched: UidSet = windows.NOTHING) -> Findings:
        """Search among `candidates` (ascending UIDs). `unsearched`: UIDs that may yet become candidates."""
        target = self.target
        if unsearched:
            self.index = None  # what is not searched yet can stand anywhere in the order
        left = candidates[: bisect_right(candidates, target.upper)]
        if target.done:
            left = [uid for uid in left if uid not in target.done]
        self._take(self.book.blocks, left)
        unknown = self._in_reading_order(self._ahead(self.book.unknown(left)))
        unread = await self._read_headers(unknown, left)
        found = Findings(target, exact=not unsearched and (self.index is not None or not unread))
        if unread and self.index is not None:
            found.frontier = self._last_read(unknown, unread)
        elif not found.exact and target.last is not None:
            # The page before was exact, and this one cannot be yet: nothing is shown rather than something twice.
            found.exact, found.frontier, self._answers, self._cut_short = True, target.last, {}, True
        await self._put_in_order()
        undecided = await self._look_inside(found)
        self._report(found, left, windows.union(unsearched, UidSet.of(unread)), UidSet.of(undecided))
        return found

    def _report(self, found: Findings, left: Sequence[int], unread: UidSet, undecided: UidSet) -> None:
        """Say what was looked at. A full page leaves messages undecided too, but none that belong on it."""
        open_ = windows.union(unread, undecided) if self._cut_short else unread
        if not found.exact:
            found.looked_at = windows.without(windows.without(UidSet.of(left), unread), undecided)
        found.seen = max(self.target.exists - min(len(open_), len(left)), 0)
        if self.target.upper:
            found.covered = windows.without(UidSet.window(1, self.target.upper), open_)
        found.why = OUT_OF_TIME if self._cut_short else None

    @property
    def _reads_dates(self) -> bool:
        """Whether dates come with the headers: they cost a server more than they take, and mostly a few will do."""
        return self.index is None and (self.contents.reads_bodies or self.contents.reads_dates)

    def _rank(self, place: Place) -> Place:
        return rank(place, self.wanted.order)

    def _place(self, uid: int) -> Place:
        return (self.index.date_of(uid) or 0 if self.index is not None else 0), uid

    def _ahead(self, uids: list[int]) -> list[int]:
        """Those behind what the pages before showed, as far as the index tells."""
        if self.target.last is None or self.index is None:
            return uids
        last = self._rank(self.target.last)
        return [uid for uid in uids if self._rank(self._place(uid)) > last]

    def _take(self, blocks: Sequence[Block], among: Sequence[int]) -> None:
        for block in blocks:
            certain, possible = self.judge.of(block)
            for row in bits(possible):
                uid = block.uids[row]
                if _holds(among, uid):
                    self._answers[uid] = True if certain >> row & 1 else None
                    if block.dates[row]:
                        self._dates[uid] = block.dates[row]

    async def _put_in_order(self) -> None:
        """Find out when candidates were received, where neither index nor book knows, and sort them."""
        if self.index is not None:
            self._dates |= {uid: self.index.date_of(uid) or 0 for uid in self._answers}
        undated = [uid for uid in self._answers if uid not in self._dates]
        if undated:
            async with self.box.fetch(undated, DATES) as rows:
                fetched = {row.uid: seconds(row.internaldate) async for row in rows}
            self.book.learn_dates(fetched)
            self._dates |= fetched
        places = ((self._dates[uid], uid) for uid in self._answers if uid in self._dates)
        last = None if self.target.last is None else self._rank(self.target.last)
        self._ordered = sorted((place for place in places if last is None or self._rank(place) > last), key=self._rank)

    # --- headers ---------------------------------------------------------------------------------------------------

    def _in_reading_order(self, unknown: list[int]) -> list[int]:
        if self.index is not None:
            unknown.sort(key=lambda uid: self._rank(self._place(uid)))
        return unknown

    async def _read_headers(self, unknown: list[int], among: Sequence[int]) -> set[int]:
        """Read what the book lacks until the page is full or the time is up; return what stays unread."""
        unread = set(unknown)
        if not unknown:
            return unread
        plan = walking.growing(unknown) if self.index is not None else walking.growing_from_both_ends(unknown)
        until = self.wanted.share(HEADERS_SHARE) if self.contents.reads_bodies else self.wanted.deadline
        async with aclosing(walking.walk(self.box, self.book, plan, self.reader, dated=self._reads_dates)) as walked:
            both_sides = True
            async for window, blocks in walked:
                both_sides = not both_sides  # without an index windows come from either end in turns
                unread.difference_update(window)
                self._take(blocks, among)
                self._cut_short = bool(unread) and now() >= until
                if self._cut_short or (unread and (both_sides or self.index is not None) and self._is_full(window)):
                    break
        return unread

    def _is_full(self, window: Sequence[int]) -> bool:
        """Whether enough is certain; with an index only what nothing unread can come before counts."""
        if self.index is None:
            return self.target.last is None and sum(map(bool, self._answers.values())) > self.wanted.limit
        edge = self._rank(self._place(window[-1]))
        certain = (uid for uid, sure in self._answers.items() if sure)
        return sum(self._rank(self._place(uid)) <= edge for uid in certain) > self.wanted.limit

    def _last_read(self, unknown: Sequence[int], unread: Collection[int]) -> Place:
        """The place of the last message read in order: up to there everything is known."""
        read = len(unknown) - len(unread)
        if read:
            return self._place(unknown[read - 1])
        return self._just_before(self._place(unknown[0]))

    # --- content ---------------------------------------------------------------------------------------------------

    async def _look_inside(self, found: Findings) -> list[int]:
        """Decide in order until the page is full or the time is up; return what may match and stays undecided."""
        edge = None if found.frontier is None else self._rank(found.frontier)
        ordered = self._ordered
        at, size = 0, FIRST_LOOK
        while at < len(ordered) and len(found.hits) <= self.wanted.limit:
            batch = ordered[at : at + size]
            if edge is not None and self._rank(batch[0]) > edge:
                break
            if at and now() >= self.wanted.deadline and any(self._answers[uid] is None for _, uid in batch):
                self._cut_short = True
                if found.exact:
                    found.frontier = ordered[at - 1]
                break
            await self._decide(batch)
            found.hits += [Hit(place) for place in batch if self._answers[place[1]]]
            at, size = at + size, min(size * 2, LARGEST_LOOK)
        return [uid for _, uid in ordered[at:]]

    def _just_before(self, place: Place) -> Place:
        date, uid = place
        return (date, uid + 1) if self.wanted.order is Order.NEWEST else (date, uid - 1)

    async def _decide(self, batch: Sequence[Place]) -> None:
        undecided = [uid for _, uid in batch if self._answers[uid] is None]
        if undecided:
            matching = await self.contents.matching(self.box, undecided)
            self._answers |= {uid: uid in matching for uid in undecided}


def _holds(ascending: Sequence[int], uid: int) -> bool:
    place = bisect_left(ascending, uid)
    return place < len(ascending) and ascending[place] == uid


def now() -> float:
    """The loop's clock."""
    return asyncio.get_running_loop().time()
