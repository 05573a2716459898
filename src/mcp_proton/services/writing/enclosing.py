"""Enclosing: attachments are read once to be fixed and once more to be sent, and must be the same both times (A-40, P-35).

Octets are streamed from wherever they are; none is ever held as a whole.
"""

from __future__ import annotations

import mimetypes
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass

from mcp_proton.domain.context import Context
from mcp_proton.domain.errors import Conflict, MailError, OverLimit
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.ports import MailBackend
from mcp_proton.mime.composing.enclosing import Survey
from mcp_proton.mime.decoding.encoding import Decoder
from mcp_proton.mime.file_names import file_name
from mcp_proton.services.presenting.attached import choose
from mcp_proton.services.writing import fetching, local_files
from mcp_proton.services.writing.written import Attach, Enclosed

WHOLE_MESSAGE = "message/rfc822"
_UNKNOWN = "application/octet-stream"
_MEDIA_TYPE = re.compile(r"[a-z0-9!#$&^_.+-]{1,60}/[a-z0-9!#$&^_.+-]{1,60}")


@dataclass(frozen=True, slots=True)
class Found:
    """What an attachment is called, and how its octets are got. `least` are as many octets as it has at least."""

    filename: str
    media_type: str
    octets: AsyncIterator[bytes]
    least: int = 0
    part: str | None = None
    encoding: str | None = None


async def fix(attach: Attach, ctx: Context, most: int, before: int = 0) -> tuple[Attach, Enclosed]:
    """Read what is attached, and say what it is.

    `OverLimit` beyond `most` octets, of which other attachments have taken `before`: nothing is read of what is known to be
    larger, and no more of what turns out to be.
    """
    if attach.path is not None:
        attach = attach.model_copy(update={"path": local_files.real(attach.path)})
    url = attach.url
    if url is not None:
        attach = await _fetched(attach, url, ctx, most - before)
    source = await found(attach, ctx)
    if before + source.least > most:
        raise too_large(most)
    survey, size = Survey(), before
    async for chunk in source.octets:
        survey.feed(chunk)
        size += len(chunk)
        if size > most:
            raise too_large(most)
    seen = survey.enclosure(file_name(attach.name or source.filename), _media_type(source.media_type), attach.cid)
    return attach, Enclosed(
        filename=seen.filename,
        media_type=seen.media_type,
        size=seen.size,
        sha256=seen.sha256,
        cid=seen.content_id,
        passage=seen.passage,
        line_feeds=seen.line_feeds,
        part=source.part,
        encoding=source.encoding,
        url=url,
    )


async def opened(attach: Attach, enclosed: Enclosed, ctx: Context) -> AsyncIterator[bytes]:
    """Yield the octets again, from where they were. `Conflict` (`changed_since_approval`) where there are none any more."""
    try:
        async for chunk in await _again(attach, enclosed, ctx):
            yield chunk
    except MailError as error:
        if error.retry:
            raise
        raise changed("an attachment is no longer where it was when this was asked for") from None


def too_large(most: int) -> OverLimit:
    """The refusal of what the server would not take, with the limit named."""
    return OverLimit(
        f"this mail would be too large: the limit is {most} octets, as sent",
        code="too_large",
        next="nothing was sent; attach less",
    )


async def found(attach: Attach, ctx: Context) -> Found:
    """Return where an attachment is. `NotFound` where it is not."""
    if attach.artifact is not None:
        kept = await ctx.artifacts.find(attach.artifact, ctx.caller)
        return Found(kept.filename, kept.media_type, ctx.artifacts.read(kept), kept.size)
    if attach.path is not None:
        guessed = mimetypes.guess_type(attach.path.name)[0] or _UNKNOWN
        return Found(attach.path.name, guessed, local_files.chunks(attach.path))
    handle = Handle.parse(str(attach.message))
    backend = ctx.backend(handle.account)
    if attach.index is None:
        envelope = (await backend.structure(handle)).envelope
        return Found(f"{envelope.subject or 'message'}.eml", WHOLE_MESSAGE, backend.fetch(handle), part="")
    chosen = await choose(backend, handle, attach.index)
    octets = _decoded(backend, handle, chosen.part.path, chosen.part.encoding)
    least = chosen.size * 7 // 10 if chosen.part.encoding == "base64" else 0  # three quarters, less line ends
    return Found(chosen.filename, chosen.media_type, octets, least, chosen.part.path, chosen.part.encoding)


async def _fetched(attach: Attach, url: str, ctx: Context, most: int) -> Attach:
    """Fetch it once: from then on it is an artifact, and what is shown, approved and sent is that."""
    kept = await fetching.fetch(url, attach.name, ctx, most)
    return attach.model_copy(update={"artifact": kept.id, "url": None})


async def _again(attach: Attach, enclosed: Enclosed, ctx: Context) -> AsyncIterator[bytes]:
    if attach.message is None or enclosed.part is None:
        return (await found(attach, ctx)).octets
    handle = Handle.parse(attach.message)
    backend = ctx.backend(handle.account)
    if enclosed.encoding is None:
        return backend.fetch(handle, enclosed.part)
    return _decoded(backend, handle, enclosed.part, enclosed.encoding)


async def _decoded(backend: MailBackend, handle: Handle, part: str, encoding: str) -> AsyncIterator[bytes]:
    decoder = Decoder(encoding)
    async for chunk in backend.fetch(handle, part):
        yield decoder.feed(chunk)
    yield decoder.finish()


def _media_type(text: str) -> str:
    """Return a media type that a part may have; a multipart would be taken for structure."""
    kind = text.strip().lower()
    return kind if _MEDIA_TYPE.fullmatch(kind) and not kind.startswith("multipart/") else _UNKNOWN


def changed(what: str) -> Conflict:
    """The refusal of a message that is no longer the one that was fixed."""
    return Conflict(what, code="changed_since_approval", next="nothing was sent; ask for it again")
