"""A walk over the ids of 50,000 messages by the date they were received, against a socket that reads what it has to read."""

from __future__ import annotations

import asyncio

from mcp_proton.domain.walk import Interval
from mcp_proton.imap.backend import ImapBackend

from . import places
from .places import Place
from .timing import Figure, absolute, medians, ratio

MESSAGES = 50_000
PAGE = 100


def measure() -> list[Figure]:
    """Run on Dovecot; the memory it takes is measured with the rest of memory."""
    with places.dovecot() as mailbox:
        return asyncio.run(_walks(mailbox(places.letters(MESSAGES))))


async def _walks(place: Place) -> list[Figure]:
    raw = place.raw()
    warm = place.backend()
    inbox = await place.box(warm)

    async def floor() -> None:
        raw.command(b"EXAMINE " + place.mailbox)
        raw.command(b"UID SEARCH RETURN (ALL) ALL")
        raw.command(b"UID FETCH 1:* (UID INTERNALDATE)")

    async def walked(backend: ImapBackend) -> None:
        at, more = 0, True
        while more:
            part = await backend.ids(inbox, Interval(), at, PAGE)
            at, more = at + len(part.handles), part.more
        assert at == MESSAGES

    async def first() -> None:
        backend = place.backend()
        try:
            await walked(backend)
        finally:
            await backend.aclose()

    try:
        mine, bottom = await medians(9, first, floor)
        (again,) = await medians(3, lambda: walked(warm))
    finally:
        raw.close()
        await warm.aclose()
    return [
        ratio(f"Dovecot: first walk over {MESSAGES:,} ids against their dates read raw", mine, bottom, 1.5),
        absolute(f"Dovecot: the same walk again, a page of {PAGE}", again * PAGE / MESSAGES * 1000, 2, "ms"),
    ]
