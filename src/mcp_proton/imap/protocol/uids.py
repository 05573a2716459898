"""Sets of UIDs: compressed, checked, cut to command length. The only numbers this client names messages by.

INVARIANT: every bound is within 1 … 2^32-1. (A *message number* of 2^32 ends the whole Bridge process, and larger
ones wrap; this package has no way to write message numbers at all.)
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcp_proton.domain.errors import Invalid
from mcp_proton.imap.errors import LimitExceeded, ProtocolViolation

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LARGEST = 0xFFFF_FFFF
COMMAND_ROOM = 7_000
"""characters of a set in one command: servers promise 8,192 for a line (RFC 9051 §7.1.1 advice, RFC 7162 §4)"""
_RANGE = re.compile(rb"([0-9]{1,10})(?::([0-9]{1,10}|\*))?\Z")


@dataclass(frozen=True, slots=True)
class UidSet:
    """Ascending ranges that don't touch. `exact`: the UIDs were named one by one, so a missing one means something."""

    ranges: tuple[tuple[int, int], ...]
    exact: bool = False

    @classmethod
    def of(cls, uids: Iterable[int]) -> UidSet:
        """The set of these UIDs, in any order. Raises Invalid for a number that is no UID."""
        ordered = sorted(set(uids))
        if ordered and (ordered[0] < 1 or ordered[-1] > LARGEST):
            raise Invalid("a UID is a number from 1 to 4294967295")
        ranges: list[tuple[int, int]] = []
        for uid in ordered:
            if ranges and ranges[-1][1] == uid - 1:
                ranges[-1] = (ranges[-1][0], uid)
            else:
                ranges.append((uid, uid))
        return cls(tuple(ranges), exact=True)

    @classmethod
    def window(cls, lowest: int, highest: int) -> UidSet:
        """All UIDs from `lowest` to `highest`, whether they exist or not."""
        if not 1 <= lowest <= highest <= LARGEST:
            raise Invalid("a window of UIDs goes from 1 to 4294967295, the lower one first")
        return cls(((lowest, highest),))

    @classmethod
    def since(cls, lowest: int = 1) -> UidSet:
        """All UIDs from `lowest` on. (Servers add the last message if it is below; rows outside are dropped.)"""
        return cls.window(lowest, LARGEST)

    @classmethod
    def parse(cls, text: bytes) -> UidSet:
        """A set as a server writes it (COPYUID, ESEARCH). Raises ProtocolViolation for anything else."""
        ranges: list[tuple[int, int]] = []
        for piece in text.split(b","):
            found = _RANGE.match(piece)
            if found is None:
                raise ProtocolViolation("the mail server sent a set of UIDs that is none")
            first = int(found[1])
            last = first if found[2] is None else LARGEST if found[2] == b"*" else int(found[2])
            low, high = min(first, last), max(first, last)
            if not 1 <= low <= high <= LARGEST:
                raise ProtocolViolation("the mail server sent a UID that is none")
            ranges.append((low, high))
        return cls(tuple(ranges), exact=True)

    def __contains__(self, uid: int) -> bool:
        at = bisect_right(self.ranges, (uid, LARGEST + 1)) - 1
        return at >= 0 and self.ranges[at][0] <= uid <= self.ranges[at][1]

    def __len__(self) -> int:
        return sum(high - low + 1 for low, high in self.ranges)

    def __bool__(self) -> bool:
        return bool(self.ranges)

    def __iter__(self) -> Iterator[int]:
        for low, high in self.ranges:
            yield from range(low, high + 1)

    def listed(self, at_most: int = 5_000_000) -> array[int]:
        """The UIDs one by one, in the order written; LimitExceeded above `at_most`."""
        if len(self) > at_most:
            raise LimitExceeded("the mail server named more messages than can be held")
        numbers = array("I")
        for low, high in self.ranges:
            numbers.extend(range(low, high + 1))
        return numbers

    def text(self) -> bytes:
        """As written in a command: `1:3,7,9:*`."""
        return b",".join(_range_text(low, high) for low, high in self.ranges)

    def split(self, room: int = COMMAND_ROOM) -> list[UidSet]:
        """The same set as several, each at most `room` characters long in a command."""
        sets: list[UidSet] = []
        taken: list[tuple[int, int]] = []
        length = 0
        for low, high in self.ranges:
            needs = len(_range_text(low, high)) + 1
            if taken and length + needs > room:
                sets.append(UidSet(tuple(taken), self.exact))
                taken, length = [], 0
            taken.append((low, high))
            length += needs
        if taken:
            sets.append(UidSet(tuple(taken), self.exact))
        return sets


def _range_text(low: int, high: int) -> bytes:
    if low == high:
        return b"%d" % low
    return b"%d:*" % low if high == LARGEST else b"%d:%d" % (low, high)
