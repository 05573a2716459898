"""The readable content of a message, fetched part by part: a large attachment is never loaded to show a text."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from mcp_proton.domain.errors import NotFound
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.mail import Attachment, Envelope, Part
from mcp_proton.domain.ports import MailBackend
from mcp_proton.mime.hypertext import html as mime_html
from mcp_proton.mime.notices import Decoded, Notice
from mcp_proton.mime.structure import reading, selecting

LONG = 100_000
MOST_TEXT_OCTETS = 512 * 1024
"""At most this much of each text part is fetched (J-103)."""


T = TypeVar("T", str, bytes)
U = TypeVar("U")


@dataclass(frozen=True, slots=True)
class Content:
    """What a person would read, and what was changed on the way to plain text (`notices`)."""

    envelope: Envelope
    root: Part
    text: str
    attachments: Sequence[Attachment]
    notices: frozenset[str]


async def read(backend: MailBackend, handle: Handle) -> Content:
    """Fetch and decode the text of a message. HTML is used only where there is no plain text worth the name."""
    structure = await backend.structure(handle)
    readable = selecting.readable(structure.root)
    attachments = selecting.attachments(structure.root)
    shown = await _joined(backend, handle, readable.plain)
    if readable.html and selecting.is_stub(shown.text):
        only_pointed = {Notice.ALTERNATIVE_IGNORED.value} if shown.text.strip() else set[str]()
        shown = await _joined(backend, handle, readable.html)
        shown = Decoded(shown.text, shown.notices | only_pointed)
    notices = shown.notices | selecting.noted(structure.root, attachments)
    return Content(structure.envelope, structure.root, shown.text, attachments, notices)


async def read_html(backend: MailBackend, handle: Handle) -> tuple[Content, str]:
    """Fetch the HTML of a message, made safe (P-95). `NotFound` where it has none."""
    structure = await backend.structure(handle)
    readable = selecting.readable(structure.root)
    if not readable.html:
        raise NotFound("this message has no HTML", next="read it with view `text`", code="no_such_view")
    pieces = [await _source(backend, handle, part) for part in readable.html]
    safe = await computed(mime_html.cleaned, "\n".join(one.text for one in pieces))
    notices = safe.notices.union(*(one.notices for one in pieces))
    content = Content(structure.envelope, structure.root, "", selecting.attachments(structure.root), notices)
    return content, safe.text


async def octets(backend: MailBackend, handle: Handle, part: str, limit: int) -> tuple[bytes, bool]:
    """Return at most `limit` octets of a section, and whether that is all of it."""
    held = bytearray()
    async for chunk in backend.fetch(handle, part, limit=limit + 1):
        held += chunk
        if len(held) > limit:
            return bytes(held[:limit]), False
    return bytes(held), True


async def _joined(backend: MailBackend, handle: Handle, parts: Sequence[Part]) -> Decoded:
    texts, notices = [], frozenset[str]()
    for part in parts:
        encoded, complete = await octets(backend, handle, part.path, MOST_TEXT_OCTETS)
        decoded = await computed(partial(reading.shown, part, complete=complete), encoded)
        texts.append(decoded.text)
        notices |= decoded.notices
    return Decoded("\n\n".join(texts), notices)


async def computed(work: Callable[[T], U], given: T) -> U:
    """Work on something long in a thread: hostile HTML may take a second, and every other call would wait for it."""
    return await asyncio.to_thread(work, given) if len(given) > LONG else work(given)


async def _source(backend: MailBackend, handle: Handle, part: Part) -> Decoded:
    encoded, complete = await octets(backend, handle, part.path, MOST_TEXT_OCTETS)
    return reading.as_html(part, encoded, complete=complete)
