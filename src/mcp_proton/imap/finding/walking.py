"""Reading the headers of a mailbox into its book, newest first, until enough is known or the time is up."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from mcp_proton.imap.finding.headlines import DatedHeaderLines, HeaderLines
from mcp_proton.imap.protocol.uids import UidSet

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence

    from mcp_proton.imap.finding.headlines import Columns, HeaderReader
    from mcp_proton.imap.finding.summaries import Block, Book
    from mcp_proton.imap.protocol.box import Box


FIRST, LARGEST = 128, 2_048
DENSE = 2
"""a window of UIDs is asked for as one range while at most this many times as many UIDs lie in it"""


async def walk(
    box: Box, book: Book, plan: Iterable[Sequence[int]], reader: HeaderReader, *, dated: bool
) -> AsyncGenerator[tuple[Sequence[int], list[Block]], None]:
    """Read a plan of windows of UIDs into `book`; after each, yield the window and the blocks that changed.
    `dated`: with the dates of receipt.

    The next window is asked for before the last one is read, so the server works meanwhile. Close it to stop early.
    """
    windows = iter(plan)
    kind = DatedHeaderLines if dated else HeaderLines
    ahead = _ask(box, windows, kind, reader)
    try:
        while ahead is not None:
            window, ask, answered = ahead
            columns = await answered
            ahead = _ask(box, windows, kind, reader)
            await asyncio.sleep(0)  # lets it be sent
            yield window, book.add(columns, ask.uids)
    finally:
        if ahead is not None:
            ahead[2].cancel()
            await asyncio.wait({ahead[2]})


def _ask(
    box: Box, windows: Iterator[Sequence[int]], kind: type[HeaderLines], reader: HeaderReader
) -> tuple[Sequence[int], HeaderLines, asyncio.Task[Columns]] | None:
    window = next(windows, None)
    if window is None:
        return None
    ask = kind(_asked(window), reader)
    return window, ask, asyncio.create_task(box.run(ask))


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
