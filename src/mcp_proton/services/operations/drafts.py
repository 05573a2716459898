"""Drafts: listed, read, discarded (P-59). Writing and changing one is in `drafting`, sending one in `sending`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from mcp_proton.domain.context import Context
from mcp_proton.domain.effects import DESTRUCTIVE, Effect
from mcp_proton.domain.errors import Invalid
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.mail import Mailbox, Role
from mcp_proton.domain.operation import Finer, Operation, Request, Result
from mcp_proton.domain.outcome import Ending, Fate
from mcp_proton.domain.plan import Impact, ReviewLine, Scope
from mcp_proton.domain.ports import MailBackend, Page
from mcp_proton.domain.query import All
from mcp_proton.services.acting import foreseeing, looking
from mcp_proton.services.asking.cursors import seal, unseal
from mcp_proton.services.fields import Account, Cursor, Handles, Mark, OneHandle, Stranger
from mcp_proton.services.presenting.attached import ListedAttachment, listed
from mcp_proton.services.presenting.budget import DEFAULT_TOKENS, MaxTokens, cut
from mcp_proton.services.presenting.filed import Filed, filed, parsed
from mcp_proton.services.presenting.rows import Reach, Row, reach, row, shown_at
from mcp_proton.services.writing import discarding, redrafting, versions
from mcp_proton.services.writing.written import Thread


class DraftsGet(Request):
    """Read a draft, to be changed or sent."""

    draft: OneHandle
    html: bool = False
    max_tokens: MaxTokens = DEFAULT_TOKENS


class DraftsList(Request):
    """List drafts, newest first."""

    account: Account = None
    limit: Annotated[int, Field(ge=1, le=50), Mark.TOKEN] = 25
    cursor: Cursor = None


class DraftsDiscard(Request):
    """Delete drafts for good (on Gmail: move them to Trash)."""

    messages: Handles


class Draft(Result):
    """A draft. `digest` is what changing and sending ask for; `unfinished` are recipients that are no addresses yet.

    `answers` is the message it answers; `lost` what can no longer be restored.
    """

    handle: str
    digest: str
    date: str | None = None
    sender: Annotated[Stranger, Field(alias="from")] = ""
    to: list[Stranger] = []
    cc: list[Stranger] = []
    bcc: list[Stranger] = []
    subject: Stranger = ""
    text: Stranger = ""
    html: Stranger | None = None
    left_out: int = 0
    attachments: list[ListedAttachment] = []
    answers: str | None = None
    in_thread: bool = False
    unfinished: list[Stranger] = []
    lost: list[str] = []


class DraftPage(Result):
    """A page of drafts. `cursor` is there exactly when there is more."""

    drafts: list[Row] = []
    cursor: str | None = None
    coverage: Reach


# --- reading and discarding -------------------------------------------------------------------------------------------


async def get(request: DraftsGet, ctx: Context) -> Draft:
    """Read one, with what is kept of it here."""
    stored = await redrafting.read(request.draft, ctx)
    letter = stored.letter
    text, after = cut(letter.text, request.max_tokens)
    page = letter.html or ""
    shown, _ = cut(page, request.max_tokens)
    return Draft(
        handle=request.draft,
        digest=stored.digest,
        date=shown_at(stored.envelope.received or stored.envelope.date),
        to=list(map(str, letter.to)),
        cc=list(map(str, letter.cc)),
        bcc=list(map(str, letter.bcc)),
        subject=letter.subject,
        text=text,
        html=shown if request.html and page else None,
        left_out=len(letter.text) - after if after else 0,
        attachments=[listed(one) for one in stored.attachments],
        answers=None if stored.thread is None else stored.thread.source,
        in_thread=stored.thread is not None and stored.thread != Thread(),
        unfinished=list(stored.unfinished),
        lost=list(stored.lost),
        **{"from": str(letter.sender)},
    )


async def list_drafts(request: DraftsList, ctx: Context) -> DraftPage:
    """List the mailbox of drafts."""
    account = ctx.account(request.account)
    box = await versions.drafts_of(account, ctx)
    page = Page(limit=request.limit, continuation=unseal(request, request.cursor))
    found = await ctx.backend(account).search([box], All(), page)
    rows = [row(one, outgoing=True) for one in found.rows]
    cursor = seal(request, found.continuation) if found.continuation else None
    return DraftPage(drafts=rows, cursor=cursor, coverage=reach(found.coverage, brief=True))


async def list_plan(request: DraftsList, ctx: Context) -> Finer:
    """LIST in Drafts."""
    box = await versions.drafts_of(ctx.account(request.account), ctx)
    impact = Impact(Effect.LIST, Scope(box.account, box.path, box.role))
    return Finer(effects=frozenset(), impacts=frozenset({impact}))


async def discard_plan(request: DraftsDiscard, ctx: Context) -> Finer:
    """DRAFT where they are, which must be Drafts; discarding is for good, or into Trash."""
    lines = []
    for source, count in await foreseeing.sources(request.messages, ctx):
        if source.role is not Role.DRAFTS:
            raise Invalid("one of these is no draft", code="not_a_draft", next="`messages_trash` puts mail into Trash")
        row = await discarding.foreseen(source, ctx)
        risk = bool(row.effects & DESTRUCTIVE)
        lines.append(ReviewLine(f"{count} draft{'' if count == 1 else 's'} in {source.path}", row.result, risk=risk))
    return Finer(review=tuple(lines))


async def discard(request: DraftsDiscard, ctx: Context) -> Filed:
    """Take them away, and what is kept of them here."""

    async def act(backend: MailBackend, box: Mailbox, handles: Sequence[Handle]) -> Sequence[Fate]:
        known = {one.handle: one.message_id for one in await backend.envelopes(handles)}
        fates = await discarding.discard(handles, backend)
        for fate in fates:
            if fate.ending is Ending.DONE and known.get(fate.handle):
                await ctx.draft_notes.forget(box.account, known[fate.handle])
        return fates

    return filed(await ctx.batch(parsed(request.messages), act, "discarding", provable=True), request.messages)


async def discard_look(request: DraftsDiscard, fates: Sequence[Fate], age: float, ctx: Context) -> Sequence[Fate]:
    """Look whether they are gone."""
    return await looking.gone(fates, age, ctx)


_DRAFT = "personal.ei5nnz.sd2egw-2n9c"

drafts_get = Operation(
    request=DraftsGet,
    result=Draft,
    effects=frozenset({Effect.READ}),
    perform=get,
    repeatable=True,
    example={"draft": _DRAFT},
)

drafts_list = Operation(
    request=DraftsList,
    result=DraftPage,
    effects=frozenset({Effect.LIST}),
    plan=list_plan,
    perform=list_drafts,
    repeatable=True,
    example={},
)

drafts_discard = Operation(
    request=DraftsDiscard,
    result=Filed,
    effects=frozenset({Effect.DRAFT}),
    plan=discard_plan,
    perform=discard,
    look=discard_look,
    chunked=True,
    example={"messages": [_DRAFT]},
)
