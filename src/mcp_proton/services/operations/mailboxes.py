"""Mailboxes: the tree, and an overview of what wants attention in one of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from mcp_proton.domain.context import Context
from mcp_proton.domain.effects import Effect
from mcp_proton.domain.mail import Envelope, Flag, Mailbox, Role
from mcp_proton.domain.operation import Finer, Operation, Request, Result
from mcp_proton.domain.outcome import Fate
from mcp_proton.domain.plan import ReviewLine
from mcp_proton.domain.ports import Order, Page
from mcp_proton.domain.query import All, And, HasFlag, Not, Or
from mcp_proton.mime.neutral import neutralise
from mcp_proton.services.acting import foreseeing
from mcp_proton.services.fields import Account, MailboxField, Mark, Stranger
from mcp_proton.services.presenting import attention
from mcp_proton.services.presenting.rows import Reach, Row, reach, row

_LOOKED_AT = 100
_ORDER = (
    Role.INBOX,
    Role.DRAFTS,
    Role.SENT,
    Role.STARRED,
    Role.ARCHIVE,
    Role.SPAM,
    Role.TRASH,
    Role.ALL,
    Role.SCHEDULED,
)


class MailboxesList(Request):
    """List mailboxes (folders, labels) with counts."""

    account: Account = None


class MailboxesOverview(Request):
    """Show what wants attention in a mailbox, and why."""

    mailbox: MailboxField = "inbox"
    account: Account = None
    limit: Annotated[int, Field(ge=1, le=50), Mark.TOKEN] = 20


class MailboxesSubscribe(Request):
    """Show or hide a mailbox in other mail programs."""

    mailbox: MailboxField
    account: Account = None
    subscribed: bool = True


class Subscribed(Result):
    """Whether other mail programs show the mailbox."""

    mailbox: Stranger
    subscribed: bool | str = True


class ListedMailbox(Result):
    """One mailbox. `id` is there where the path had to be changed to be shown; use it instead.

    `subscribed` is there where other mail programs do not show it.
    """

    path: Stranger
    role: str
    id: str | None = None
    total: int | None = None
    unread: int | None = None
    subscribed: str | None = None


class MailboxList(Result):
    """The mailboxes this caller may list, system mailboxes first, then by path."""

    account: str
    mailboxes: list[ListedMailbox] = []
    hidden: int = 0


class Overview(Result):
    """The mailbox's counts, and the messages most likely to want an answer or a look, with the rule that says so."""

    mailbox: Stranger
    total: int | None = None
    unread: int | None = None
    looked_at: int = 0
    unread_seen: int = 0
    flagged_seen: int = 0
    messages: list[Row] = []
    coverage: Reach


async def list_mailboxes(request: MailboxesList, ctx: Context) -> MailboxList:
    """List what the caller may list; what it may not is only counted."""
    name = ctx.account(request.account)
    boxes = await ctx.backend(name).mailboxes(counts=True, fresh=True)
    shown = [box for box in boxes if box.role is not Role.NODE and not ctx.denies(Effect.LIST, name, box)]
    real = sum(box.role is not Role.NODE for box in boxes)
    return MailboxList(
        account=name, mailboxes=[_listed(box) for box in sorted(shown, key=_place)], hidden=real - len(shown)
    )


async def overview(request: MailboxesOverview, ctx: Context) -> Overview:
    """Look at the newest messages and every unread or flagged one near them, and rank them by plain local rules (P-08)."""
    name = ctx.account(request.account)
    backend = ctx.backend(name)
    box = await ctx.mailbox(name, request.mailbox)
    mine = frozenset(one.email.casefold() for one in await backend.identities())
    waiting = Or((Not(HasFlag(Flag.SEEN)), HasFlag(Flag.FLAGGED)))
    found = await backend.search([box], And((All(), waiting)), Page(limit=_LOOKED_AT, order=Order.NEWEST))
    ranked = attention.rank(found.rows, mine, ctx.clock.now())
    counted = next((one for one in await backend.mailboxes(counts=True) if one.tag == box.tag), box)
    return Overview(
        mailbox=box.path,
        total=counted.total,
        unread=counted.unread,
        looked_at=len(found.rows),
        unread_seen=_count(found.rows, Flag.SEEN, absent=True),
        flagged_seen=_count(found.rows, Flag.FLAGGED),
        messages=[row(one.envelope, why=one.reasons) for one in ranked[: request.limit]],
        coverage=reach(found.coverage, brief=True),
    )


async def subscribe(request: MailboxesSubscribe, ctx: Context) -> Subscribed:
    """Show it or hide it; to ask for what is so already is no error (J-41, J-42)."""
    name = ctx.account(request.account)
    box = await ctx.mailbox(name, request.mailbox)
    await ctx.backend(name).subscribe(box, on=request.subscribed)
    return Subscribed(mailbox=box.path, subscribed=request.subscribed or "no")


async def subscribe_plan(request: MailboxesSubscribe, ctx: Context) -> Finer:
    """Nothing in it changes."""
    box = await ctx.mailbox(ctx.account(request.account), request.mailbox)
    row = await foreseeing.mailbox("subscribe", box, ctx)
    return Finer(effects=row.effects, review=(ReviewLine(f"mailbox {box.path}", row.result),))


async def shown(request: MailboxesSubscribe, ctx: Context) -> bool | None:
    """Look whether it is as asked, where the server tells that."""
    name = ctx.account(request.account)
    box = await ctx.mailbox(name, request.mailbox)
    boxes = await ctx.backend(name).mailboxes(fresh=True)
    now = next((one.subscribed for one in boxes if one.tag == box.tag), None)
    return None if now is None else now is request.subscribed


def subscribe_back(request: MailboxesSubscribe, fates: Sequence[Fate]) -> Sequence[Request]:
    """The opposite."""
    return [request.model_copy(update={"subscribed": not request.subscribed})]


def _count(rows: Sequence[Envelope], flag: Flag, *, absent: bool = False) -> int:
    return sum((flag in one.flags) is not absent for one in rows)


def _listed(box: Mailbox) -> ListedMailbox:
    changed = neutralise(box.path) != box.path
    return ListedMailbox(
        path=box.path,
        role=box.role.value,
        id=box.tag if changed else None,
        total=box.total,
        unread=box.unread,
        subscribed="no" if box.subscribed is False else None,
    )


def _place(box: Mailbox) -> tuple[int, str]:
    return (_ORDER.index(box.role) if box.role in _ORDER else len(_ORDER), box.path.casefold())


mailboxes_list = Operation(
    request=MailboxesList,
    result=MailboxList,
    effects=frozenset({Effect.LIST}),
    perform=list_mailboxes,
    repeatable=True,
    uri="mail://{account}/mailboxes",
    followed=True,
    example={"account": "personal"},
)

mailboxes_overview = Operation(
    request=MailboxesOverview,
    result=Overview,
    effects=frozenset({Effect.LIST}),
    perform=overview,
    repeatable=True,
    example={"mailbox": "inbox"},
)

mailboxes_subscribe = Operation(
    request=MailboxesSubscribe,
    result=Subscribed,
    effects=frozenset({Effect.ORGANIZE}),
    perform=subscribe,
    plan=subscribe_plan,
    happened=shown,
    undo=subscribe_back,
    repeatable=True,
    example={"mailbox": "Folders/Travel"},
)
