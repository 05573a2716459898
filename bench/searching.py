"""Searches: by header over a whole mailbox against its raw envelopes, again from memory, and for one word of a body."""

from __future__ import annotations

from mcp_proton.domain.ports import Page
from mcp_proton.domain.query import All, Contains, Field

from .listing import settled
from .places import Place
from .timing import Figure, absolute, medians, ratio

FIRST_TIMES = 3


async def by_header(place: Place, needle: str, hits: int | None) -> list[Figure]:
    """Measure the first search by sender, and the same again."""
    raw = place.raw()
    backend = place.backend()
    try:
        inbox = await place.box(backend)
        await settled(backend, inbox)
        raw.command(b"EXAMINE " + place.mailbox)
        query = Contains(Field.FROM, needle)

        async def floor() -> None:
            raw.command(b"UID FETCH 1:* (UID ENVELOPE)")

        opened = [place.backend() for _ in range(FIRST_TIMES + 1)]
        for new in opened:
            await new.search([inbox], All(), Page(limit=1))  # logged in and opened, as the raw side is
        waiting = iter(opened)

        async def fresh() -> None:
            found = await next(waiting).search([inbox], query, Page(limit=500, budget=120))
            assert hits is None or len(found.rows) == hits, len(found.rows)

        async def again() -> None:
            await backend.search([inbox], query, Page(limit=500, budget=120))

        first, bottom = await medians(FIRST_TIMES, fresh, floor)
        for new in opened:
            await new.aclose()
        await again()
        (second,) = await medians(5, again)
        return [
            ratio(f"{place.name}: search by sender, the first time, against raw `1:* ENVELOPE`", first, bottom, 1.6),
            absolute(f"{place.name}: the same search again", second * 1000, 20, "ms"),
        ]
    finally:
        raw.close()
        await backend.aclose()


async def by_body(place: Place, word: str) -> list[Figure]:
    """Measure a search for one word of one body, against the server's own search for it."""
    raw = place.raw()
    backend = place.backend()
    try:
        inbox = await place.box(backend)
        raw.command(b"EXAMINE " + place.mailbox)

        async def floor() -> None:
            raw.command(b"UID SEARCH BODY %s" % word.encode())

        async def ours() -> None:
            found = await backend.search([inbox], Contains(Field.BODY, word), Page(limit=10, budget=300))
            assert len(found.rows) == 1

        mine, bottom = await medians(2, ours, floor)
        return [ratio(f"{place.name}: search for one word of a body against the server's own SEARCH", mine, bottom, 5)]
    finally:
        raw.close()
        await backend.aclose()
