"""Which UIDs to ask for next: windows over sorted UIDs, and the compact spelling of a set in a cursor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_proton.domain.errors import Invalid
from mcp_proton.imap.keys import base36
from mcp_proton.imap.protocol.uids import LARGEST, UidSet

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

MOST_RANGES = 2_000
NOTHING = UidSet(())


def both_ends(uids: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    """Windows of sorted UIDs, the highest and the lowest in turns until they meet: newest mail may lie at either end."""
    low, high = 0, len(uids)
    while low < high:
        start = max(low, high - size)
        yield uids[start:high]
        high = start
        stop = min(high, low + size)
        if low < stop:
            yield uids[low:stop]
        low = stop


def span(uids: Sequence[int]) -> UidSet:
    """The range a window of sorted UIDs covers, gaps included: the shortest way to ask for all of it."""
    return UidSet.window(uids[0], uids[-1])


def union(*sets: UidSet) -> UidSet:
    """All UIDs that are in one of these."""
    ordered = sorted(one for each in sets for one in each.ranges)
    joined: list[tuple[int, int]] = []
    for low, high in ordered:
        if joined and low <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(joined[-1][1], high))
        else:
            joined.append((low, high))
    return UidSet(tuple(joined))


def without(uids: UidSet, some: UidSet) -> UidSet:
    """The set but for some."""
    ranges: list[tuple[int, int]] = []
    out = list(some.ranges)
    at = 0
    for low, high in uids.ranges:
        rest = low
        while at < len(out) and out[at][1] < rest:
            at += 1
        here = at
        while here < len(out) and out[here][0] <= high:
            if rest < out[here][0]:
                ranges.append((rest, out[here][0] - 1))
            rest = out[here][1] + 1
            here += 1
        if rest <= high:
            ranges.append((rest, high))
    return UidSet(tuple(ranges))


def compact(uids: UidSet) -> str:
    """Short text without blanks or commas: `low` or `low-more` in base 36, joined by dots."""
    return ".".join(base36(low) + (f"-{base36(high - low)}" if high > low else "") for low, high in uids.ranges)


def read_compact(text: str) -> UidSet:
    """The inverse of `compact`. Raises `Invalid` (`invalid_cursor`) for anything that it could not have made."""
    ranges = tuple(_range(piece) for piece in text.split(".")) if text else ()
    if len(ranges) > MOST_RANGES:
        raise no_cursor()
    return union(UidSet(ranges))


def _range(piece: str) -> tuple[int, int]:
    low, dash, more = piece.partition("-")
    first = number36(low)
    last = first + (number36(more) if dash else 0)
    if not 1 <= first <= last <= LARGEST:
        raise no_cursor()
    return first, last


def number36(text: str) -> int:
    """A number as `base36` wrote it. Raises `Invalid` (`invalid_cursor`)."""
    if not (text.isascii() and text.isalnum() and len(text) <= 12):
        raise no_cursor()
    return int(text, 36)


def no_cursor() -> Invalid:
    """The error for a continuation that none of our answers held."""
    return Invalid("this is not a cursor", code="invalid_cursor", next="list again from the start")


def missing_from(asked: Iterable[int], seen: Iterable[int]) -> list[int]:
    """Those asked for that were not seen, in order."""
    there = set(seen)
    return [uid for uid in asked if uid not in there]
