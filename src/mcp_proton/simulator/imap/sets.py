"""Sequence and UID sets against a session's list, with Bridge's treatment of what isn't there (facts 8)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

from mcp_proton.simulator.imap.answers import NO_SUCH_MESSAGE, Misuse, ProcessEnds

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcp_proton.simulator.imap.commands import Range
    from mcp_proton.simulator.imap.selection import Selection


def positions(selection: Selection, numbers: Iterable[Range], *, by_uid: bool) -> list[int]:
    """The list positions a set names, in the order asked, repeated ones repeated.

    UIDs that aren't there are passed over. A sequence number that isn't there makes the whole command BAD; one that
    wrapped to 0 ends the process.
    """
    found: list[int] = []
    for part in numbers:
        found += _uid_positions(selection.uids, part) if by_uid else _number_positions(len(selection.uids), part)
    return found


def _uid_positions(uids: list[int], part: Range) -> range:
    if not uids:
        return range(0)
    ends = [uids[-1] if end is None else end for end in (part.first, part.last)]
    if None in (part.first, part.last) and max(ends) > uids[-1]:
        return range(0)
    return range(bisect_left(uids, min(ends)), bisect_right(uids, max(ends)))


def _number_positions(count: int, part: Range) -> range:
    if 0 in (part.first, part.last):
        raise ProcessEnds
    ends = [count if end is None else end for end in (part.first, part.last)]
    if min(ends) < 1 or max(ends) > count:
        raise Misuse(NO_SUCH_MESSAGE)
    return range(min(ends) - 1, max(ends))


def compact(numbers: Iterable[int]) -> str:
    """Numbers as a set, runs of neighbours as ranges: `1:3,5`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(str(first) if first == last else f"{first}:{last}" for first, last in runs)
