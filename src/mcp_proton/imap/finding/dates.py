"""DateIndex: when each message of one mailbox was received, and so which is the newest. Eight octets a message, or twelve.

UID order is no date order: a freshly synced Bridge gives its newest message the lowest UID, and imported or restored
mail gets the highest. Dates never change for a UID, so an index is only ever extended, and thrown away when the
mailbox is rebuilt. A message without a usable date counts as received at the beginning of time.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left, bisect_right
from hashlib import sha256
from heapq import merge
from itertools import islice
from operator import le, lt
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime

LATEST = 0xFFFF_FFFF
PIECE = 4_096
"""messages that are numbers of Python at one time: arrays hold the rest"""

Place: TypeAlias = tuple[int, int]
"""Seconds since 1970 and UID: where a message stands in the order."""


def seconds(moment: datetime | None) -> int:
    """A date as the index keeps it: whole seconds since 1970 in 32 bits, 0 where there is none."""
    return 0 if moment is None else min(max(int(moment.timestamp()), 0), LATEST)


class DateIndex:
    """The dates of the messages of one UIDVALIDITY. `upper`: all UIDs up to this one have been asked for.

    A message takes 8 octets, and 4 more where the order by date is not that of the UIDs.
    """

    def __init__(self, uidvalidity: int) -> None:
        self.uidvalidity = uidvalidity
        self.upper = 0
        self.uids = array("I")  # ascending; replaced, never changed, since searches go on with what they took
        self.dates = array("I")
        self._order: Sequence[int] | None = None  # positions, oldest first; made when asked for
        self._digest: tuple[range, str] | None = None  # what `digest` gave last

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
        fresh = {uid: date for date, uid in pairs}
        added = sorted(uid for uid in fresh if uid not in self)
        if len(added) < len(fresh):
            self.dates = self.dates[:]
            for uid in fresh.keys() - added:
                self.dates[bisect_left(self.uids, uid)] = fresh[uid]
            self._reordered()
        later = bisect_right(added, self.uids[-1]) if self.uids else 0
        self._insert(added[:later], fresh)
        rest = added[later:]
        self.extend(array("I", rest), array("I", [fresh[uid] for uid in rest]), upper)

    def extend(self, uids: array[int], dates: array[int], upper: int) -> None:
        """The same for ascending UIDs that are all above those in the index. It keeps the arrays."""
        self.upper = max(self.upper, upper)
        if uids:
            self.uids, self.dates = (self.uids + uids, self.dates + dates) if self.uids else (uids, dates)
            self._reordered()

    def _insert(self, uids: Sequence[int], dates: dict[int, int]) -> None:
        """UIDs that turned up below the highest, which no honest server has."""
        if uids:
            places = merge(zip(self.uids, self.dates, strict=True), ((uid, dates[uid]) for uid in uids))
            whole = array("Q", (uid << 32 | date for uid, date in places))
            self.uids, self.dates = (
                array("I", (one >> 32 for one in whole)),
                array("I", (one & LATEST for one in whole)),
            )
            self._reordered()

    def keep(self, existing: array[int]) -> None:
        """Forget every UID that is not among those that still exist, which ascend."""
        uids, dates = array("I"), array("I")
        for start in range(0, len(self.uids), PIECE):
            piece = self.uids[start : start + PIECE]
            there = set(existing[bisect_left(existing, piece[0]) : bisect_right(existing, piece[-1])])
            kept = [place for place, uid in enumerate(piece, start) if uid in there]
            uids.extend(map(self.uids.__getitem__, kept))
            dates.extend(map(self.dates.__getitem__, kept))
        if len(uids) < len(self.uids):
            self.uids, self.dates = uids, dates
            self._reordered()

    def forget(self, uids: Iterable[int]) -> None:
        """Leave these out from now on: they were expunged."""
        gone = [uid for uid in set(uids) if uid in self]
        if gone:
            self.uids, self.dates = self.uids[:], self.dates[:]
            for uid in gone:
                place = bisect_left(self.uids, uid)
                del self.uids[place], self.dates[place]
            self._reordered()

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

    def between(self, since: int, before: int) -> range:
        """Return which places in the order hold what was received from `since` on and before `before`."""
        order, date_at = self._sorted(), self.dates.__getitem__
        return range(bisect_left(order, since, key=date_at), bisect_left(order, before, key=date_at))

    def uids_at(self, places: range) -> array[int]:
        """Return the UIDs at some places in the order, the oldest first."""
        return array("I", map(self.uids.__getitem__, self._sorted()[places.start : places.stop]))

    def digest(self, places: range) -> str:
        """Return 96 bits of a hash of the UIDs at these places: another text whenever they are others."""
        if self._digest is None or self._digest[0] != places:
            hashed = sha256()
            for start in range(places.start, places.stop, PIECE):
                hashed.update(self.uids_at(range(start, min(start + PIECE, places.stop))).tobytes())
            self._digest = places, hashed.hexdigest()[:24]
        return self._digest[1]

    def _place(self, position: int) -> Place:
        return self.dates[position], self.uids[position]

    def _reordered(self) -> None:
        self._order = self._digest = None

    def _sorted(self) -> Sequence[int]:
        if self._order is None:
            self._order = _by_date(self.dates)
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
        ascending = all(map(lt, uids, islice(uids, 1, None)))
        if kept != uidvalidity or len(dates) != count or not ascending or (count and uids[-1] > upper):
            return None
        index = cls(uidvalidity)
        index.upper, index.uids, index.dates = upper, uids, dates
        return index


def _by_date(dates: array[int]) -> Sequence[int]:
    """The positions of dates, the earliest first, equal ones as they stand. Mostly they ascend: that takes no memory."""
    if all(map(le, dates, islice(dates, 1, None))):
        return range(len(dates))
    pieces = (enumerate(dates[start : start + PIECE], start) for start in range(0, len(dates), PIECE))
    ordered = [array("Q", sorted(date << 32 | position for position, date in piece)) for piece in pieces]
    return array("I", map(LATEST.__and__, merge(*ordered)))
