"""Reading messages and flags: ours against a raw socket that reads the same bytes."""

from __future__ import annotations

from mcp_proton.domain.ports import Order, Page
from mcp_proton.domain.query import All
from mcp_proton.imap.protocol.fetching import Items

from . import listing
from .listing import settled
from .places import Place
from .timing import Figure, faster, medians, ratio

FLAGS = Items(flags=True)


async def message(place: Place, what: str) -> Figure:
    """Measure one message, the only one of its mailbox, fetched whole in pieces."""
    backend, raw = place.backend(), place.raw()
    try:
        inbox = await place.box(backend)
        found = await backend.search([inbox], All(), Page(limit=1))
        handle = found.rows[0].handle
        raw.command(b"EXAMINE " + place.mailbox)

        async def ours() -> None:
            async for _ in backend.fetch(handle):
                pass

        async def floor() -> None:
            raw.command(b"UID FETCH 1 (UID BODY.PEEK[])")

        mine, bottom = await medians(5, ours, floor, calls=5)
        return ratio(f"{place.name}: a message of {what}, against a raw socket", mine, bottom, 3)
    finally:
        raw.close()
        await backend.aclose()


async def next_page(place: Place, total: int) -> Figure:
    """Measure the second page of 50, against a raw socket that reads as many envelopes."""
    backend, raw = place.backend(), place.raw()
    try:
        inbox = await place.box(backend)
        await settled(backend, inbox)
        first = await backend.search([inbox], All(), Page(limit=50, order=Order.NEWEST))
        raw.command(b"EXAMINE " + place.mailbox)

        async def ours() -> None:
            await backend.search([inbox], All(), Page(limit=50, continuation=first.continuation))

        async def floor() -> None:
            raw.command(b"UID FETCH %d:%d (UID FLAGS INTERNALDATE RFC822.SIZE ENVELOPE)" % (total - 99, total - 50))

        mine, bottom = await medians(9, ours, floor, calls=10)
        return ratio(f"{place.name}: the next page of 50, against a raw socket", mine, bottom, 3)
    finally:
        raw.close()
        await backend.aclose()


async def flags(place: Place, total: int) -> Figure:
    """Measure the flags of a whole mailbox, against IMAPClient: a row is so small that reading nothing is no measure."""
    backend, client = place.backend(), listing.imapclient_at(place)
    try:
        inbox = await place.box(backend)
        async with backend._open(inbox) as box:

            async def ours() -> None:
                async with box.fetch(range(1, total + 1), FLAGS) as rows:
                    assert sum([1 async for _ in rows]) == total

            async def theirs() -> None:
                found = 0
                for start in range(1, total + 1, 1000):  # it writes every number out, and a line has an end
                    found += len(client.get_flags(range(start, min(start + 1000, total + 1))))
                assert found == total

            mine, other = await medians(3, ours, theirs)
        return faster(f"{place.name}: the flags of {total:,} messages, faster than IMAPClient", mine, other, 2)
    finally:
        client.logout()
        await backend.aclose()
