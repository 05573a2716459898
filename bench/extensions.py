"""What the extensions of IMAP bring: the same work on Dovecot with and without each, in octets, turns and time.

`turns` are packets of the client's that wait for the server: each costs a round trip. The slow line takes 10 Mbit/s.
What is said of extensions that were tried and left out is in docs/decisions.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from mcp_proton.domain.mail import Mailbox
from mcp_proton.domain.ports import Page
from mcp_proton.domain.query import All
from mcp_proton.imap.backend import ImapBackend
from mcp_proton.imap.protocol.pool import Habits
from mcp_proton.testing.outgoing import MemoryOctets

from . import counting, places
from .listing import settled
from .places import Place
from .timing import Figure

MESSAGES = 50_000
LINE = 10_000_000 / 8
BARE = "IMAP4rev1 ID IDLE UIDPLUS MOVE UNSELECT CHILDREN NAMESPACE SPECIAL-USE ENABLE CONDSTORE"
Work = Callable[[ImapBackend, Mailbox], Awaitable[object]]


@dataclass(frozen=True)
class Cost:
    """What a piece of work took."""

    octets: int
    turns: int
    seconds: float


def measure() -> list[Figure]:
    """Each extension by hiding it, COMPRESS by asking for it."""
    figures: list[Figure] = []
    with places.dovecot() as rich, places.dovecot(BARE) as bare:
        full, poor = rich(places.letters(MESSAGES)), bare(places.letters(MESSAGES))
        for what, work in (
            ("ESEARCH: the UIDs of 50,000 messages", _all_uids),
            ("LIST-STATUS: all mailboxes with their counts", _counts),
            ("LITERAL+: a draft is stored", _stored),
        ):
            with_it, without = asyncio.run(_cost(full, work)), asyncio.run(_cost(poor, work))
            figures.append(_gain(what, with_it, without))
        for what, work in (("a page of 1,000 envelopes", _page), ("the dates of 50,000 messages", _dates)):
            for line, name in ((LINE, "10 Mbit/s"), (float("inf"), "this machine")):
                packed = asyncio.run(_cost(full, work, packed=True, rate=line))
                plain = asyncio.run(_cost(full, work, packed=False, rate=line))
                figures.append(_gain(f"COMPRESS, {name}: {what}", packed, plain))
    return figures


async def _cost(place: Place, work: Work, *, packed: bool = False, rate: float = float("inf")) -> Cost:
    async with counting.relay(place.host, place.port, rate) as relay:
        backend = counting.through(relay, place, Habits(packed=packed))
        try:
            inbox = await place.box(backend)
            if work is not _dates:
                await settled(backend, inbox)
                await work(backend, inbox)
            relay.reset()
            began = time.perf_counter()
            await work(backend, inbox)
            return Cost(relay.octets, relay.turns, time.perf_counter() - began)
        finally:
            await backend.aclose()


async def _all_uids(backend: ImapBackend, inbox: Mailbox) -> None:
    async with backend._open(inbox) as box:
        assert len(await box.search()) == MESSAGES


async def _counts(backend: ImapBackend, inbox: Mailbox) -> None:
    await backend.mailboxes(counts=True, fresh=True)


async def _stored(backend: ImapBackend, inbox: Mailbox) -> None:
    drafts = next(box for box in await backend.mailboxes() if box.path == "Drafts")
    await backend.append(drafts, MemoryOctets(b"Subject: a draft\r\n\r\nHello.\r\n"))


async def _page(backend: ImapBackend, inbox: Mailbox) -> None:
    assert len((await backend.search([inbox], All(), Page(1_000))).rows) == 1_000


async def _dates(backend: ImapBackend, inbox: Mailbox) -> None:
    await settled(backend, inbox)


def _gain(what: str, with_it: Cost, without: Cost) -> Figure:
    value = (
        f"{with_it.octets:,} octets, {with_it.turns} turns, {with_it.seconds * 1000:.0f} ms; without: "
        f"{without.octets:,}, {without.turns}, {without.seconds * 1000:.0f} ms"
    )
    better = with_it.octets < without.octets / 1.5 or with_it.turns < without.turns
    return Figure(what, value, "fewer octets or turns", better)
