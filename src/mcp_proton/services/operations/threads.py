"""Conversations: linked by Message-ID, References and In-Reply-To across the mailboxes the caller may read (P-70).

A shared subject never makes a message part of a conversation; it only points at messages whose References are then read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from mcp_proton.domain.context import Context
from mcp_proton.domain.effects import Effect
from mcp_proton.domain.errors import MailError, Stale, Unsupported
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.mail import Envelope, Mailbox, Role
from mcp_proton.domain.operation import Finer, Operation, Request, Result
from mcp_proton.domain.plan import Impact, Scope
from mcp_proton.domain.ports import Coverage, MailBackend, Order, Page
from mcp_proton.domain.query import Contains, Field, Linked, Query
from mcp_proton.mime.header import headers as mime_headers
from mcp_proton.mime.neutral import neutralise
from mcp_proton.mime.suspicion import suspicion
from mcp_proton.services.fields import OneHandle, Stranger
from mcp_proton.services.presenting import content
from mcp_proton.services.presenting.budget import DEFAULT_TOKENS, MaxTokens, cut, tokens
from mcp_proton.services.presenting.rows import Reach, Row, reach, row

MOST_IDS = 100
MOST_MESSAGES = 50
MOST_BY_SUBJECT = 100
_ROUNDS = 3
_SECONDS = 15.0
_INTERNAL = "@protonmail.internalid"
_PREFIX = re.compile(
    r"^\s*((re|fwd?|aw|wg|sv|vs|antw|rv|tr|ref|回复|转发|答复)\s*(\[\d+\])?\s*[:：]\s*)+", re.IGNORECASE
)
_CLOSED = frozenset({Role.NODE, Role.LABEL, Role.STARRED, Role.RECOVERED})


class ThreadsGet(Request):
    """Read a whole conversation."""

    message: OneHandle
    max_tokens: MaxTokens = DEFAULT_TOKENS


class ThreadMessage(Row):
    """A message of the conversation, oldest first, with as much of its text as the budget allows."""

    text: Stranger = ""
    cut: bool = False
    suspicious: bool = False


class Thread(Result):
    """The conversation. `missing` are Message-IDs that others refer to and that were not found where you may read."""

    messages: list[ThreadMessage] = []
    missing: list[Stranger] = []
    notices: list[str] = []
    coverage: Reach


async def thread_effects(request: ThreadsGet, ctx: Context) -> Finer:
    """READ on the message named, and on every mailbox of the account the caller may read without being asked."""
    handle = Handle.parse(request.message)
    boxes = await _scope(handle, ctx)
    return Finer(impacts=frozenset(Impact(Effect.READ, Scope(box.account, box.path, box.role)) for box in boxes))


async def get(request: ThreadsGet, ctx: Context) -> Thread:
    """Follow the links from the message named, in both directions."""
    handle = Handle.parse(request.message)
    backend = ctx.backend(handle.account)
    scope = await _scope(handle, ctx)
    found = await _of_server(backend, handle, scope)
    if found is None:
        found = await _follow(backend, scope, await _anchor(backend, handle))
    ordered = sorted(_one_each(found.envelopes.values(), handle), key=_when)[:MOST_MESSAGES]
    boxes = {box.tag: box for box in scope}
    shown = await _shown(backend, ordered, boxes, request.max_tokens, found.texts, ctx)
    missing = sorted(one for one in found.ids - found.present if not one.endswith(_INTERNAL))[:20]
    return Thread(
        messages=shown, missing=missing, notices=sorted(found.notices), coverage=reach(found.coverage, brief=True)
    )


@dataclass
class _Links:
    """What is known of the conversation so far."""

    ids: set[str]
    subject: str
    envelopes: dict[Handle, Envelope] = field(default_factory=dict)
    notices: set[str] = field(default_factory=set)
    texts: Mapping[Handle, str] = field(default_factory=dict)
    coverage: Coverage = field(default_factory=lambda: Coverage(complete=False, order="oldest first"))

    @property
    def present(self) -> set[str]:
        return {one.message_id for one in self.envelopes.values()}

    def take(self, envelope: Envelope, references: Iterable[str] = ()) -> None:
        self.envelopes[envelope.handle] = envelope
        linked = {envelope.message_id, *mime_headers.message_ids(envelope.in_reply_to), *references} - {""}
        for one in linked:
            if len(self.ids) < MOST_IDS:
                self.ids.add(one)
            elif one not in self.ids:
                self.notices.add("too_many_references")


async def _scope(handle: Handle, ctx: Context) -> list[Mailbox]:
    boxes = await ctx.mailboxes(handle.account)
    open_to_me = [box for box in boxes if box.selectable and ctx.allows(Effect.READ, handle.account, box)]
    everything = [box for box in open_to_me if box.role is Role.ALL]
    return everything or [box for box in open_to_me if box.role not in _CLOSED]


async def _of_server(backend: MailBackend, handle: Handle, scope: Sequence[Mailbox]) -> _Links | None:
    """What the server takes for one conversation, as far as ids link it; None where it tells none, or the message alone.

    Servers put messages together by their subjects too, or each by itself (RFC 8621 §3).
    """
    if backend.powers is None:
        return None
    try:
        told = await backend.powers.conversation(handle, scope)
    except Unsupported:
        return None
    waiting = {one.handle: one for one in told.rows}
    first = waiting.pop(handle, None)
    if first is None:
        raise Stale("this handle no longer points at a message")
    references = {
        one: [ref for ref in refs if not ref.endswith(_INTERNAL + ">")] for one, refs in told.references.items()
    }
    covered = Coverage(complete=True, order="oldest first", by_server=("thread",))
    links = _Links(ids=set(), subject="", coverage=covered, texts=told.texts)
    links.take(first, references.get(handle, ()))
    grown = True
    while grown and waiting:
        near = [one for one in waiting.values() if links.ids & {one.message_id, *references.get(one.handle, ())} - {""}]
        grown = bool(near)
        for one in near:
            links.take(waiting.pop(one.handle), references.get(one.handle, ()))
    if len(links.present) > MOST_MESSAGES:
        links.notices.add("more_messages_than_shown")
    return None if len(links.present) == 1 and len(links.ids) > 1 else links


async def _anchor(backend: MailBackend, handle: Handle) -> _Links:
    found = await backend.envelopes([handle])
    if not found:
        raise Stale("this handle no longer points at a message")
    links = _Links(ids=set(), subject=_base(found[0].subject))
    links.take(found[0], await _references(backend, handle))
    return links


async def _follow(backend: MailBackend, scope: Sequence[Mailbox], links: _Links) -> _Links:
    """Ask by ids until nothing new comes; then read the References of messages with the same base subject."""
    asked: set[str] = set()
    for _ in range(_ROUNDS):
        fresh = links.ids - asked
        if not fresh:
            break
        asked |= fresh
        await _search(backend, scope, Linked(frozenset(fresh)), links)
    if links.subject:
        await _by_subject(backend, scope, links)
    return links


async def _search(backend: MailBackend, scope: Sequence[Mailbox], query: Query, links: _Links) -> None:
    found = await backend.search(scope, query, Page(limit=MOST_MESSAGES, order=Order.OLDEST, budget=_SECONDS))
    links.coverage = found.coverage
    for envelope in found.rows:
        links.take(envelope)
    if found.continuation:
        links.notices.add("more_messages_than_shown")


async def _by_subject(backend: MailBackend, scope: Sequence[Mailbox], links: _Links) -> None:
    page = Page(limit=MOST_BY_SUBJECT, order=Order.NEWEST, budget=_SECONDS)
    found = await backend.search(scope, Contains(Field.SUBJECT, links.subject), page)
    known = {(one.message_id, one.handle.tag) for one in links.envelopes.values()}
    strangers = [one for one in found.rows if (one.message_id, one.handle.tag) not in known]
    blocks = await backend.headers([one.handle for one in strangers])
    for envelope in strangers:
        references = _ids(blocks.get(envelope.handle, b""))
        if links.ids & {envelope.message_id, *references} - {""}:
            links.take(envelope, references)
            links.notices.add("found_by_references")


async def _references(backend: MailBackend, handle: Handle) -> list[str]:
    return _ids((await backend.headers([handle])).get(handle, b""))


def _ids(block: bytes) -> list[str]:
    fields = mime_headers.Headers(block)
    return [
        one
        for name in ("References", "In-Reply-To")
        for value in fields.all(name)
        for one in mime_headers.message_ids(value)
        if not one.endswith(_INTERNAL + ">") and not one.endswith(_INTERNAL)
    ]


def _one_each(envelopes: Iterable[Envelope], anchor: Handle) -> list[Envelope]:
    """Keep one occurrence of a message that shows up in several mailboxes: the one named, else the first."""
    kept: dict[str, Envelope] = {}
    for one in envelopes:
        key = one.message_id or str(one.handle)
        if key not in kept or one.handle == anchor:
            kept[key] = one
    return list(kept.values())


async def _shown(
    backend: MailBackend,
    ordered: Sequence[Envelope],
    boxes: Mapping[str, Mailbox],
    budget: int,
    texts: Mapping[Handle, str],
    ctx: Context,
) -> list[ThreadMessage]:
    """Share the budget: every message gets an equal part of what is left, so the last ones are not starved."""
    shown: list[ThreadMessage] = []
    left = budget - 70 * len(ordered)
    for place, envelope in enumerate(ordered):
        await ctx.progress(place, len(ordered), "reading the conversation")
        box = boxes.get(envelope.handle.tag)
        fields = row(envelope, mailbox=box.path if box else None).model_dump(by_alias=True)
        share = max(0, left) // (len(ordered) - place)
        text, is_cut, suspicious = await _excerpt(backend, envelope, share, texts)
        left -= tokens(text)
        shown.append(ThreadMessage(**fields, text=text, cut=is_cut, suspicious=suspicious))
    return shown


async def _excerpt(
    backend: MailBackend, envelope: Envelope, share: int, texts: Mapping[Handle, str]
) -> tuple[str, bool, bool]:
    if share < 20:
        return "", True, False
    try:
        known = texts.get(envelope.handle)
        text = neutralise((await content.read(backend, envelope.handle)).text if known is None else known)
    except MailError:
        return "", True, False
    piece, after = cut(text, share)
    return piece, after is not None, bool(suspicion(text))


def _base(subject: str) -> str:
    """A subject without its Re: and Fwd: in the usual languages; too short a one points at nothing."""
    base = _PREFIX.sub("", subject).strip()
    return base if len(base) >= 4 else ""


def _when(envelope: Envelope) -> tuple[bool, str]:
    moment = envelope.received or envelope.date
    return (moment is None, moment.isoformat() if moment else "")


threads_get = Operation(
    request=ThreadsGet,
    result=Thread,
    effects=frozenset({Effect.READ}),
    perform=get,
    plan=thread_effects,
    repeatable=True,
    example={"message": "personal.ei5nnz.sd2egw-2n9c"},
)
