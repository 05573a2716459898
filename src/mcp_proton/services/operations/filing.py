"""Filing: move, copy, and the everyday names of moving (P-56)."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_proton.domain.context import Context
from mcp_proton.domain.effects import Effect
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.mail import Mailbox, Role
from mcp_proton.domain.operation import Finer, Operation, Request, Shorthand
from mcp_proton.domain.outcome import Ending, Fate, Tally
from mcp_proton.domain.ports import MailBackend
from mcp_proton.services.acting import foreseeing, looking
from mcp_proton.services.asking import matching, places
from mcp_proton.services.asking.moving import MessagesMove
from mcp_proton.services.fields import HOME_WORD, Destination, MailboxField, ManyHandles, Preview
from mcp_proton.services.presenting.filed import Filed, filed, parsed

_MESSAGES = ["personal.ei5nnz.sd2egw-2n9c"]
_EFFECTS = frozenset({Effect.ORGANIZE, Effect.DRAFT, Effect.DESTROY})
"""The most that a table may say of filing: into Trash or Drafts it can be more than organizing."""


class MessagesMoveMatching(matching.Matching):
    """Move all messages that match a query."""

    to: Destination
    preview: Preview = False


class MessagesCopy(Request):
    """Copy messages to another mailbox, where copies exist."""

    messages: ManyHandles
    to: MailboxField
    preview: Preview = False


class MessagesArchive(Request):
    """Move messages to Archive."""

    messages: ManyHandles


class MessagesTrash(Request):
    """Move messages to Trash."""

    messages: ManyHandles


class MessagesRestore(Request):
    """Bring messages back from Trash, Spam or Archive."""

    messages: ManyHandles


class MessagesSpam(Request):
    """Move messages to Spam."""

    messages: ManyHandles


class MessagesNotSpam(Request):
    """Move messages out of Spam."""

    messages: ManyHandles


_ORPHANED = "orphaned"
_UNNAMED = "the server did not say where all of them are now: list or search again for their new handles"


def _verbs(source: Mailbox) -> tuple[str, ...]:
    """What only the mailbox of everything shows has no place: it is put into one, not moved."""
    return ("move", "reattach") if source.role is Role.ALL else ("move",)


def _placed(tally: Tally, asked: Sequence[str]) -> Filed:
    """Tell a tally; with a warning where a server without UIDPLUS took messages and named no new handles (A-71)."""
    told = filed(tally, asked)
    unnamed = any(fate.now is None for fate in tally.done)
    return told.model_copy(update={"warning": _UNNAMED}) if unnamed else told


async def move(request: MessagesMove, ctx: Context) -> Filed:
    """Move, chunk by chunk."""

    async def act(backend: MailBackend, source: Mailbox, handles: Sequence[Handle]) -> Sequence[Fate]:
        to = await places.destination(request.to, source.account, ctx)
        fates = {fate.handle: fate for fate in await backend.move(handles, to)}
        orphans = [fate.handle for fate in fates.values() if fate.code == _ORPHANED]
        if orphans and source.role is Role.ALL:
            fates |= {fate.handle: fate for fate in await backend.reattach(orphans, to)}
        return list(fates.values())

    return _placed(await ctx.batch(parsed(request.messages), act, "moving", provable=True), request.messages)


async def move_plan(request: MessagesMove, ctx: Context) -> Finer:
    """What moving does depends on the mailboxes' roles."""
    return await foreseeing.filing(request.messages, _verbs, request.to, ctx)


async def move_look(request: MessagesMove, fates: Sequence[Fate], age: float, ctx: Context) -> Sequence[Fate]:
    """Look where they are."""

    async def ask(backend: MailBackend, mine: Sequence[Fate]) -> Sequence[Fate]:
        return await backend.prove(mine, await places.destination(request.to, mine[0].handle.account, ctx), age)

    return await looking.by_account(fates, ctx, ask)


def move_back(request: MessagesMove, fates: Sequence[Fate]) -> Sequence[Request]:
    """Move each back to where it came from, one request a mailbox. Into a view nothing can be moved back."""
    back: dict[tuple[str, str], list[str]] = {}
    for fate in fates:
        if fate.now is not None:
            back.setdefault((fate.handle.account, fate.handle.tag), []).append(str(fate.now))
    return [MessagesMove(messages=tuple(messages), to=tag) for (_, tag), messages in back.items()]


async def copy(request: MessagesCopy, ctx: Context) -> Filed:
    """Copy, chunk by chunk."""

    async def act(backend: MailBackend, source: Mailbox, handles: Sequence[Handle]) -> Sequence[Fate]:
        return await backend.copy(handles, await ctx.mailbox(source.account, request.to))

    return _placed(await ctx.batch(parsed(request.messages), act, "copying", provable=True), request.messages)


async def copy_plan(request: MessagesCopy, ctx: Context) -> Finer:
    """What copying does depends on the mailboxes' roles; on Bridge it moves, so there is no row for it."""
    return await foreseeing.filing(request.messages, lambda _: ("copy",), request.to, ctx)


async def copy_look(request: MessagesCopy, fates: Sequence[Fate], age: float, ctx: Context) -> Sequence[Fate]:
    """Look for copies that an answer named. Of one whose answer was lost nothing can be told: the original stays anyway."""

    async def ask(backend: MailBackend, mine: Sequence[Fate]) -> Sequence[Fate]:
        return await backend.prove(mine, await ctx.mailbox(mine[0].handle.account, request.to), age)

    named = [fate for fate in fates if fate.ending is Ending.DONE]
    return [*await looking.by_account(named, ctx, ask), *(fate for fate in fates if fate.ending is not Ending.DONE)]


async def move_matching(request: MessagesMoveMatching, ctx: Context) -> MessagesMove:
    """Pin what matches."""
    return MessagesMove(messages=await matching.matched(request, ctx), to=request.to)


async def to_archive(request: MessagesArchive, ctx: Context) -> MessagesMove:
    """Archive is a destination."""
    return MessagesMove(messages=request.messages, to=Role.ARCHIVE.value)


async def to_trash(request: MessagesTrash, ctx: Context) -> MessagesMove:
    """Trash is a destination."""
    return MessagesMove(messages=request.messages, to=Role.TRASH.value)


async def to_spam(request: MessagesSpam, ctx: Context) -> MessagesMove:
    """Spam is a destination."""
    return MessagesMove(messages=request.messages, to=Role.SPAM.value)


async def home(request: MessagesRestore | MessagesNotSpam, ctx: Context) -> MessagesMove:
    """Where a message belongs depends on its kind."""
    return MessagesMove(messages=request.messages, to=HOME_WORD)


messages_move = Operation(
    request=MessagesMove,
    result=Filed,
    effects=_EFFECTS,
    perform=move,
    plan=move_plan,
    look=move_look,
    undo=move_back,
    chunked=True,
    example={"messages": _MESSAGES, "to": "archive"},
)

messages_copy = Operation(
    request=MessagesCopy,
    result=Filed,
    effects=_EFFECTS,
    perform=copy,
    plan=copy_plan,
    look=copy_look,
    chunked=True,
    example={"messages": _MESSAGES, "to": "archive"},
)

messages_move_matching = Shorthand(
    request=MessagesMoveMatching,
    into=messages_move,
    expand=move_matching,
    prepares=matching.PREPARES,
    example={"query": "from:news before:2026-01-01", "to": "archive", "preview": True},
)

messages_archive = Shorthand(
    request=MessagesArchive, into=messages_move, expand=to_archive, example={"messages": _MESSAGES}
)
messages_trash = Shorthand(request=MessagesTrash, into=messages_move, expand=to_trash, example={"messages": _MESSAGES})
messages_spam = Shorthand(request=MessagesSpam, into=messages_move, expand=to_spam, example={"messages": _MESSAGES})
messages_restore = Shorthand(request=MessagesRestore, into=messages_move, expand=home, example={"messages": _MESSAGES})
messages_not_spam = Shorthand(request=MessagesNotSpam, into=messages_move, expand=home, example={"messages": _MESSAGES})
