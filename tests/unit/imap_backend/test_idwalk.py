"""A walk over the ids of a large mailbox (N-4): what it needs, and what it does about mail that comes while it reads."""

from __future__ import annotations

import tracemalloc
from array import array
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, cast

import pytest

from mcp_proton.domain.mail import Mailbox, Role
from mcp_proton.domain.walk import Interval
from mcp_proton.imap import keys
from mcp_proton.imap.finding.date_lines import DateLines
from mcp_proton.imap.finding.idwalk import IdWalk
from mcp_proton.imap.finding.indexing import DateIndexes
from mcp_proton.imap.protocol.rows import FetchRow

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Sequence

    from mcp_proton.imap.protocol.box import Box
    from mcp_proton.imap.protocol.fetching import Items
    from mcp_proton.imap.protocol.uids import UidSet

INBOX = Mailbox("me", "INBOX", "INBOX", Role.INBOX)
PAGE = 100
LINES = 400
"""rows that lie in the wire's buffer at one time"""
FEW, MANY = 10_000, 30_000
OCTETS = 24
"""what a message more may take at the worst moment of a walk; 8 of them stay, or 12 where dates are not in the order of UIDs"""


def equal(_: int) -> int:
    return 1_000_000_000


def in_order(uid: int) -> int:
    return 1_000_000_000 + uid * 1_237


def mixed(uid: int) -> int:
    return uid * 2_654_435_761 % (1 << 31)


class Server:
    """A mailbox that spells the dates of a window only as they are read, and is opened by everybody at once."""

    uidvalidity = 7

    def __init__(self, count: int, date_of: Callable[[int], int] = in_order) -> None:
        self.uids = array("I", range(1, count + 1))
        self.date_of = date_of
        self.uidnext = count + 1
        self.before_dates: Iterator[None] = iter(())

    @property
    def exists(self) -> int:
        return len(self.uids)

    async def search(self) -> array[int]:
        return self.uids[:]

    async def pipeline(self, asks: Sequence[DateLines]) -> list[None]:
        next(self.before_dates, None)
        for ask in asks:
            there = [uid for low, high in ask.uids.ranges for uid in range(low, high + 1) if uid in self._existing()]
            for start in range(0, len(there), LINES):
                lines = b"".join(map(self._line, there[start : start + LINES]))
                assert ask.take_lines(memoryview(lines)).octets == len(lines)
        return [None for _ in asks]

    async def fetch_all(self, uids: UidSet, items: Items) -> list[FetchRow]:
        return [FetchRow(0, uid, internaldate=self._moment(uid)) for uid in self.uids if uid in uids]

    def _existing(self) -> range | set[int]:
        whole = range(1, self.uidnext)
        return whole if len(whole) == len(self.uids) else set(self.uids)

    def _moment(self, uid: int) -> datetime:
        return datetime.fromtimestamp(self.date_of(uid), UTC)

    def _line(self, uid: int) -> bytes:
        return b'* %d FETCH (UID %d INTERNALDATE "%b")\r\n' % (uid, uid, f"{self._moment(uid):%d-%b-%Y %T %z}".encode())

    def come(self, uid: int) -> None:
        self.uids.append(uid)
        self.uidnext = uid + 1

    def go(self, uid: int) -> None:
        self.uids.remove(uid)


def walk_over(server: Server) -> IdWalk:
    @asynccontextmanager
    async def opened(_: Mailbox) -> AsyncIterator[Box]:
        yield cast("Box", server)

    return IdWalk(opened, DateIndexes(opened))


async def walked(walk: IdWalk) -> array[int]:
    uids, more = array("I"), True
    while more:
        part = await walk.ids(INBOX, Interval(), len(uids), PAGE)
        uids.extend(keys.read(handle.key)[1] for handle in part.handles)
        more = part.more
    return uids


async def _peak(count: int, kind: Callable[[int], int]) -> int:
    """Octets at the worst moment of a walk whose pages are not kept."""
    server = Server(count, kind)
    walk = walk_over(server)
    tracemalloc.start()
    try:
        at, more = 0, True
        while more:
            part = await walk.ids(INBOX, Interval(), at, PAGE)
            at, more = at + len(part.handles), part.more
        assert at == count
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("kind", [in_order, mixed])
async def test_a_message_more_takes_a_few_octets_of_a_walk_whatever_the_order(kind: Callable[[int], int]) -> None:
    few, many = await _peak(FEW, kind), await _peak(MANY, kind)
    assert (many - few) / (MANY - FEW) < OCTETS


@pytest.mark.parametrize("kind", [in_order, mixed])
async def test_a_walk_over_many_is_in_the_order_of_their_dates(kind: Callable[[int], int]) -> None:
    server = Server(FEW, kind)
    uids = await walked(walk_over(server))
    assert list(uids) == sorted(server.uids, key=lambda uid: (server.date_of(uid), uid))


async def test_mail_that_comes_and_goes_while_dates_are_read_is_walked_over_once_and_not_at_all() -> None:
    server = Server(12_000)

    def meanwhile() -> Iterator[None]:
        yield
        server.come(12_001)
        server.go(11_500)
        yield

    server.before_dates = meanwhile()
    uids = await walked(walk_over(server))
    assert list(uids) == [uid for uid in range(1, 12_002) if uid != 11_500]


async def test_each_change_between_two_pages_gives_another_state() -> None:
    server = Server(6_000, mixed)
    walk = walk_over(server)
    states = [(await walk.ids(INBOX, Interval(), 0, PAGE)).state]
    for change in (lambda: server.come(6_001), lambda: server.go(17), lambda: (server.come(6_002), server.go(40))):
        change()
        states.append((await walk.ids(INBOX, Interval(), PAGE, PAGE)).state)
        assert (await walk.ids(INBOX, Interval(), 0, PAGE)).state == states[-1]
    assert len(set(states)) == 4
    assert list(await walked(walk)) == sorted(server.uids, key=lambda uid: (server.date_of(uid), uid))


async def test_a_mailbox_where_dates_are_equal_is_walked_over_in_the_order_of_uids() -> None:
    server = Server(5_000, equal)
    assert list(await walked(walk_over(server))) == list(range(1, 5_001))
