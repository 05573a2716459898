"""Imports: mail out of the owner's files, into a mailbox, each message once (P-63, B-05, B-06).

What is there already is known by its Message-ID and left alone. Each message is put there by one append, which is never
repeated: what became of it is looked for, by this process or the next. An import that was interrupted is gone on with.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Annotated

from mcp_proton.domain.context import Context
from mcp_proton.domain.effects import Effect
from mcp_proton.domain.errors import Conflict, MailError
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.mail import Mailbox, Role
from mcp_proton.domain.operation import Finer, Operation, Request, Result
from mcp_proton.domain.outcome import INLINE, Ending, Fate, Proof, Status, Tally
from mcp_proton.domain.plan import ReviewLine
from mcp_proton.domain.ports import MailBackend
from mcp_proton.domain.transfer import Entry, Source
from mcp_proton.services.acting import foreseeing
from mcp_proton.services.asking.moving import MessagesMove
from mcp_proton.services.fields import Account, LocalPath, MailboxField, Mark, OneHandle, Ours, Preview, Stranger
from mcp_proton.services.presenting.filed import only_reason
from mcp_proton.services.transferring import bringing
from mcp_proton.services.transferring.present import Present, unsettled

_KEPT_FLAGS = frozenset({"seen", "flagged", "answered", "draft", "forwarded"})
_PROBLEMS = {
    "too_large": "it is larger than any mail",
    "unreadable": "the file cannot be read",
    "no_message": "this is no mail: no header, or one without end",
}


class ImportsCreate(Request):
    """Put mail from files (EML, mbox, Maildir) into a mailbox."""

    path: LocalPath
    to: MailboxField
    account: Account = None
    preview: Preview = False
    stamp: Annotated[str, Mark.TOKEN, Ours()] = ""
    messages: Annotated[tuple[OneHandle, ...], Mark.HANDLE, Ours()] = ()


class NotImported(Result):
    """A message that was not put there, and why. `number` counts in the files, `now` is where it is already."""

    number: int
    file: Stranger
    code: str
    why: str | None = None
    now: str | None = None


class Imported(Result):
    """How it ended. `already` are in the account; they were left alone. `made_ids` had no Message-ID and got one.

    `kept` says what this server does to what is stored: dates, flags, form.
    """

    kind: str
    kept: str
    done: int = 0
    already: int = 0
    handles: list[str] = []
    made_ids: int = 0
    not_done: list[NotImported] = []
    failed: int = 0
    uncertain: int = 0
    left: int = 0
    state: str | None = None
    more: str | None = None

    @property
    def ended(self) -> Status:
        """How the whole ended."""
        return Status(self.state) if self.state else Status.SUCCEEDED

    @property
    def code_of_end(self) -> str | None:
        """The one reason, where nothing was imported and all have the same."""
        return only_reason((one.code for one in self.not_done), acted=self.done + self.already)


async def pin(request: ImportsCreate, ctx: Context) -> ImportsCreate:
    """Fix what the files hold now."""
    path, account = request.path.expanduser(), ctx.account(request.account)
    box = await ctx.mailbox(account, request.to)
    async with ctx.files.source(path) as source:
        items = tuple(str(_item(box, entry)) for entry in source.entries)
        return request.model_copy(
            update={"path": path, "account": account, "stamp": source.stamp, "messages": items, "to": box.path}
        )


async def plan(request: ImportsCreate, ctx: Context) -> Finer:
    """What storing does depends on the mailbox's role; say how many, how large, and what cannot be."""
    box = await ctx.mailbox(ctx.account(request.account), request.to)
    row = await foreseeing.mailbox("append", box, ctx)
    async with _same(request, ctx) as source:
        bad = sum(one.problem is not None for one in source.entries)
        octets = sum(one.size for one in source.entries)
        lines = [
            ReviewLine(
                f"{len(source.entries)} in this {source.kind}", f"{octets} octets; into {box.path}: {row.result}"
            )
        ]
        if bad:
            lines.append(ReviewLine("no mail", f"{bad} of them cannot be imported"))
    return Finer(effects=row.effects | {Effect.IMPORT}, review=tuple(lines))


async def put(request: ImportsCreate, ctx: Context) -> Imported:
    """Append them, one after the other. Imports into one account take turns: each sees what the one before it did."""
    account = ctx.account(request.account)
    box = await ctx.mailbox(account, request.to)
    earlier = await bringing.earlier(ctx)
    async with ctx.writing(f"{account} imports"), _same(request, ctx) as source:
        entries = {_item(box, entry): entry for entry in source.entries}
        identities = frozenset(entry.identity for entry in source.entries)
        present = await Present.looked(box, identities, ctx)
        putting = _Putting(source, present, await unsettled(account, ctx))
        for item, entry in entries.items():
            putting.note(entry, earlier.get(item))

        async def act(backend: MailBackend, box: Mailbox, items: Sequence[Handle]) -> Sequence[Fate]:
            async def bring(item: Handle) -> Fate:
                known = earlier.get(item)
                done = known is not None and known.ending is Ending.DONE
                return known if known and done else await putting.one(item, entries[item], backend, box)

            return await bringing.in_turn(items, bring)

        known = {item: entry.identity for item, entry in entries.items() if entry.identity}
        tally = await ctx.batch(list(entries), act, "importing", known=known)
        row = await foreseeing.mailbox("append", box, ctx)
        return _told(tally, entries, source, row.result)


class _Putting:
    """Puts messages of a source into a mailbox. `unsettled` are those of which another import does not know the end yet."""

    def __init__(self, source: Source, present: Present, unsettled: frozenset[str]) -> None:
        self._source, self._present, self._unsettled = source, present, unsettled
        self._put: dict[str, Entry] = {}

    def note(self, entry: Entry, fate: Fate | None) -> None:
        """Take note of one that was put there."""
        if fate is not None and fate.ending is Ending.DONE:
            self._put[entry.identity] = entry
            self._present.add(entry.identity, fate.now)

    async def one(self, item: Handle, entry: Entry, backend: MailBackend, box: Mailbox) -> Fate:
        """Put one there, unless it is."""
        if entry.problem is not None:
            return Fate(item, Ending.FAILED, entry.problem, _PROBLEMS.get(entry.problem))
        if "deleted" in entry.flags:
            return Fate.skipped(item, "marked_deleted", "it is marked as deleted in the file")
        there = self._present.find(entry.identity)
        if there is not None:
            return await self._known(item, entry, there)
        if entry.identity in self._unsettled:
            why = "an earlier import of it is not settled yet; ask again in two minutes"
            return Fate(item, Ending.FAILED, "not_settled", why)
        try:
            async with self._source.held(entry) as octets:
                now = await backend.append(box, octets, flags=entry.flags & _KEPT_FLAGS, received=entry.received)
        except MailError as error:
            return replace(Fate.of_error(item, error), identity=entry.identity)
        fate = Fate.done(item, now, proof=Proof.COPYUID, identity=entry.identity)
        self.note(entry, fate)
        return fate

    async def _known(self, item: Handle, entry: Entry, there: Handle) -> Fate:
        """Tell the same message, which is left alone, from another one of these files with the same Message-ID."""
        twin = self._put.get(entry.identity)
        if twin is None or await self._digest(twin) == await self._digest(entry):
            return Fate(
                item, Ending.SKIPPED, "already_there", "a message of this Message-ID is in the account", now=there
            )
        why = f"another message with the same Message-ID was imported, number {twin.number}"
        return Fate(item, Ending.FAILED, "same_message_id", why, now=there)

    async def _digest(self, entry: Entry) -> bytes:
        digest = hashlib.sha256()
        async with self._source.held(entry) as octets:
            async for chunk in octets.chunks():
                digest.update(chunk)
        return digest.digest()


async def look(request: ImportsCreate, fates: Sequence[Fate], age: float, ctx: Context) -> Sequence[Fate]:
    """Look which of them are there. What is not is said to be so only when the server has had the time to show it."""
    box = await ctx.mailbox(ctx.account(request.account), request.to)
    if any(fate.identity is None for fate in fates):
        async with _same(request, ctx) as source:
            known = {_item(box, entry): entry.identity for entry in source.entries}
        fates = [replace(fate, identity=fate.identity or known.get(fate.handle)) for fate in fates]
    present = await Present.looked(box, frozenset(fate.identity for fate in fates if fate.identity), ctx)
    return [present.judged(fate, settled=age >= bringing.SETTLED) for fate in fates]


def take_back(request: ImportsCreate, fates: Sequence[Fate]) -> Sequence[Request]:
    """What this import put there goes into Trash, where it is still the message that was put there.

    What was in the account already has no part in it, and what somebody moved since is left where it is by now.
    """
    mine = [str(one.now) for one in fates if one.now is not None and one.now.tag == one.handle.tag]
    return [MessagesMove(messages=tuple(mine), to=Role.TRASH.value)] if mine else []


@asynccontextmanager
async def _same(request: ImportsCreate, ctx: Context) -> AsyncIterator[Source]:
    """Open the files. `Conflict` where they are no longer what was counted."""
    async with ctx.files.source(request.path) as source:
        if source.stamp != request.stamp:
            raise Conflict(
                "the files have changed since they were counted",
                code="changed_since_approval",
                next="ask for it again; what was imported by then is not imported twice",
            )
        yield source


def _item(box: Mailbox, entry: Entry) -> Handle:
    """Name a message that is not there yet by its place to be and its number."""
    return Handle(box.account, box.tag, f"import-{entry.number}")


def _told(tally: Tally, entries: dict[Handle, Entry], source: Source, kept: str) -> Imported:
    others = [one for one in tally.others if one.ending is not Ending.SKIPPED or one.code != "already_there"]
    few = tally.counts[Ending.DONE] <= INLINE
    return Imported(
        kind=source.kind,
        kept=kept,
        done=tally.counts[Ending.DONE],
        already=tally.counts[Ending.SKIPPED],
        handles=[str(one.now) for one in tally.done] if few else [],
        made_ids=sum(entry.made for entry in source.entries),
        not_done=[_undone(one, entries[one.handle]) for one in others],
        failed=tally.counts[Ending.FAILED] if tally.counts[Ending.FAILED] > len(others) else 0,
        uncertain=tally.counts[Ending.UNCERTAIN],
        left=tally.left,
        state=None if tally.ended is Status.SUCCEEDED else tally.ended.value,
        more="operations_status names every message" if not few or len(tally.others) >= INLINE else None,
    )


def _undone(fate: Fate, entry: Entry) -> NotImported:
    return NotImported(
        number=entry.number,
        file=entry.label,
        code=fate.code or fate.ending.value,
        why=fate.why,
        now=None if fate.now is None else str(fate.now),
    )


imports_create = Operation(
    request=ImportsCreate,
    result=Imported,
    effects=frozenset({Effect.IMPORT, Effect.DRAFT}),
    prepares=frozenset({Effect.IMPORT}),
    purpose=Effect.IMPORT,
    perform=put,
    pin=pin,
    plan=plan,
    look=look,
    undo=take_back,
    chunked=True,
    repeatable=True,
    example={"path": "/home/me/Mail/old.mbox", "to": "archive"},
)
