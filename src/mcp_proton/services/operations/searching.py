"""Lists of messages: a mailbox by date, and search across mailboxes with a statement of what was covered."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from mcp_proton.domain.context import Context
from mcp_proton.domain.effects import Effect
from mcp_proton.domain.errors import NotFound
from mcp_proton.domain.mail import Flag, Mailbox, Role
from mcp_proton.domain.operation import Finer, Operation, Request, Result
from mcp_proton.domain.ports import Found, Order, Page
from mcp_proton.domain.query import All, HasFlag, Not, looks_inside
from mcp_proton.services.asking import queries
from mcp_proton.services.asking.cursors import seal, unseal
from mcp_proton.services.fields import Account, Cursor, MailboxField, MailboxFields, Mark, Text
from mcp_proton.services.presenting.rows import Reach, Row, reach, row

SEARCH_SECONDS = 20.0
_OUTGOING = frozenset({Role.SENT, Role.DRAFTS, Role.SCHEDULED})
_NOT_SEARCHED = frozenset({Role.NODE, Role.TRASH, Role.SPAM, Role.STARRED, Role.LABEL, Role.ALL, Role.RECOVERED})
Limit = Annotated[int, Field(ge=1, le=50), Mark.TOKEN]


class MessagesList(Request):
    """List messages of a mailbox, newest first by date."""

    mailbox: MailboxField = "inbox"
    account: Account = None
    unread: bool = False
    limit: Limit = 25
    cursor: Cursor = None


class MessagesSearch(Request):
    """Search messages. Query like `from:anna subject:"q3 plan" has:attachment -is:read since:2026-11-01 (a OR b)`.

    Terms: from to cc with subject body text header:Name=value message-id since before on larger smaller
    is:unread|starred|answered.
    """

    query: Text
    mailboxes: MailboxFields = ()
    account: Account = None
    order: Literal["newest", "oldest"] = "newest"
    limit: Limit = 25
    cursor: Cursor = None


class MessagePage(Result):
    """A page of rows. `cursor` is there exactly when there is more."""

    messages: list[Row] = []
    cursor: str | None = None
    coverage: Reach


async def list_messages(request: MessagesList, ctx: Context) -> MessagePage:
    """List one mailbox."""
    name = ctx.account(request.account)
    box = await ctx.mailbox(name, request.mailbox)
    page = Page(limit=request.limit, continuation=unseal(request, request.cursor), budget=SEARCH_SECONDS)
    found = await ctx.backend(name).search([box], Not(HasFlag(Flag.SEEN)) if request.unread else All(), page)
    return _page(request, found, {box.tag: box})


async def pin_scope(request: MessagesSearch, ctx: Context) -> MessagesSearch:
    """Fix where an unscoped search looks: everywhere this caller may, but Trash and Spam."""
    if request.mailboxes:
        return request
    name = ctx.account(request.account)
    effect = _effect(request, ctx)
    boxes = [box for box in await ctx.mailboxes(name) if box.selectable and not ctx.denies(effect, name, box)]
    everything = [box for box in boxes if box.role is Role.ALL]
    scope = everything or [box for box in boxes if box.role not in _NOT_SEARCHED]
    if not scope:
        raise NotFound("there is no mailbox you may search", next="name one in `mailboxes`, or ask the owner")
    return request.model_copy(update={"mailboxes": tuple(box.tag for box in scope)})


async def search_messages(request: MessagesSearch, ctx: Context) -> MessagePage:
    """Search, newest first by date unless asked otherwise."""
    name = ctx.account(request.account)
    scope = [await ctx.mailbox(name, reference) for reference in request.mailboxes]
    page = Page(
        limit=request.limit,
        order=Order(request.order),
        continuation=unseal(request, request.cursor),
        budget=SEARCH_SECONDS,
    )
    found = await ctx.backend(name).search(scope, queries.parse(request.query, ctx.timezone), page)
    return _page(request, found, {box.tag: box for box in scope})


async def search_effects(request: MessagesSearch, ctx: Context) -> Finer:
    """A search that looks inside content would be an oracle for it, so it needs READ; any other needs LIST."""
    return Finer(effects=frozenset({_effect(request, ctx)}))


def _effect(request: MessagesSearch, ctx: Context) -> Effect:
    return Effect.READ if looks_inside(queries.parse(request.query, ctx.timezone)) else Effect.LIST


def _page(request: MessagesList | MessagesSearch, found: Found, boxes: dict[str, Mailbox]) -> MessagePage:
    several = len(boxes) > 1
    rows = []
    for envelope in found.rows:
        box = boxes[envelope.handle.tag]
        excerpt = found.excerpts.get(envelope.handle, "")
        rows.append(
            row(envelope, outgoing=box.role in _OUTGOING, mailbox=box.path if several else None, excerpt=excerpt)
        )
    brief = isinstance(request, MessagesList)
    return MessagePage(
        messages=rows, cursor=seal(request, found.continuation), coverage=reach(found.coverage, brief=brief)
    )


messages_list = Operation(
    request=MessagesList,
    result=MessagePage,
    effects=frozenset({Effect.LIST}),
    perform=list_messages,
    repeatable=True,
    uri="mail://{account}/mailboxes/{mailbox}",
    followed=True,
    example={"mailbox": "inbox", "limit": 25},
)

messages_search = Operation(
    request=MessagesSearch,
    result=MessagePage,
    effects=frozenset({Effect.LIST, Effect.READ}),
    perform=search_messages,
    pin=pin_scope,
    plan=search_effects,
    repeatable=True,
    example={"query": "from:anna has:attachment since:2026-11-01"},
)
