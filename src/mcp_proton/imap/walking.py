"""Reading the headers of a mailbox into its book, newest first, until enough is known or the time is up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_proton.imap.fetching import Items
from mcp_proton.imap.uids import UidSet

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence

    from mcp_proton.imap.box import Box
    from mcp_proton.imap.rows import FetchRow
    from mcp_proton.imap.summaries import Block, Book, Summary

FIRST, LARGEST = 128, 2_048
DENSE = 2
"""a window of UIDs is asked for as one range while at most this many times as many UIDs lie in it"""
HEADERS = Items(internaldate=True, size=True, envelope=True)


async def walk(
    box: Box, book: Book, plan: Iterable[Sequence[int]], summarise: Callable[[FetchRow], Summary]
) -> AsyncIterator[tuple[Sequence[int], list[Block]]]:
    """Read a plan of windows of UIDs into `book`; after each, yield the window and the blocks that changed."""
    for window in plan:
        asked = _asked(window)
        async with box.fetch(asked, HEADERS) as rows:
            summaries = [summarise(row) async for row in rows]
        yield window, book.add(summaries, asked if not asked.exact else UidSet.of(window))


def _asked(window: Sequence[int]) -> UidSet:
    """The window as a set of ranges; as one range where little else lies between its ends."""
    lowest, highest = min(window), max(window)
    if highest - lowest < DENSE * len(window):
        return UidSet.window(lowest, highest)
    return UidSet(UidSet.of(window).ranges)


def growing(uids: Sequence[int]) -> Iterator[Sequence[int]]:
    """Windows in the order given: small ones first, for early hits, then larger."""
    size, start = FIRST, 0
    while start < len(uids):
        yield uids[start : start + size]
        start += size
        size = min(size * 2, LARGEST)


def growing_from_both_ends(uids: Sequence[int]) -> Iterator[Sequence[int]]:
    """Windows of ascending UIDs, the highest and the lowest in turns, small ones first."""
    low, high, size = 0, len(uids), FIRST
    while low < high:
        start = max(low, high - size)
        yield uids[start:high]
        high = start
        stop = min(high, low + size)
        if low < stop:
            yield uids[low:stop]
        low, size = stop, min(size * 2, LARGEST)
