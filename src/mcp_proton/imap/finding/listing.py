"""All messages of a mailbox, by date: the newest (or oldest) that were not dealt with yet.

With an index of dates: exactly those UIDs, in one round trip. Without: a window at each end of the UIDs, in one round
trip too, merged by date and marked as provisional while the index is built behind it. What a page costs does not
depend on the size of the mailbox.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from mcp_proton.domain.ports import Order
from mcp_proton.imap.errors import Rejected
from mcp_proton.imap.finding import windows
from mcp_proton.imap.finding.dates import DateIndex, seconds
from mcp_proton.imap.finding.pagelines import PageLines
from mcp_proton.imap.finding.targets import Findings, Hit
from mcp_proton.imap.protocol.fetching import Fetch, Items
from mcp_proton.imap.protocol.uids import UidSet

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence

    from mcp_proton.domain.mail import Envelope
    from mcp_proton.imap.finding.dates import Place
    from mcp_proton.imap.finding.pagelines import PageReader
    from mcp_proton.imap.finding.targets import Target
    from mcp_proton.imap.protocol.box import Box
    from mcp_proton.imap.protocol.rows import FetchRow

SMALL = 1_000
"""a mailbox of at most this many messages is put in order on the spot"""
LONGEST_CHEAP = 100
"""rows at each end that are worth fetching whole before knowing which are needed"""
DATES = Items(internaldate=True)


async def by_index(
    target: Target, box: Box, index: DateIndex, order: Order, limit: int, reader: PageReader
) -> Findings:
    """The next `limit` messages in exact order, and a last hit without a row if more are left."""
    found = Findings(target, by_us=("order",), covered=_all_of(target), seen=len(index))
    waiting = remaining(target, index, order)
    while places := list(islice(waiting, limit - len(found.hits))):
        rows = await reader.fetch(target.mailbox, box, [uid for _, uid in places])
        found.hits += [Hit(place, rows[place[1]]) for place in places if place[1] in rows]
        if len(rows) < len(places):
            # Expunged meanwhile. Forgetting makes the order under `waiting` void, so it starts anew behind these.
            index.forget(uid for _, uid in places if uid not in rows)
            waiting = remaining(target, index, order, after=places[-1])
    found.hits += [Hit(place) for place in islice(waiting, 1)]
    return found


def _all_of(target: Target) -> UidSet:
    return UidSet.window(1, target.upper) if target.upper else windows.NOTHING


def remaining(target: Target, index: DateIndex, order: Order, after: Place | None = None) -> Iterator[Place]:
    """The places of a target that were not dealt with yet, in order."""
    start = target.last if after is None else after
    places = index.newest(start) if order is Order.NEWEST else index.oldest(start)
    return (place for place in places if place[1] <= target.upper and place[1] not in target.done)


async def at_both_ends(
    target: Target, box: Box, order: Order, limit: int, reader: PageReader
) -> tuple[Findings, DateIndex | None]:
    """The first page without an index; and the index too, where the mailbox is small enough to have it at once."""
    if box.exists == 0:
        return Findings(target, by_us=("order",)), DateIndex(target.uidvalidity)
    ends = _ends(target, limit)
    small = box.exists <= SMALL
    page = reader.rows(target.mailbox, box.uidvalidity)
    pages = [PageLines(uids, page) for uids in ends] if limit <= LONGEST_CHEAP else []
    whole = [UidSet.since()] if small and len(ends) > 1 else []
    asks: list[PageLines | Fetch] = [*pages, *(Fetch(uids, DATES) for uids in (whole if pages else whole or ends))]
    dates = _dates(await box.pipeline(asks))
    rows = page.found
    dates |= {uid: seconds(row.received) for uid, row in rows.items()}
    if not small and len(dates) < min(2 * limit, box.exists):
        dates |= await _sparse(box, dates, limit)
    dates = {uid: date for uid, date in dates.items() if uid <= target.upper}
    found = await _chosen(target, box, order, limit, rows, dates, reader)
    index = DateIndex(target.uidvalidity) if small else None
    if index is not None:
        index.add(((date, uid) for uid, date in dates.items()), target.upper)
    found.exact = small
    found.covered = _all_of(target) if small else windows.union(*ends)
    return found, index


def _dates(outcomes: Sequence[list[FetchRow] | Rejected | None]) -> dict[int, int]:
    """The dates of rows that came as rows."""
    dates: dict[int, int] = {}
    for outcome in outcomes:
        if isinstance(outcome, Rejected):
            raise outcome
        dates |= {row.uid: seconds(row.internaldate) for row in outcome or ()}
    return dates


def _ends(target: Target, limit: int) -> list[UidSet]:
    if target.exists <= 2 * limit or target.upper <= 2 * limit:
        return [UidSet.since()]
    return [UidSet.since(target.upper - limit + 1), UidSet.window(1, limit)]


async def _sparse(box: Box, known: Container[int], limit: int) -> dict[int, int]:
    """Windows of UIDs held too few messages: ask which UIDs there are, and take as many at each end."""
    uids = await box.search()
    wanted = [uid for uid in (*uids[:limit], *uids[-limit:]) if uid not in known]
    return _dates([await box.fetch_all(wanted, DATES)]) if wanted else {}


async def _chosen(
    target: Target,
    box: Box,
    order: Order,
    limit: int,
    rows: dict[int, Envelope],
    dates: dict[int, int],
    reader: PageReader,
) -> Findings:
    places = sorted(((date, uid) for uid, date in dates.items()), reverse=order is Order.NEWEST)
    lacking = [uid for _, uid in places[:limit] if uid not in rows]
    if lacking:
        rows |= await reader.fetch(target.mailbox, box, lacking)
    shown = [Hit(place, rows[place[1]]) for place in places[:limit] if place[1] in rows]
    more = [Hit(place) for place in places[limit : limit + 1]]
    return Findings(target, [*shown, *more], by_us=("order",), seen=len(dates))
