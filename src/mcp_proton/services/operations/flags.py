"""Flags: read, starred, answered and any keyword the server keeps (P-55)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from mcp_proton.domain.context import Context
from mcp_proton.domain.effects import Effect
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.mail import Flag, Mailbox
from mcp_proton.domain.operation import Finer, Operation, Request, Shorthand
from mcp_proton.domain.outcome import UNGUARDED, Ending, Fate
from mcp_proton.domain.ports import LARGEST_VERSION, FlagChange, MailBackend, Standing
from mcp_proton.services.acting import foreseeing, looking
from mcp_proton.services.acting.batches import CHUNK
from mcp_proton.services.asking import matching
from mcp_proton.services.fields import ManyHandles, Mark, Preview, listed
from mcp_proton.services.presenting.filed import Filed, filed, parsed

_WORDS = {
    "read": Flag.SEEN,
    "starred": Flag.FLAGGED,
    "star": Flag.FLAGGED,
    "important": Flag.FLAGGED,
    "replied": Flag.ANSWERED,
}
_UNGUARDED = "done without `unchanged_since`: this server cannot tell whether they were changed meanwhile"
_KEYWORD = re.compile(r"[A-Za-z0-9_$.+-]{1,64}")
_LOCAL = frozenset(Flag) - {Flag.SEEN, Flag.FLAGGED}
_MESSAGES = ["personal.ei5nnz.sd2egw-2n9c"]


def _flag(word: str) -> str:
    flag = str(_WORDS.get(word.lower(), word))
    if flag.lower() in frozenset(Flag):
        flag = flag.lower()
    if flag in (Flag.DELETED, Flag.DRAFT) or flag.lower() == "recent":
        raise ValueError(f"`{flag}` is not set this way")
    if flag.lower() == "unread":
        raise ValueError("`unread` is the absence of `read`: remove `read`")
    if not _KEYWORD.fullmatch(flag):
        raise ValueError("a flag is read, starred, answered, forwarded, or a keyword of letters, digits and _ $ . + -")
    return flag


Flags = Annotated[
    tuple[Annotated[str, AfterValidator(_flag)], ...],
    BeforeValidator(listed),
    Field(max_length=20),
    Mark.TEXT,
]


def _says_something(request: Change) -> Change:
    if not request.add and not request.remove:
        raise ValueError("name a flag to add or to remove")
    if set(request.add) & set(request.remove):
        raise ValueError("a flag cannot be both added and removed")
    return request


def _digits(value: object) -> object:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


UnchangedSince = Annotated[
    Annotated[str, Field(pattern=r"^[1-9][0-9]{0,18}$")] | None,
    BeforeValidator(_digits),
    Field(description="lowest `version` you read"),
    Mark.TOKEN,
]
"""As text, since a version has up to 63 bits and many clients read numbers as floating point."""


def _can_be_guarded(request: MessagesFlag) -> MessagesFlag:
    """Refuse a guard that would not hold: versions are counted in each mailbox apart."""
    if request.unchanged_since is None:
        return request
    if int(request.unchanged_since) > LARGEST_VERSION:
        raise ValueError("`unchanged_since` is a `version` as a read told it")
    if request.add and request.remove:
        raise ValueError("with `unchanged_since`, either add flags or remove some: do one after the other")
    if len({(one.account, one.tag) for one in parsed(request.messages)}) > 1:
        raise ValueError("with `unchanged_since`, all messages are of one mailbox: versions are counted in each apart")
    return request


class MessagesFlag(Request):
    """Add or remove flags of messages."""

    messages: ManyHandles
    add: Annotated[Flags, Field(description="read, starred, answered, forwarded or a keyword")] = ()
    remove: Flags = ()
    unchanged_since: UnchangedSince = None
    preview: Preview = False
    _check = model_validator(mode="after")(_says_something)
    _check_guard = model_validator(mode="after")(_can_be_guarded)


class MessagesFlagMatching(matching.Matching):
    """Add or remove flags of all messages that match a query."""

    add: Flags = ()
    remove: Flags = ()
    preview: Preview = False
    _check = model_validator(mode="after")(_says_something)


Change = TypeVar("Change", MessagesFlag, MessagesFlagMatching)


class MessagesMarkRead(Request):
    """Mark messages as read."""

    messages: ManyHandles


class MessagesMarkUnread(Request):
    """Mark messages as unread."""

    messages: ManyHandles


class MessagesStar(Request):
    """Star messages."""

    messages: ManyHandles


class MessagesUnstar(Request):
    """Take the star off messages."""

    messages: ManyHandles


class Flagged(Filed):
    """How it ended. `local_only` are flags that this server keeps on this computer at most, until its next sync.

    `warning`: it was done, but not on the condition asked for.
    """

    local_only: list[str] = []


async def flag(request: MessagesFlag, ctx: Context) -> Flagged:
    """Change flags, chunk by chunk. A few messages are looked at first, so that taking it back is exact.

    With `unchanged_since`, a message that was changed later keeps its flags (`changed`). A server that does not count changes
    (Bridge) does it without that guard, and the answer says so: it tells no versions either, and a flag added or removed
    touches no other and can be taken back, so a refusal would keep people from more than it protects.
    """
    guard = None if request.unchanged_since is None else int(request.unchanged_since)
    change = FlagChange(frozenset(request.add), frozenset(request.remove), guard)
    looks = len(request.messages) <= CHUNK
    unguarded = False

    async def act(backend: MailBackend, source: Mailbox, handles: Sequence[Handle]) -> Sequence[Fate]:
        so_already = await _so_already(backend, handles, change) if looks else frozenset()
        nonlocal unguarded
        fates = await backend.set_flags(handles, change)
        unguarded = unguarded or any(fate.code == UNGUARDED for fate in fates)
        return [_told(fate, unchanged=fate.handle in so_already) for fate in fates]

    tally = await ctx.batch(parsed(request.messages), act, "flagging")
    accounts = {handle.account for handle in parsed(request.messages)}
    told = dict(filed(tally, request.messages))
    told |= {"local_only": _local(change, accounts, ctx), "warning": _UNGUARDED if unguarded else None}
    return Flagged(**told)


async def _so_already(backend: MailBackend, handles: Sequence[Handle], change: FlagChange) -> frozenset[Handle]:
    return frozenset(
        envelope.handle
        for envelope in await backend.envelopes(handles)
        if change.add <= envelope.flags and not change.remove & envelope.flags
    )


def _told(fate: Fate, *, unchanged: bool) -> Fate:
    if fate.ending is Ending.DONE and unchanged:
        return Fate.skipped(fate.handle, "unchanged", "it was so already")
    return fate


def _local(change: FlagChange, accounts: set[str], ctx: Context) -> list[str]:
    """Name the flags that a server which does not keep keywords does not keep either."""
    if all(ctx.backend(one).features().get("keywords") is not Standing.UNAVAILABLE for one in accounts):
        return []
    return sorted(
        one for one in change.add | change.remove if one in _LOCAL - {Flag.FORWARDED} or one not in frozenset(Flag)
    )


async def flag_plan(request: MessagesFlag, ctx: Context) -> Finer:
    """What flags do depends on the mailbox's role."""
    return await foreseeing.filing(request.messages, lambda _: ("set_flags",), None, ctx)


async def flag_look(request: MessagesFlag, fates: Sequence[Fate], age: float, ctx: Context) -> Sequence[Fate]:
    """Look whether they have the flags."""
    add, remove = frozenset(request.add), frozenset(request.remove)
    return await looking.flags(fates, age, ctx, lambda flags: add <= flags and not remove & flags)


def flag_back(request: MessagesFlag, fates: Sequence[Fate]) -> Sequence[Request]:
    """Set the opposite, where it is known which messages changed: one flag, and few enough messages to have been looked at."""
    if len(request.add) + len(request.remove) != 1 or not 0 < len(fates) <= CHUNK:
        return ()
    handles = tuple(str(fate.handle) for fate in fates)
    return [MessagesFlag(messages=handles, add=request.remove, remove=request.add)]


async def flag_matching(request: MessagesFlagMatching, ctx: Context) -> MessagesFlag:
    """Pin what matches."""
    return MessagesFlag(messages=await matching.matched(request, ctx), add=request.add, remove=request.remove)


async def read(request: MessagesMarkRead, ctx: Context) -> MessagesFlag:
    """Read is a flag."""
    return MessagesFlag(messages=request.messages, add=(Flag.SEEN,))


async def unread(request: MessagesMarkUnread, ctx: Context) -> MessagesFlag:
    """Unread is its absence."""
    return MessagesFlag(messages=request.messages, remove=(Flag.SEEN,))


async def star(request: MessagesStar, ctx: Context) -> MessagesFlag:
    """A star is a flag."""
    return MessagesFlag(messages=request.messages, add=(Flag.FLAGGED,))


async def unstar(request: MessagesUnstar, ctx: Context) -> MessagesFlag:
    """Take it off."""
    return MessagesFlag(messages=request.messages, remove=(Flag.FLAGGED,))


messages_flag = Operation(
    request=MessagesFlag,
    result=Flagged,
    effects=frozenset({Effect.ORGANIZE}),
    perform=flag,
    plan=flag_plan,
    look=flag_look,
    undo=flag_back,
    chunked=True,
    repeatable=True,
    example={"messages": _MESSAGES, "add": ["starred"]},
)

messages_flag_matching = Shorthand(
    request=MessagesFlagMatching,
    into=messages_flag,
    expand=flag_matching,
    prepares=matching.PREPARES,
    example={"query": "from:news is:unread", "add": ["read"], "preview": True},
)

messages_mark_read = Shorthand(
    request=MessagesMarkRead, into=messages_flag, expand=read, example={"messages": _MESSAGES}
)
messages_mark_unread = Shorthand(
    request=MessagesMarkUnread, into=messages_flag, expand=unread, example={"messages": _MESSAGES}
)
messages_star = Shorthand(request=MessagesStar, into=messages_flag, expand=star, example={"messages": _MESSAGES})
messages_unstar = Shorthand(request=MessagesUnstar, into=messages_flag, expand=unstar, example={"messages": _MESSAGES})
