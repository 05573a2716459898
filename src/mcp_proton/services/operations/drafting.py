"""Drafting: drafts written and changed (P-59, J-30, J-31, A-13, A-14).

A draft is changed by a new version that is stored and seen before the old one is removed. What the server does not keep of
a draft (told beforehand and afterwards) is kept on this machine and restored when the draft is sent through us.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from mcp_proton.domain.context import Context
from mcp_proton.domain.effects import DESTRUCTIVE, Effect
from mcp_proton.domain.errors import Invalid
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.operation import Finer, Operation, Request, Result
from mcp_proton.domain.outcome import Fate, Status
from mcp_proton.domain.plan import Impact, ReviewLine, Scope
from mcp_proton.mime.composing import reply as mime_reply
from mcp_proton.services.acting import foreseeing
from mcp_proton.services.fields import Mark, OneHandle, Ours
from mcp_proton.services.presenting.attached import Index
from mcp_proton.services.presenting.filed import Undone, undone
from mcp_proton.services.writing import answering, discarding, letters, redrafting, reviewed, versions
from mcp_proton.services.writing.addressees import Recipients, Sender
from mcp_proton.services.writing.redrafting import Digest
from mcp_proton.services.writing.written import (
    Attachments,
    Body,
    Subject,
    Thread,
    Written,
    account_of,
    scope_of,
    touched,
)

Detach = Annotated[tuple[Index, ...], Field(max_length=50, description="attachments to drop"), Mark.TOKEN]
_WRITING = frozenset({Effect.DRAFT, Effect.READ, Effect.INGEST, Effect.FETCH})


class DraftsCreate(Written):
    """Write a draft; `message`: the one it answers."""

    message: Annotated[OneHandle | None, Mark.HANDLE] = None
    quote: bool = True
    item: Annotated[OneHandle | None, Mark.TOKEN, Ours()] = None


class DraftsUpdate(Request):
    """Change a draft. What is not given stays; `attach` adds."""

    draft: OneHandle
    digest: Digest
    to: Annotated[Recipients | None, Mark.RECIPIENT] = None
    cc: Annotated[Recipients | None, Mark.RECIPIENT] = None
    bcc: Annotated[Recipients | None, Mark.RECIPIENT] = None
    subject: Annotated[Subject | None, Mark.TEXT] = None
    text: Annotated[Body | None, Mark.TEXT] = None
    html: Annotated[Body | None, Mark.TEXT] = None
    attach: Attachments = ()
    detach: Detach = ()
    sender: Annotated[Sender, Field(alias="from")] = None
    written: Annotated[Written | None, Mark.TOKEN, Ours()] = None
    unfinished: Annotated[tuple[str, ...], Mark.TEXT, Ours()] = ()


class Drafted(Result):
    """A draft as it was stored and seen. `not_on_the_server` is kept here and restored by drafts_send only."""

    draft: str | None = None
    digest: str | None = None
    attachments: int = 0
    not_on_the_server: list[str] = []
    not_done: list[Undone] = []
    state: str | None = None

    @property
    def ended(self) -> Status:
        """How the whole ended."""
        return Status(self.state) if self.state else Status.SUCCEEDED

    @property
    def code_of_end(self) -> str | None:
        """Why it did not end well."""
        return self.not_done[0].code if self.not_done else None


# --- writing one ------------------------------------------------------------------------------------------------------


async def create_ready(request: DraftsCreate, ctx: Context) -> Finer:
    """Getting it ready reads the message it answers, and what is attached."""
    read = {Impact(Effect.READ, await scope_of(request.message, ctx))} if request.message else set()
    return Finer(effects=frozenset(), impacts=await touched(request, ctx) | read)


async def create_pin(request: DraftsCreate, ctx: Context) -> DraftsCreate:
    """Fix it, as a mail is fixed that is sent."""
    request = await _answering(request, ctx) if request.message else request
    account = account_of(request, ctx)
    fixed = await letters.fix(request, ctx, await _most(account, ctx), bcc=True)
    box = await versions.drafts_of(account, ctx)
    if ctx.allows(Effect.READ, account, box):
        await versions.no_twin(fixed, box, ctx)
    name = f"draft-{redrafting.sealing(versions.message_id(fixed))[:16]}"
    return fixed.model_copy(update={"item": str(Handle(account, box.tag, name))})


async def create_plan(request: DraftsCreate, ctx: Context) -> Finer:
    """DRAFT in Drafts, and what attaching touches."""
    return await _plan(request, account_of(request, ctx), (), ctx)


async def create(request: DraftsCreate, ctx: Context) -> Drafted:
    """Store it, and see it there."""
    (item,) = create_items(request)
    version = await versions.put(request, item, ctx, old=None, unfinished=())
    return _drafted(version)


def create_items(request: DraftsCreate) -> Sequence[Handle]:
    """The draft that is to be, named by its place and its Message-ID."""
    return [] if request.item is None else [Handle.parse(request.item)]


async def create_look(request: DraftsCreate, fates: Sequence[Fate], age: float, ctx: Context) -> Sequence[Fate]:
    """Look for it by its Message-ID."""
    return [await versions.looked(one, await ctx.mailbox_of(one.handle), None, age, ctx) for one in fates]


async def _answering(request: DraftsCreate, ctx: Context) -> DraftsCreate:
    """Fill in what a reply has: to whom, the subject, the thread, the quoted text; what the caller gave stays."""
    found = await answering.source(str(request.message), request.sender, ctx, page=request.html is not None)
    answer = mime_reply.reply(found.original, found.own, no_reply=True)
    text = request.text.rstrip("\n") + letters.signature(found.sender)
    html = request.html
    if request.quote:
        text = answer.quote.below(text)
        html = None if html is None else answer.quote.below_html(html)
    return request.model_copy(
        update={
            "to": request.to or tuple(map(str, answer.recipients.to)),
            "subject": request.subject or answer.subject,
            "text": text,
            "html": html,
            "account": found.handle.account,
            "sender": found.sender.email,
            "thread": Thread(
                source=request.message,
                in_reply_to=answer.in_reply_to,
                references=answer.references,
                quoted=answer.quote.text if request.quote else "",
            ),
        }
    )


# --- changing one -----------------------------------------------------------------------------------------------------


async def update_ready(request: DraftsUpdate, ctx: Context) -> Finer:
    """Getting it ready reads the draft, and what is attached."""
    read = Impact(Effect.READ, await scope_of(request.draft, ctx))
    return Finer(effects=frozenset(), impacts=await touched(request, ctx) | {read})


async def update_pin(request: DraftsUpdate, ctx: Context) -> DraftsUpdate:
    """Fix the whole new version: what is given, and of the draft what is not."""
    stored = await redrafting.unchanged(request.draft, request.digest, ctx)
    handle = stored.handle
    letter = stored.letter
    text, html = letter.text, letter.html
    if request.html is not None:
        html = request.html or None
        text = request.text or ""
    elif request.text is not None:
        text, html = request.text, None
    written = Written(
        to=tuple(map(str, letter.to)) if request.to is None else request.to,
        cc=tuple(map(str, letter.cc)) if request.cc is None else request.cc,
        bcc=tuple(map(str, letter.bcc)) if request.bcc is None else request.bcc,
        subject=letter.subject if request.subject is None else request.subject,
        text=text,
        html=html,
        attach=(*stored.attached(request.detach), *request.attach),
        account=handle.account,
        thread=stored.thread or Thread(),
        **{"from": request.sender or await redrafting.sender(stored, ctx)},
    )
    fixed = await letters.fix(written, ctx, await _most(handle.account, ctx), bcc=True)
    return request.model_copy(update={**_NOTHING, "written": fixed, "unfinished": stored.unfinished})


_NOTHING = {
    "to": None,
    "cc": None,
    "bcc": None,
    "subject": None,
    "text": None,
    "html": None,
    "attach": (),
    "detach": (),
}


async def update_plan(request: DraftsUpdate, ctx: Context) -> Finer:
    """DRAFT in Drafts, and what becomes of the version before."""
    account = Handle.parse(request.draft).account
    box = await ctx.mailbox_of(Handle.parse(request.draft))
    row = await discarding.foreseen(box, ctx)
    risk = bool(row.effects & DESTRUCTIVE)
    lines = [ReviewLine("replaces", f"the draft {request.draft}, which is then {row.result}", risk=risk)]
    if request.unfinished:
        dropped = ", ".join(request.unfinished)
        lines.append(
            ReviewLine("not in the new version", f"unfinished recipients: {dropped}", untrusted=True, risk=True)
        )
    return await _plan(_whole(request), account, lines, ctx)


async def update(request: DraftsUpdate, ctx: Context) -> Drafted:
    """Store the new version, see it, remove the old one."""
    old = await redrafting.unchanged(request.draft, request.digest, ctx)
    version = await versions.put(_whole(request), old.handle, ctx, old=old, unfinished=request.unfinished)
    return _drafted(version)


async def update_look(request: DraftsUpdate, fates: Sequence[Fate], age: float, ctx: Context) -> Sequence[Fate]:
    """Look which of the two versions are there."""
    return [await versions.looked(one, await ctx.mailbox_of(one.handle), one.handle, age, ctx) for one in fates]


def _whole(request: DraftsUpdate) -> Written:
    if request.written is None:
        raise Invalid("the draft to be stored is missing")
    return request.written


async def _plan(written: Written, account: str, lines: Sequence[ReviewLine], ctx: Context) -> Finer:
    box = await versions.drafts_of(account, ctx)
    row_ = await foreseeing.mailbox("append", box, ctx)
    told = [*lines, ReviewLine("stored as", row_.result)]
    if written.thread is not None and written.thread != Thread():
        told.append(
            ReviewLine("answers a message", "what a server drops of that is kept here, and restored by drafts_send")
        )
    impacts = {Impact(effect, Scope(account, box.path, box.role)) for effect in row_.effects}
    impacts |= await touched(written, ctx)
    return Finer(effects=frozenset(), impacts=frozenset(impacts), review=(*told, *reviewed.lines(written, ())))


async def _most(account: str, ctx: Context) -> int | None:
    submits = ctx.backend(account).submits
    return None if submits is None else (await submits.capacity()).append


def _drafted(version: versions.Version) -> Drafted:
    tally, stored = version.tally, version.stored
    return Drafted(
        draft=None if stored is None else str(stored.handle),
        digest=None if stored is None else stored.digest,
        attachments=0 if stored is None else len(stored.attachments),
        not_on_the_server=list(version.dropped),
        not_done=[undone(one) for one in tally.others],
        state=None if tally.ended is Status.SUCCEEDED else tally.ended.value,
    )


_DRAFT = "personal.ei5nnz.sd2egw-2n9c"

drafts_create = Operation(
    request=DraftsCreate,
    result=Drafted,
    effects=_WRITING,
    purpose=Effect.DRAFT,
    ready=create_ready,
    pin=create_pin,
    plan=create_plan,
    perform=create,
    look=create_look,
    items=create_items,
    outlined=frozenset({"account"}),
    chunked=True,
    example={"to": ["Anna <anna@example.org>"], "subject": "Lunch", "text": "Tomorrow at noon?"},
)

drafts_update = Operation(
    request=DraftsUpdate,
    result=Drafted,
    effects=_WRITING,
    purpose=Effect.DRAFT,
    ready=update_ready,
    pin=update_pin,
    plan=update_plan,
    perform=update,
    look=update_look,
    items=lambda request: [Handle.parse(request.draft)],
    outlined=frozenset({"draft", "digest"}),
    chunked=True,
    example={"draft": _DRAFT, "digest": "0" * 32, "subject": "Dinner"},
)
