"""Reading messages: text, HTML, headers, structure, raw source. Looking never marks anything read (A-91)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from mcp_proton.domain.context import Context
from mcp_proton.domain.effects import Effect
from mcp_proton.domain.errors import MailError, Stale
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.mail import Envelope, Flag, Part
from mcp_proton.domain.operation import Finer, Operation, Request, Result
from mcp_proton.domain.outcome import Ending
from mcp_proton.domain.ports import FlagChange
from mcp_proton.mime.header import headers as mime_headers
from mcp_proton.mime.neutral import neutralise
from mcp_proton.mime.suspicion import suspicion
from mcp_proton.services.asking.cursors import seal, unseal
from mcp_proton.services.fields import Adds, Cursor, Handles, OneHandle, Stranger, Texts
from mcp_proton.services.presenting import content
from mcp_proton.services.presenting.attached import ListedAttachment, listed
from mcp_proton.services.presenting.budget import DEFAULT_TOKENS, MaxTokens, cut, tokens
from mcp_proton.services.presenting.rows import people, shown_at

_SUMMARY_TOKENS = 300
_MOST_HEADERS = 256 * 1024
View = Literal["summary", "text", "html", "headers", "structure"]


class MessagesGet(Request):
    """Read one message."""

    message: OneHandle
    view: View = "text"
    max_tokens: MaxTokens = DEFAULT_TOKENS
    cursor: Cursor = None
    mark_read: Annotated[bool, Adds(Effect.ORGANIZE)] = False


class MessagesGetMany(Request):
    """Read up to 10 messages within one budget."""

    messages: Annotated[Handles, Field(max_length=10)]
    max_tokens: MaxTokens = DEFAULT_TOKENS


class MessagesHeaders(Request):
    """Read header fields of a message."""

    message: OneHandle
    names: Texts = ()
    max_tokens: MaxTokens = DEFAULT_TOKENS


class MessagesRaw(Request):
    """Read a message's raw source, or save it as an artifact."""

    message: OneHandle
    save: Annotated[bool, Adds(Effect.EXPORT)] = False
    max_tokens: MaxTokens = DEFAULT_TOKENS
    cursor: Cursor = None


class HeaderLine(Result):
    """One header field, decoded."""

    name: str
    value: Stranger


class PartLine(Result):
    """One part of a message's structure."""

    part: str
    type: str
    size: int = 0
    filename: Stranger = ""
    disposition: str | None = None


class ReadMessage(Result):
    """A message. `text` may be cut: then `cursor` goes on, and `left_out` says how many characters remain.

    `version` grows with every change of its flags, where the server counts them: for `messages_flag`'s `unchanged_since`.
    """

    handle: str
    date: str | None = None
    sender: Annotated[Stranger, Field(alias="from")] = ""
    to: Stranger = ""
    cc: Stranger = ""
    reply_to: Stranger = ""
    subject: Stranger = ""
    message_id: Stranger = ""
    unread: bool = False
    flagged: bool = False
    answered: bool = False
    draft: bool = False
    version: str | None = None
    text: Stranger = ""
    html: Stranger = ""
    headers: list[HeaderLine] = []
    structure: list[PartLine] = []
    attachments: list[ListedAttachment] = []
    notices: list[str] = []
    suspicious: bool = False
    left_out: int = 0
    cursor: str | None = None
    marked_read: bool | str | None = None


class OneOfMany(Result):
    """How one of several messages fared."""

    handle: str
    status: str
    code: str | None = None
    message: ReadMessage | None = None


class ManyMessages(Result):
    """The messages in the order asked. `rest` are those the budget did not reach: ask for them next."""

    messages: list[OneOfMany] = []
    rest: list[str] = []


class HeaderBlock(Result):
    """Header fields in their order; `left_out` counts those the budget cut."""

    handle: str
    headers: list[HeaderLine] = []
    left_out: int = 0


class RawMessage(Result):
    """A piece of the source as neutral text with LF line ends, or (saved) the artifact that holds its exact octets."""

    handle: str
    raw: Stranger = ""
    size: int
    cursor: str | None = None
    artifact: str | None = None
    filename: str | None = None
    sha256: str | None = None


async def get(request: MessagesGet, ctx: Context) -> ReadMessage:
    """Read one message in the view asked for."""
    handle = Handle.parse(request.message)
    shown = await _VIEWS[request.view](request, ctx)
    if not request.mark_read:
        return shown
    fates = await ctx.backend(handle.account).set_flags([handle], FlagChange(add=frozenset({Flag.SEEN})))
    done = fates[0].ending is Ending.DONE
    told = {"marked_read": True if done else fates[0].code or "no", "unread": not done, "version": None}
    return shown.model_copy(update=told)


async def get_effects(request: MessagesGet, ctx: Context) -> Finer:
    """Reading is READ; marking as read changes something, so it is judged as ORGANIZE by what flags do there."""
    effects = frozenset({Effect.READ})
    if request.mark_read:
        handle = Handle.parse(request.message)
        box = await ctx.mailbox_of(handle)
        effects |= ctx.foresee(handle.account, "set_flags", box.role).effects
    return Finer(effects=effects)


async def _text(request: MessagesGet, ctx: Context) -> ReadMessage:
    handle = Handle.parse(request.message)
    read = await content.read(ctx.backend(handle.account), handle)
    most = _SUMMARY_TOKENS if request.view == "summary" else request.max_tokens
    return _shown(request, read, "text", read.text, most)


async def _html(request: MessagesGet, ctx: Context) -> ReadMessage:
    handle = Handle.parse(request.message)
    read, safe = await content.read_html(ctx.backend(handle.account), handle)
    return _shown(request, read, "html", safe, request.max_tokens)


def _shown(request: MessagesGet, read: content.Content, name: str, body: str, most: int) -> ReadMessage:
    start = int(unseal(request, request.cursor) or 0)
    body = neutralise(body)
    piece, after = cut(body, most, start)
    shown = envelope_fields(read.envelope)
    return ReadMessage(
        **shown,
        **{name: piece},
        attachments=[listed(one) for one in read.attachments] if start == 0 else [],
        notices=sorted(read.notices),
        suspicious=bool(suspicion(f"{read.envelope.subject}\n{body}")),
        left_out=len(body) - after if after else 0,
        cursor=seal(request, str(after)) if after else None,
    )


async def _headers_view(request: MessagesGet, ctx: Context) -> ReadMessage:
    handle = Handle.parse(request.message)
    envelope = await _envelope(handle, ctx)
    lines, left_out = _fitting(await _header_lines(handle, ctx), request.max_tokens)
    return ReadMessage(**envelope_fields(envelope), headers=lines, left_out=left_out)


async def _structure_view(request: MessagesGet, ctx: Context) -> ReadMessage:
    handle = Handle.parse(request.message)
    structure = await ctx.backend(handle.account).structure(handle)
    return ReadMessage(
        **envelope_fields(structure.envelope), structure=[_part(one) for one in structure.root.walk()[:200]]
    )


_VIEWS = {"summary": _text, "text": _text, "html": _html, "headers": _headers_view, "structure": _structure_view}


async def get_many(request: MessagesGetMany, ctx: Context) -> ManyMessages:
    """Read messages one after the other until the budget is used up; a bad one does not stop the others."""
    left = request.max_tokens
    found: list[OneOfMany] = []
    for place, text in enumerate(request.messages):
        await ctx.progress(place, len(request.messages), "reading")
        if left < 100 and found:
            return ManyMessages(messages=found, rest=list(request.messages[place:]))
        try:
            one = await get(MessagesGet(message=text, max_tokens=max(200, left)), ctx)
        except MailError as error:
            found.append(OneOfMany(handle=text, status=error.status, code=error.code))
            continue
        found.append(OneOfMany(handle=text, status="ok", message=one))
        left -= tokens(one.text) + 100
    return ManyMessages(messages=found)


async def get_headers(request: MessagesHeaders, ctx: Context) -> HeaderBlock:
    """Read the header fields asked for, or all of them."""
    handle = Handle.parse(request.message)
    wanted = {name.casefold().rstrip(":") for name in request.names}
    lines = await _header_lines(handle, ctx)
    lines, left_out = _fitting(
        [one for one in lines if not wanted or one.name.casefold() in wanted], request.max_tokens
    )
    return HeaderBlock(handle=request.message, headers=lines, left_out=left_out)


async def raw(request: MessagesRaw, ctx: Context) -> RawMessage:
    """Show a piece of the source, or stream all of it into the managed store."""
    handle = Handle.parse(request.message)
    if request.save:
        return await _saved(request, handle, ctx)
    backend = ctx.backend(handle.account)
    start = int(unseal(request, request.cursor) or 0)
    size = (await _envelope(handle, ctx)).size
    octets = b"".join([chunk async for chunk in backend.fetch(handle, start=start, limit=request.max_tokens * 4)])
    piece = cut(octets.decode("latin-1"), request.max_tokens)[0]
    after = start + len(piece)
    return RawMessage(
        handle=request.message,
        raw=piece.encode("latin-1").decode("utf-8", "replace"),
        size=size,
        cursor=seal(request, str(after)) if octets and after < size else None,
    )


async def raw_effects(request: MessagesRaw, ctx: Context) -> Finer:
    """Reading is READ; keeping the exact octets is EXPORT as well."""
    return Finer(effects=frozenset({Effect.READ, Effect.EXPORT} if request.save else {Effect.READ}))


async def _saved(request: MessagesRaw, handle: Handle, ctx: Context) -> RawMessage:
    async with ctx.artifacts.create(ctx.caller, f"{handle.key}.eml", "message/rfc822") as writer:
        async for chunk in ctx.backend(handle.account).fetch(handle):
            await writer.write(chunk)
        artifact = await writer.done()
    return RawMessage(
        handle=request.message,
        artifact=artifact.id,
        filename=artifact.filename,
        size=artifact.size,
        sha256=artifact.sha256,
    )


def envelope_fields(envelope: Envelope) -> dict[str, object]:
    """The fields that every view of a message shares."""
    replies_elsewhere = envelope.reply_to and envelope.reply_to != envelope.sender
    return {
        "handle": str(envelope.handle),
        "date": shown_at(envelope.received or envelope.date),
        "from": people(envelope.sender),
        "to": people(envelope.to, most=20),
        "cc": people(envelope.cc, most=20),
        "reply_to": people(envelope.reply_to) if replies_elsewhere else "",
        "subject": envelope.subject,
        "message_id": envelope.message_id,
        "unread": Flag.SEEN not in envelope.flags,
        "flagged": Flag.FLAGGED in envelope.flags,
        "answered": Flag.ANSWERED in envelope.flags,
        "draft": Flag.DRAFT in envelope.flags,
        "version": None if envelope.version is None else str(envelope.version),
    }


async def _envelope(handle: Handle, ctx: Context) -> Envelope:
    found = await ctx.backend(handle.account).envelopes([handle])
    if not found:
        raise Stale("this handle no longer points at a message")
    return found[0]


async def _header_lines(handle: Handle, ctx: Context) -> list[HeaderLine]:
    blocks = await ctx.backend(handle.account).headers([handle])
    if handle not in blocks:
        raise Stale("this handle no longer points at a message")
    return [
        HeaderLine(name=name, value=value) for name, value in mime_headers.read_headers(blocks[handle][:_MOST_HEADERS])
    ]


def _fitting(lines: list[HeaderLine], budget: int) -> tuple[list[HeaderLine], int]:
    """Keep whole fields while they fit; the first is cut rather than left out."""
    kept: list[HeaderLine] = []
    for line in lines:
        cost = tokens(line.name + line.value) + 8
        if cost > budget:
            if not kept:
                kept.append(HeaderLine(name=line.name, value=cut(line.value, max(50, budget - 20))[0]))
            break
        kept.append(line)
        budget -= cost
    return kept, len(lines) - len(kept)


def _part(part: Part) -> PartLine:
    return PartLine(
        part=part.path or "root",
        type=neutralise(part.media_type)[:100],
        size=part.size,
        filename=part.filename or "",
        disposition=part.disposition if part.disposition in ("inline", "attachment") else None,
    )


messages_get = Operation(
    request=MessagesGet,
    result=ReadMessage,
    effects=frozenset({Effect.READ, Effect.ORGANIZE}),
    perform=get,
    plan=get_effects,
    repeatable=True,
    uri="mail://messages/{message}",
    example={"message": "personal.ei5nnz.sd2egw-2n9c", "view": "text"},
)

messages_get_many = Operation(
    request=MessagesGetMany,
    result=ManyMessages,
    effects=frozenset({Effect.READ}),
    perform=get_many,
    repeatable=True,
    example={"messages": ["personal.ei5nnz.sd2egw-2n9c"]},
)

messages_headers = Operation(
    request=MessagesHeaders,
    result=HeaderBlock,
    effects=frozenset({Effect.READ}),
    perform=get_headers,
    repeatable=True,
    example={"message": "personal.ei5nnz.sd2egw-2n9c", "names": ["List-Unsubscribe"]},
)

messages_raw = Operation(
    request=MessagesRaw,
    result=RawMessage,
    effects=frozenset({Effect.READ, Effect.EXPORT}),
    perform=raw,
    plan=raw_effects,
    example={"message": "personal.ei5nnz.sd2egw-2n9c"},
)
