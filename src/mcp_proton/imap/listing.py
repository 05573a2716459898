"""All messages of a mailbox, by date: the newest (or oldest) that were not dealt with yet.

With an index of dates: exactly those UIDs, in one round trip. Without: a window at each end of the UIDs, in one round
trip too, merged by date and marked as provisional while the index is built behind it. What a page costs does not
depend on the size of the mailbox.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from mcp_proton.domain.ports import Order
from mcp_proton.imap import windows
from mcp_proton.imap.dates import DateIndex, seconds
from mcp_proton.imap.errors import Rejected
from mcp_proton.imap.fetching import Fetch, Items
from mcp_proton.imap.targets import Findings, Hit
from mcp_proton.imap.uids import UidSet

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp_proton.imap.box import Box
    from mcp_proton.imap.dates import Place
    from mcp_proton.imap.rows import FetchRow
    from mcp_proton.imap.targets import Target

SMALL = 1_000
"""a mailbox of at most this many messages is put in order on the spot"""
LONGEST_CHEAP = 100
"""rows at each end that are worth fetching whole before knowing which are needed"""
SUMMARY = Items(flags=True, internaldate=True, size=True, envelope=True)
DATES = Items(internaldate=True)


async def by_index(target: Target, box: Box, index: DateIndex, order: Order, limit: int) -> Findings:
    """The next `limit` messages in exact order, and a last hit without a row if more are left."""
    found = Findings(target, by_us=("order",), covered=_all_of(target), seen=len(index))
    waiting = remaining(target, index, order)
    while places := list(islice(waiting, limit - len(found.hits))):
        rows = {row.uid: row for row in await box.fetch_all([uid for _, uid in places], SUMMARY)}
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


async def at_both_ends(target: Target, box: Box, order: Order, limit: int) -> tuple[Findings, DateIndex | None]:
    """The first page without an index; and the index too, where the mailbox is small enough to have it at once."""
    if box.exists == 0:
        return Findings(target, by_us=("order",)), DateIndex(target.uidvalidity)
    ends = _ends(target, limit)
    items = SUMMARY if limit <= LONGEST_CHEAP else DATES
    small = box.exists <= SMALL
    asks = [Fetch(uids, items) for uids in ends]
    if small and len(ends) > 1:
        asks.append(Fetch(UidSet.since(), DATES))
    answers = [_rows(outcome) for outcome in await box.pipeline(asks)]
    rows = {uid: row for answer in answers[: len(ends)] for uid, row in answer.items()}
    dates = answers[-1] if len(answers) > len(ends) else rows
    index = None
    if small:
        index = _index_of(target, dates)
    elif len(rows) < min(2 * limit, box.exists):
        dates = await _sparse(box, rows, limit)
    found = await _chosen(target, box, order, limit, rows, dates)
    found.exact = index is not None
    found.covered = _all_of(target) if found.exact else windows.union(*ends)
    return found, index


def _rows(outcome: list[FetchRow] | Rejected) -> dict[int, FetchRow]:
    if isinstance(outcome, Rejected):
        raise outcome
    return {row.uid: row for row in outcome}


def _ends(target: Target, limit: int) -> list[UidSet]:
    if target.exists <= 2 * limit or target.upper <= 2 * limit:
        return [UidSet.since()]
    return [UidSet.since(target.upper - limit + 1), UidSet.window(1, limit)]


def _index_of(target: Target, rows: dict[int, FetchRow]) -> DateIndex:
    index = DateIndex(target.uidvalidity)
    index.add(((seconds(row.internaldate), uid) for uid, row in rows.items() if uid <= target.upper), target.upper)
    return index


async def _sparse(box: Box, rows: dict[int, FetchRow], limit: int) -> dict[int, FetchRow]:
    """Windows of UIDs held too few messages: ask which UIDs there are, and take as many at each end."""
    uids = await box.search()
    wanted = [uid for uid in (*uids[:limit], *uids[-limit:]) if uid not in rows]
    more = await box.fetch_all(wanted, DATES) if wanted else []
    return rows | {row.uid: row for row in more}


async def _chosen(
    target: Target, box: Box, order: Order, limit: int, rows: dict[int, FetchRow], dates: dict[int, FetchRow]
) -> Findings:
    places = sorted(
        ((seconds(row.internaldate), uid) for uid, row in dates.items() if uid <= target.upper),
        reverse=order is Order.NEWEST,
    )
    whole = {uid: row for uid, row in rows.items() if row.envelope is not None}
    lacking = [uid for _, uid in places[:limit] if uid not in whole]
    if lacking:
        whole |= {row.uid: row for row in await box.fetch_all(lacking, SUMMARY)}
    shown = [Hit(place, whole[place[1]]) for place in places[:limit] if place[1] in whole]
    return Findings(
        target, [*shown, *(Hit(place) for place in places[limit : limit + 1])], by_us=("order",), seen=len(dates)
    )
