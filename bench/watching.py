"""What NOTIFY and OBJECTID bring: twenty mailboxes of Dovecot watched with and without the one; on Cyrus, messages that were
moved found again by the other and by what we know of them (size, date, Message-ID). Octets, turns, seconds as in `extensions`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from functools import partial

from mcp_proton.domain.mail import Mailbox, Role
from mcp_proton.domain.ports import Page
from mcp_proton.domain.query import All
from mcp_proton.imap.backend import ImapBackend
from mcp_proton.imap.changing.marks import Mark
from mcp_proton.imap.mailboxes import wire_name
from mcp_proton.imap.protocol.commands import Search
from mcp_proton.imap.protocol.writer import Atom
from mcp_proton.testing.outgoing import MemoryOctets
from tests.servers.account import Account
from tests.servers.cyrus import Cyrus
from tests.servers.fixtures import running

from . import counting, places
from .places import Place
from .timing import Figure

BARE = "IMAP4rev1 ID IDLE UIDPLUS MOVE UNSELECT CHILDREN NAMESPACE SPECIAL-USE ENABLE CONDSTORE LIST-STATUS"
MAILBOXES, QUIET = 20, 65.0
MESSAGES, MOVED = 5_000, 25
LETTER = MemoryOctets(b"Subject: news\r\n\r\nHello.\r\n")


def measure() -> list[Figure]:
    """Both."""
    figures = []
    with places.dovecot() as rich, places.dovecot(BARE) as bare:
        with_it = asyncio.run(_watched(rich(places.letters(100))))
        without = asyncio.run(_watched(bare(places.letters(100))))
        value = f"{with_it}; without: {without}"
        figures.append(Figure(f"NOTIFY: {MAILBOXES} mailboxes watched for {QUIET:.0f} s", value, "told sooner", True))
    with running(Cyrus) as server:
        account = server.account()
        account.load(places.letters(MESSAGES))
        figures += asyncio.run(_found_again(account, places._of_account(account)))
    return figures


async def _watched(place: Place) -> str:
    async with counting.relay(place.host, place.port) as relay:
        backend, elsewhere = counting.through(relay, place), place.backend()
        try:
            boxes = [await elsewhere.create(f"Box{number}", Role.FOLDER) for number in range(MAILBOXES)]
            told: asyncio.Queue[float] = asyncio.Queue()
            async with aclosing(backend.watch()) as watch:

                async def listen() -> None:
                    async for _ in watch:
                        told.put_nowait(time.perf_counter())

                listening = asyncio.create_task(listen())
                await watch.want(frozenset(box.tag for box in boxes))
                relay.reset()
                await asyncio.sleep(QUIET)
                octets, turns = relay.octets, relay.turns
                await elsewhere.append(boxes[-1], LETTER)
                began = time.perf_counter()
                late = await told.get() - began
                listening.cancel()
                await asyncio.gather(listening, return_exceptions=True)
            return f"{octets:,} octets, {turns} turns; a message is told after {late:.2f} s"
        finally:
            await backend.aclose()
            await elsewhere.aclose()


async def _found_again(account: Account, place: Place) -> list[Figure]:
    async with counting.relay(place.host, place.port) as relay:
        backend = counting.through(relay, place)
        try:
            inbox = await place.box(backend)
            archive = next(box for box in await backend.mailboxes() if box.role is Role.ARCHIVE)
            rows = (await backend.search([inbox], All(), Page(MOVED))).rows
            marks = [Mark.parse(one) for one in (await backend.identify([row.handle for row in rows])).values()]
            await backend.move([row.handle for row in rows], archive)
            with account.appender() as raw:
                raw.command(b'SELECT "', wire_name(archive), b'"')
                lines = raw.command(b"UID FETCH 1:* (EMAILID)")
            ids = [line.rpartition(b"(")[2].partition(b")")[0].decode() for line in lines if b"EMAILID" in line]
            figures = []
            for many in (1, MOVED):
                for where, among in ((archive, MOVED), (inbox, MESSAGES - MOVED)):
                    ours = await _cost(relay, partial(backend._proving.located, marks[:many], [where]))
                    theirs = await _cost(relay, partial(_by_id, backend, where, ids[:many]))
                    what = f"OBJECTID, Cyrus: {many} moved messages looked for among {among:,}"
                    figures.append(Figure(what, f"{theirs}; by what we know: {ours}", "as is", True))
            return figures
        finally:
            await backend.aclose()


async def _by_id(backend: ImapBackend, where: Mailbox, ids: list[str]) -> None:
    keys = [key for one in ids[1:] for key in (Atom("OR"), Atom("EMAILID"), Atom(one))]
    async with backend._pool().writing(wire_name(where)) as box:
        await box._session.run(Search([*keys, Atom("EMAILID"), Atom(ids[0])]))


async def _cost(relay: counting.Relay, work: Callable[[], Awaitable[object]]) -> str:
    await work()
    relay.reset()
    began = time.perf_counter()
    await work()
    return f"{relay.octets:,} octets, {relay.turns} turns, {(time.perf_counter() - began) * 1000:.0f} ms"
