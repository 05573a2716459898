"""Pages of mail: ours against a raw socket that reads the same bytes, and against peer libraries."""

from __future__ import annotations

import asyncio
import contextlib
import io
from collections.abc import Awaitable, Callable
from typing import Any

import imap_tools
import imapclient

from mcp_proton.domain.mail import Mailbox
from mcp_proton.domain.ports import Page
from mcp_proton.domain.query import All
from mcp_proton.imap.backend import ImapBackend

from . import counting
from .places import Place
from .timing import Figure, absolute, faster, medians, ratio

ROWS = b"(UID FLAGS INTERNALDATE RFC822.SIZE ENVELOPE)"


async def pages(place: Place, total: int) -> list[Figure]:
    """Measure a page of 50 and of 1,000 on a mailbox of `total` messages whose order is known."""
    backend = place.backend()
    raw = place.raw()
    peers = {"IMAPClient": _imapclient(place), "imap-tools": _imap_tools(place)}
    figures: list[Figure] = []
    try:
        inbox = await place.box(backend)
        await settled(backend, inbox)
        raw.command(b"EXAMINE " + place.mailbox)
        for count in (50, 1000):
            lines = b"UID FETCH %d:%d %s" % (total - count + 1, total, ROWS)

            async def floor(lines: bytes = lines) -> None:
                raw.command(lines)

            async def ours(count: int = count) -> None:
                for start in range(0, count, 1000):
                    found = await backend.search([inbox], All(), Page(limit=min(1000, count - start)))
                    assert len(found.rows) == min(1000, count)

            others = [_peer(read, total - count + 1, total) for read in peers.values()]
            mine, bottom, *theirs = await medians(
                9 if count == 50 else 5, ours, floor, *others, calls=10 if count == 50 else 1
            )
            figures.append(ratio(f"{place.name}: page of {count} envelopes against a raw socket", mine, bottom, 3))
            for name, seconds in zip(peers, theirs, strict=True):
                figures.append(faster(f"{place.name}: page of {count} envelopes, faster than {name}", mine, seconds, 4))
    finally:
        raw.close()
        await backend.aclose()
    return figures


async def settled(backend: ImapBackend, box: Mailbox) -> None:
    """List until the order by date is complete, as it is for every page but the first of a session."""
    for _ in range(200):
        found = await backend.search([box], All(), Page(limit=5))
        if "provisional" not in found.coverage.order:
            return
        await asyncio.sleep(0.1)


def _peer(read: Callable[[int, int], object], first: int, last: int) -> Callable[[], Awaitable[object]]:
    async def run() -> object:
        return read(first, last)

    return run


def imapclient_at(place: Place) -> imapclient.IMAPClient:
    """An IMAPClient that has opened the mailbox."""
    client = imapclient.IMAPClient(place.host, place.port, ssl=False)
    if place.starttls:
        client.starttls(_unverified())
    client.login(place.username, place.password)
    client.select_folder(place.mailbox.decode().strip('"'), readonly=True)
    return client


def _imapclient(place: Place) -> Callable[[int, int], object]:
    client = imapclient_at(place)
    items = ["FLAGS", "INTERNALDATE", "RFC822.SIZE", "ENVELOPE"]
    return lambda first, last: client.fetch(list(range(first, last + 1)), items)


def _imap_tools(place: Place) -> Callable[[int, int], object]:
    kind: Any = imap_tools.MailBoxStartTls if place.starttls else imap_tools.MailBoxUnencrypted
    options = {"ssl_context": _unverified()} if place.starttls else {}
    box = kind(place.host, place.port, **options).login(place.username, place.password)
    box.folder.set(place.mailbox.decode().strip('"'), readonly=True)

    def read(first: int, last: int) -> object:
        with contextlib.redirect_stderr(io.StringIO()):
            found = box.fetch(imap_tools.AND(uid=f"{first}:{last}"), mark_seen=False, headers_only=True, bulk=True)
            return [(one.uid, one.subject, one.from_, one.to, one.date, one.flags, one.size) for one in found]

    return read


def _unverified() -> Any:
    import ssl

    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


async def growth(small: Place, large: Place) -> list[Figure]:
    """Compare the very first page of a large mailbox with that of a small one: round trips and bytes."""
    counted = {}
    for name, place in (("small", small), ("large", large)):
        async with counting.relay(place.host, place.port) as relay:
            backend = counting.through(relay, place)
            inbox = await place.box(backend)
            await backend.search([inbox], All(), Page(limit=1))
            await backend.aclose()
            backend = counting.through(relay, place)
            inbox = await place.box(backend)
            relay.reset()
            found = await backend.search([inbox], All(), Page(limit=50))
            assert len(found.rows) == 50
            counted[name] = (relay.turns, relay.octets)
            await backend.aclose()
    (few_turns, few_octets), (many_turns, many_octets) = counted["small"], counted["large"]
    return [
        absolute(f"first page of 50,000: round trips (of 100: {few_turns})", many_turns, few_turns, "trips"),
        Figure(
            "first page of 50,000: bytes over that of 100",
            f"{many_octets / few_octets:.2f}x ({many_octets} against {few_octets})",
            "<= 2.5x",
            many_octets / few_octets <= 2.5,
        ),
    ]
