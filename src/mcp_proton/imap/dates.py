"""DateIndex: when each message of one mailbox was received, and so which is the newest. Twelve bytes a message.

UID order is no date order: a freshly synced Bridge gives its newest message the lowest UID, and imported or restored
mail gets the highest. Dates never change for a UID, so an index is only ever extended, and thrown away when the
mailbox is rebuilt. A message without a usable date counts as received at the beginning of time.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator
    from datetime import datetime

LATEST = 0xFFFF_FFFF

Place: TypeAlias = tuple[int, int]
"""Seconds since 1970 and UID: where a message stands in the order."""


def seconds(moment: datetime | None) -> int:
    """A date as the index keeps it: whole seconds since 1970 in 32 bits, 0 where there is none."""
    return 0 if moment is None else min(max(int(moment.timestamp()), 0), LATEST)


class DateIndex:
    """The dates of the messages of one UIDVALIDITY. `upper`: all UIDs up to this one have been asked for."""

    def __init__(self, uidvalidity: int) -> None:
        self.uidvalidity = uidvalidity
        self.upper = 0
        self.uids = array("I")  # ascending
        self.dates = array("I")
        self._order: array[int] | None = None  # positions, oldest first; made when asked for
        self._latest: tuple[int, int, array[int]] | None = None  # what `between` gave last

    def __len__(self) -> int:
        return len(self.uids)

    def __contains__(self, uid: int) -> bool:
        place = bisect_left(self.uids, uid)
        return place < len(self.uids) and self.uids[place] == uid

    def date_of(self, uid: int) -> int | None:
        """Seconds since 1970, or None for a UID that is not in the index."""
        place = bisect_left(self.uids, uid)
        return self.dates[place] if place < len(self.uids) and self.uids[place] == uid else None

    def add(self, pairs: Iterable[Place], upper: int) -> None:
        """Take in (date, UID) pairs, in any order; from now on all UIDs up to `upper` count as known."""
        fresh = sorted((uid, date) for date, uid in pairs)
        self.upper = max(self.upper, upper)
        if not fresh:
            return
        if self.uids and fresh[0][0] <= self.uids[-1]:
            merged = dict(zip(self.uids, self.dates, strict=True)) | dict(fresh)
            fresh = sorted(merged.items())
            self.uids, self.dates = array("I"), array("I")
        self.uids.extend(uid for uid, _ in fresh)
        self.dates.extend(date for _, date in fresh)
        self._order = None

    def keep(self, existing: Container[int]) -> None:
        """Forget every UID that is not among those that still exist."""
        kept = [place for place, uid in enumerate(self.uids) if uid in existing]
        if len(kept) < len(self.uids):
            self.uids = array("I", [self.uids[place] for place in kept])
            self.dates = array("I", [self.dates[place] for place in kept])
            self._order = None

    def forget(self, uids: Iterable[int]) -> None:
        """Leave these out from now on: they were expunged."""
        gone = set(uids)
        if gone:
            kept = [place for place, uid in enumerate(self.uids) if uid not in gone]
            self.uids = array("I", [self.uids[place] for place in kept])
            self.dates = array("I", [self.dates[place] for place in kept])
            self._order = None

    def newest(self, before: Place | None = None) -> Iterator[Place]:
        """Yield places from the newest to the oldest, only those earlier than `before`."""
        order = self._sorted()
        start = len(order) if before is None else bisect_left(order, before, key=self._place)
        for position in range(start - 1, -1, -1):
            yield self._place(order[position])

    def oldest(self, after: Place | None = None) -> Iterator[Place]:
        """Yield places from the oldest to the newest, only those later than `after`."""
        order = self._sorted()
        start = 0 if after is None else bisect_left(order, (after[0], after[1] + 1), key=self._place)
        for position in range(start, len(order)):
            yield self._place(order[position])

    def between(self, since: int, before: int) -> array[int]:
        """Return the UIDs of what was received from `since` on and before `before`, the oldest first.

        The same array again while nothing changed: a walk asks for it page by page.
        """
        order = self._sorted()
        if self._latest is None or self._latest[:2] != (since, before):
            start, stop = (bisect_left(order, (date, 0), key=self._place) for date in (since, before))
            self._latest = since, before, array("I", [self.uids[position] for position in order[start:stop]])
        return self._latest[2]

    def _place(self, position: int) -> Place:
        return self.dates[position], self.uids[position]

    def _sorted(self) -> array[int]:
        if self._order is None:
            self._latest = None
            # Positions ascend with UIDs and the sort is stable, so equal dates come in the order of their UIDs.
            self._order = array("I", sorted(range(len(self.uids)), key=self.dates.__getitem__))
        return self._order

    def dump(self) -> bytes:
        """The index as bytes, the same on every machine."""
        head = array("I", (self.uidvalidity, self.upper, len(self.uids)))
        whole = head + self.uids + self.dates
        if sys.byteorder == "big":
            whole.byteswap()
        return whole.tobytes()

    @classmethod
    def load(cls, octets: bytes, uidvalidity: int) -> DateIndex | None:
        """The inverse of `dump`; None unless it is an index of this UIDVALIDITY, whole and in order."""
        if len(octets) % 4 or len(octets) < 12:
            return None
        whole = array("I")
        whole.frombytes(octets)
        if sys.byteorder == "big":
            whole.byteswap()
        kept, upper, count = whole[:3]
        uids, dates = whole[3 : 3 + count], whole[3 + count :]
        ascending = all(low < high for low, high in pairwise(uids))
        if kept != uidvalidity or len(dates) != count or not ascending or (count and uids[-1] > upper):
            return None
        index = cls(uidvalidity)
        index.upper, index.uids, index.dates = upper, uids, dates
        return index
