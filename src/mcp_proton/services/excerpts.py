"""A document's text in an answer: pages under their numbers, as many as fit, and the place where the next answer begins.

The file is streamed to the disk and read there by the port's reader; the service never holds more than a piece of it.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass

from mcp_proton.domain.context import Context
from mcp_proton.domain.documents import Documents, Excerpt, Span
from mcp_proton.domain.errors import Invalid, Unsupported
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.mail import Attachment
from mcp_proton.domain.ports import MailBackend
from mcp_proton.mime.encoding import Decoder

from .budget import LETTERS_A_TOKEN, cut
from .spooling import spooled

MOST_OCTETS = 64 << 20
"""A larger file is not read: no mail server that is known takes one."""
_PLACE = re.compile(r"(\d{1,10})\.(\d{1,10})")


@dataclass(frozen=True, slots=True)
class Shown:
    """What of a document is in an answer. `place` is where the next one begins, None at the end."""

    text: str
    unit: str
    first: int
    last: int
    total: int
    place: str | None
    notices: frozenset[str]


def span(pages: str | None, place: str | None) -> Span:
    """Return the pages that are wanted: `3`, `2-5` or `4-`; from a place on, where an answer before left off."""
    first, dash, last = (pages or "1-").partition("-")
    wanted = Span(max(1, int(first)), (int(last) if last else None) if dash else int(first))
    if wanted.last is not None and wanted.last < wanted.first:
        raise Invalid("`pages` ends before it begins", next="give them as 2-5")
    if place is None:
        return wanted
    found = _PLACE.fullmatch(place)
    if found is None:
        raise Invalid("this is not a cursor of ours", code="foreign_cursor", next="start without it")
    return Span(max(1, int(found[1])), wanted.last, int(found[2]))


async def read(
    documents: Documents, ctx: Context, handle: Handle, chosen: Attachment, wanted: Span, budget: int
) -> Shown:
    """Read an attachment that is a document."""
    backend = ctx.backend(handle.account)
    decoder = Decoder(chosen.part.encoding)
    async with spooled(_decoded(backend, handle, chosen, decoder, ctx), ctx.spool) as held:
        excerpt = await documents.excerpt(held.descriptor, wanted, budget * LETTERS_A_TOKEN)
    return fitted(excerpt, wanted, budget, decoder.notices)


def fitted(excerpt: Excerpt, wanted: Span, budget: int, notices: frozenset[str] = frozenset()) -> Shown:
    """Cut an excerpt to its budget."""
    pieces: list[str] = []
    starts: list[tuple[int, int, int]] = []  # where a page's text begins, its number, how much of it was read before
    length = 0
    for passage in excerpt.passages:
        if not passage.text:
            continue
        title = f": {passage.title}" if passage.title else ""
        piece = f"[{excerpt.unit} {passage.number}{title}]\n{passage.text}\n"
        offset = wanted.offset if passage.number == wanted.first else 0
        starts.append((length + len(piece) - len(passage.text) - 1, passage.number, offset))
        pieces.append(piece)
        length += len(piece)
    text, after = cut("".join(pieces), budget)
    last = excerpt.passages[-1].number if excerpt.passages else wanted.first
    following = excerpt.following
    if after is not None:
        start, last, offset = next((one for one in reversed(starts) if one[0] < after), starts[0])
        following = Span(last, wanted.last, offset + max(0, after - start))
    place = f"{following.first}.{following.offset}" if following else None
    return Shown(text.rstrip("\n"), excerpt.unit, wanted.first, last, excerpt.total, place, excerpt.notices | notices)


async def _decoded(
    backend: MailBackend, handle: Handle, chosen: Attachment, decoder: Decoder, ctx: Context
) -> AsyncIterator[bytes]:
    done = size = 0
    async for chunk in backend.fetch(handle, chosen.part.path):
        done += len(chunk)
        await ctx.progress(done, chosen.size or None, "fetching")
        octets = decoder.feed(chunk)
        size += len(octets)
        if size > MOST_OCTETS:
            raise Unsupported(
                f"the file is larger than {MOST_OCTETS >> 20} MiB, the most that is read",
                code="file_too_large",
                next="`attachments_save` saves it",
            )
        yield octets
    yield decoder.finish()
