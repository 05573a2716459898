"""Attachments: listed, read as text, saved. Octets never travel through a model (N-12)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, Field

from mcp_proton.domain.context import Context
from mcp_proton.domain.effects import Effect
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.operation import Operation, Request, Result
from mcp_proton.mime.decoding import encoding
from mcp_proton.mime.file_names import file_name
from mcp_proton.mime.structure import selecting
from mcp_proton.mime.suspicion import suspicion
from mcp_proton.services.asking.cursors import seal, unseal
from mcp_proton.services.fields import Cursor, Mark, OneHandle, Stranger
from mcp_proton.services.presenting import excerpts
from mcp_proton.services.presenting.attached import Index, ListedAttachment, choose, listed
from mcp_proton.services.presenting.budget import DEFAULT_TOKENS, MaxTokens

Pages = Annotated[
    Annotated[str, Field(pattern=r"^\d{1,6}(-(\d{1,6})?)?$")] | None,
    BeforeValidator(lambda value: str(value) if isinstance(value, int) else value or None),
    Field(description="like 2-5; slides or sheets too"),
    Mark.TOKEN,
]


class AttachmentsList(Request):
    """List a message's attachments."""

    message: OneHandle


class AttachmentsText(Request):
    """Read an attachment as text (PDF, Office, CSV, ICS, EML)."""

    message: OneHandle
    index: Index
    pages: Pages = None
    max_tokens: MaxTokens = DEFAULT_TOKENS
    cursor: Cursor = None


class AttachmentsSave(Request):
    """Save an attachment as an artifact or into an export folder."""

    message: OneHandle
    index: Index
    folder: Annotated[
        Path | None, Field(description="an export folder the owner allowed; omit for an artifact"), Mark.PATH
    ] = None


class AttachmentList(Result):
    """A message's attachments."""

    handle: str
    attachments: list[ListedAttachment] = []


class AttachmentText(Result):
    """An attachment's text; cut like a message's. `first` to `last` of `total` pages, slides or sheets (`unit`) are in it."""

    handle: str
    index: int
    filename: Stranger
    text: Stranger = ""
    notices: list[str] = []
    suspicious: bool = False
    unit: str | None = None
    first: int | None = None
    last: int | None = None
    total: int | None = None
    left_out: int = 0
    cursor: str | None = None


class SavedAttachment(Result):
    """Where the octets went: an artifact id, or a file in the export folder. `sha256` is over the decoded octets."""

    handle: str
    index: int
    artifact: str | None = None
    path: str | None = None
    filename: Stranger
    size: int
    sha256: str
    notices: list[str] = []


async def list_attachments(request: AttachmentsList, ctx: Context) -> AttachmentList:
    """Read the structure only."""
    handle = Handle.parse(request.message)
    read = await ctx.backend(handle.account).structure(handle)
    return AttachmentList(handle=request.message, attachments=[listed(one) for one in selecting.attachments(read.root)])


async def read_text(request: AttachmentsText, ctx: Context) -> AttachmentText:
    """Fetch one attachment and have it read, where it can do no harm."""
    handle = Handle.parse(request.message)
    chosen = await choose(ctx.backend(handle.account), handle, request.index)
    wanted = excerpts.span(request.pages, unseal(request, request.cursor))
    shown = await excerpts.read(ctx, handle, chosen, wanted, request.max_tokens)
    return AttachmentText(
        handle=request.message,
        index=request.index,
        filename=file_name(chosen.filename),
        text=shown.text,
        unit=shown.unit,
        first=shown.first,
        last=shown.last,
        total=shown.total,
        notices=sorted(shown.notices),
        suspicious=bool(suspicion(shown.text)),
        left_out=shown.left_out,
        cursor=seal(request, shown.place),
    )


async def save(request: AttachmentsSave, ctx: Context) -> SavedAttachment:
    """Stream the decoded octets; nothing is visible before it is complete, nothing is ever overwritten."""
    handle = Handle.parse(request.message)
    backend = ctx.backend(handle.account)
    chosen = await choose(backend, handle, request.index)
    name = file_name(chosen.filename)
    if request.folder is None:
        opened = ctx.artifacts.create(ctx.caller, name, chosen.media_type)
    else:
        opened = ctx.artifacts.export(request.folder, name, chosen.media_type)
    decoder = encoding.Decoder(chosen.part.encoding)
    done = 0
    async with opened as writer:
        async for chunk in backend.fetch(handle, chosen.part.path):
            await writer.write(decoder.feed(chunk))
            done += len(chunk)
            await ctx.progress(done, chosen.size or None, "saving")
        await writer.write(decoder.finish())
        kept = await writer.done()
    return SavedAttachment(
        handle=request.message,
        index=request.index,
        artifact=kept.id if request.folder is None else None,
        path=str(kept.path) if request.folder is not None else None,
        filename=kept.filename,
        size=kept.size,
        sha256=kept.sha256,
        notices=sorted(decoder.notices),
    )


attachments_list = Operation(
    request=AttachmentsList,
    result=AttachmentList,
    effects=frozenset({Effect.READ}),
    perform=list_attachments,
    repeatable=True,
    example={"message": "personal.ei5nnz.sd2egw-2n9c"},
)

attachments_text = Operation(
    request=AttachmentsText,
    result=AttachmentText,
    effects=frozenset({Effect.READ}),
    perform=read_text,
    repeatable=True,
    example={"message": "personal.ei5nnz.sd2egw-2n9c", "index": 1},
)

attachments_save = Operation(
    request=AttachmentsSave,
    result=SavedAttachment,
    effects=frozenset({Effect.READ, Effect.EXPORT}),
    perform=save,
    example={"message": "personal.ei5nnz.sd2egw-2n9c", "index": 1},
)
