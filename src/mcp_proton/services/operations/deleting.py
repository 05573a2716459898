"""Deleting for good: exactly the messages named, and nothing that others marked (P-61, P-93)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from mcp_proton.domain.context import Context
from mcp_proton.domain.effects import Effect
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.mail import Flag, Mailbox
from mcp_proton.domain.operation import Finer, Operation, Request, Shorthand
from mcp_proton.domain.outcome import Fate
from mcp_proton.domain.ports import FlagChange, MailBackend
from mcp_proton.services.acting import foreseeing, looking
from mcp_proton.services.asking import matching
from mcp_proton.services.fields import Account, ManyHandles, Mark, Preview
from mcp_proton.services.presenting.filed import Filed, filed, parsed

_MESSAGES = ["personal.ei5nnz.sd2egw-2n9c"]


class MessagesDestroy(Request):
    """Delete messages for good. Mostly possible in Trash only."""

    messages: ManyHandles
    preview: Preview = False


class MessagesDestroyMatching(matching.Matching):
    """Delete for good all messages that match a query."""

    preview: Preview = False


class MailboxesEmpty(Request):
    """Delete for good all that Trash or Spam holds now."""

    mailbox: Annotated[Literal["trash", "spam"], Mark.MAILBOX]
    account: Account = None
    preview: Preview = False


class MessagesMarkDeleted(Request):
    """Mark messages as deleted, where that means something."""

    messages: ManyHandles
    clear: bool = False


async def destroy(request: MessagesDestroy, ctx: Context) -> Filed:
    """Delete, chunk by chunk; what a label or a star holds is left and named."""

    async def act(backend: MailBackend, source: Mailbox, handles: Sequence[Handle]) -> Sequence[Fate]:
        return await backend.destroy(handles)

    return filed(await ctx.batch(parsed(request.messages), act, "deleting", provable=True), request.messages)


async def destroy_plan(request: MessagesDestroy, ctx: Context) -> Finer:
    """What deleting does depends on the mailbox's role."""
    return await foreseeing.filing(request.messages, lambda _: ("destroy",), None, ctx)


async def destroy_look(request: MessagesDestroy, fates: Sequence[Fate], age: float, ctx: Context) -> Sequence[Fate]:
    """Look whether they are gone."""
    return await looking.gone(fates, age, ctx)


async def mark(request: MessagesMarkDeleted, ctx: Context) -> Filed:
    """Set or clear the mark, chunk by chunk."""
    deleted = frozenset({Flag.DELETED.value})
    change = FlagChange(remove=deleted) if request.clear else FlagChange(add=deleted)

    async def act(backend: MailBackend, source: Mailbox, handles: Sequence[Handle]) -> Sequence[Fate]:
        return await backend.set_flags(handles, change)

    return filed(await ctx.batch(parsed(request.messages), act, "marking"), request.messages)


async def mark_plan(request: MessagesMarkDeleted, ctx: Context) -> Finer:
    """Any mail program may delete what is marked; clearing only keeps mail."""
    verb = "unmark_deleted" if request.clear else "mark_deleted"
    return await foreseeing.filing(request.messages, lambda _: (verb,), None, ctx)


async def mark_look(request: MessagesMarkDeleted, fates: Sequence[Fate], age: float, ctx: Context) -> Sequence[Fate]:
    """Look whether they have the mark."""
    return await looking.flags(fates, age, ctx, lambda flags: (Flag.DELETED in flags) is not request.clear)


def mark_back(request: MessagesMarkDeleted, fates: Sequence[Fate]) -> Sequence[Request]:
    """Clear what was set."""
    if request.clear or not fates:
        return ()
    return [MessagesMarkDeleted(messages=tuple(str(fate.handle) for fate in fates), clear=True)]


async def destroy_matching(request: MessagesDestroyMatching, ctx: Context) -> MessagesDestroy:
    """Pin what matches."""
    return MessagesDestroy(messages=await matching.matched(request, ctx))


async def empty(request: MailboxesEmpty, ctx: Context) -> MessagesDestroy:
    """Pin what is there now: what arrives meanwhile stays (P-93)."""
    return MessagesDestroy(messages=await matching.everything(request.mailbox, request.account, ctx))


messages_destroy = Operation(
    request=MessagesDestroy,
    result=Filed,
    effects=frozenset({Effect.DESTROY}),
    perform=destroy,
    plan=destroy_plan,
    look=destroy_look,
    chunked=True,
    example={"messages": _MESSAGES},
)

messages_destroy_matching = Shorthand(
    request=MessagesDestroyMatching,
    into=messages_destroy,
    expand=destroy_matching,
    prepares=matching.PREPARES,
    example={"query": "before:2020-01-01", "mailboxes": ["trash"], "preview": True},
)

mailboxes_empty = Shorthand(
    request=MailboxesEmpty,
    into=messages_destroy,
    expand=empty,
    prepares=frozenset({Effect.LIST}),
    example={"mailbox": "trash", "preview": True},
)

messages_mark_deleted = Operation(
    request=MessagesMarkDeleted,
    result=Filed,
    effects=frozenset({Effect.DESTROY, Effect.ORGANIZE}),
    perform=mark,
    plan=mark_plan,
    look=mark_look,
    undo=mark_back,
    chunked=True,
    repeatable=True,
    example={"messages": _MESSAGES},
)
