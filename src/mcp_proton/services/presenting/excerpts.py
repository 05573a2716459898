"""An attachment's text in an answer: pages under their numbers, as many as fit, and the place where the next answer begins.

The file is streamed to the disk and read there by the port's reader; the service never holds more than a piece of it.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

from mcp_proton.domain.context import Context
from mcp_proton.domain.documents import Claim, Excerpt, Passage, Span
from mcp_proton.domain.errors import Invalid, Unsupported
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.mail import Attachment
from mcp_proton.mime.decoding.encoding import Decoder
from mcp_proton.mime.notices import Notice
from mcp_proton.services.presenting.budget import LETTERS_A_TOKEN, cut
from mcp_proton.services.spooling import spooled

_TEXT = "text"
_PLACE = re.compile(r"(\d{1,10})\.(\d{1,10})")


@dataclass(frozen=True, slots=True)
class Shown:
    """What of a file is in an answer. `place` is where the next one begins, None at the end.

    What is text by itself has no `unit` and no pages; of it, about `left_out` letters come after.
    """

    text: str
    place: str | None
    notices: frozenset[str]
    unit: str | None = None
    first: int | None = None
    last: int | None = None
    total: int | None = None
    left_out: int = 0


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


async def read(ctx: Context, handle: Handle, chosen: Attachment, wanted: Span, budget: int) -> Shown:
    """Read an attachment. `Unsupported` for a kind without a reader, and for what is in its reader's way."""
    documents = ctx.documents
    claim = documents.claim(chosen) if documents else None
    if documents is None or claim is None:
        raise Unsupported(
            "there is no text reader for this kind of file",
            next="`attachments_save` saves it",
            code="unsupported_file",
        )
    incoming = _Incoming(ctx, handle, chosen, claim)
    async with spooled(incoming.octets(), ctx.spool) as held:
        claim = replace(claim, complete=incoming.complete)
        excerpt = await documents.excerpt(held.descriptor, claim, wanted, budget * LETTERS_A_TOKEN)
    return fitted(excerpt, wanted, budget, incoming.notices)


def fitted(excerpt: Excerpt, wanted: Span, budget: int, notices: frozenset[str] = frozenset()) -> Shown:
    """Cut an excerpt to its budget."""
    pieces: list[str] = []
    starts: list[tuple[int, int, int]] = []  # where a page's text begins, its number, how much of it was read before
    length = 0
    for passage in excerpt.passages:
        if not passage.text:
            continue
        piece = f"{_heading(excerpt.unit, passage)}{passage.text}\n"
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
    text, notices = text.rstrip("\n"), excerpt.notices | notices
    if excerpt.unit == _TEXT:
        return Shown(text, place, notices, left_out=excerpt.left + (length - after if after is not None else 0))
    return Shown(text, place, notices, excerpt.unit, wanted.first, last, excerpt.total)


def _heading(unit: str, passage: Passage) -> str:
    title = f": {passage.title}" if passage.title else ""
    return "" if unit == _TEXT else f"[{unit} {passage.number}{title}]\n"


class _Incoming:
    """An attachment's octets on their way to the disk, decoded, and no more of them than are read."""

    def __init__(self, ctx: Context, handle: Handle, chosen: Attachment, claim: Claim) -> None:
        self._ctx, self._handle, self._chosen, self._claim = ctx, handle, chosen, claim
        self._decoder = Decoder(chosen.part.encoding)
        self.complete = True

    @property
    def notices(self) -> frozenset[str]:
        """What happened on the way."""
        return self._decoder.notices | (frozenset() if self.complete else {Notice.TRUNCATED.value})

    async def octets(self) -> AsyncIterator[bytes]:
        """Yield them. `Unsupported` beyond what a reader takes of a file that is of no use in part."""
        left = self._claim.most
        async for octets in self._decoded():
            yield octets[:left]
            self.complete = len(octets) <= left
            left -= len(octets)
            if not self.complete:
                break
        if self._claim.whole and not self.complete:
            raise Unsupported(
                f"the file is larger than {self._claim.most >> 20} MiB, the most that is read",
                code="file_too_large",
                next="`attachments_save` saves it",
            )

    async def _decoded(self) -> AsyncIterator[bytes]:
        done = 0
        async for chunk in self._ctx.backend(self._handle.account).fetch(self._handle, self._chosen.part.path):
            done += len(chunk)
            await self._ctx.progress(done, self._chosen.size or None, "fetching")
            yield self._decoder.feed(chunk)
        yield self._decoder.finish()
