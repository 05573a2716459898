"""Versions: one version of a draft put into Drafts, seen there whole, and only then the one before it removed (P-59).

    what a server may drop is kept → append, once → read again → remove the old one

Interrupted anywhere, at least one whole draft is there, and the journal says which: the new one is known by its Message-ID.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

from mcp_proton.domain.context import Context
from mcp_proton.domain.errors import Conflict, MailError, NotFound
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.mail import Flag, Mailbox, Role
from mcp_proton.domain.outcome import Ending, Fate, Proof, Tally
from mcp_proton.domain.outgoing import Letter
from mcp_proton.domain.ports import MailBackend, Page
from mcp_proton.domain.query import All, MessageId
from mcp_proton.mime.header.headers import Headers, message_ids
from mcp_proton.services.writing import discarding, letters, redrafting
from mcp_proton.services.writing.redrafting import Stored
from mcp_proton.services.writing.written import Thread, Written

_LATEST = 10
_LONG_AGO = timedelta(days=30)
SETTLED = 90.0
"""Seconds after which a server shows what it was told to store, if it ever will (Bridge: two of its polls)."""
_FLAGS = frozenset({Flag.DRAFT.value, Flag.SEEN.value})


@dataclass
class Version:
    """A version of a draft on its way: how it ended, and how it reads now."""

    tally: Tally
    stored: Stored | None = None
    dropped: tuple[str, ...] = ()


@dataclass
class _Putting:
    request: Written
    unfinished: Sequence[str]
    old: Stored | None
    ctx: Context
    stored: Stored | None = None
    dropped: list[str] = field(default_factory=list)

    async def act(self, backend: MailBackend, box: Mailbox, items: Sequence[Handle]) -> Sequence[Fate]:
        (item,) = items
        if self.old is not None:
            await redrafting.unchanged(str(self.old.handle), self.old.digest, self.ctx)
        await redrafting.keep(self.request, self.unfinished, self.ctx)
        async with letters.held(self.request, self.ctx, self.ctx.spool, bcc=True) as mail:
            now = await backend.append(box, mail, flags=_FLAGS)
        flaw = await self._seen(now)
        if flaw is not None:
            before = "" if self.old is None else "; the draft before it is as it was"
            return [Fate(item, Ending.FAILED, "incomplete", f"{flaw}{before}", now=now)]
        if self.old is None:
            return [Fate.done(item, now, proof=Proof.COPYUID, identity=message_id(self.request))]
        return [await self._removed(item, now, backend)]

    async def _seen(self, now: Handle) -> str | None:
        """Read the new version. Return what is wrong with it, if it is not whole."""
        try:
            self.stored = await redrafting.read(str(now), self.ctx)
        except MailError as error:
            return f"the new version was stored and cannot be read ({error.code})"
        letter, meant = self.stored.letter, letters.letter(self.request)
        if len(self.stored.attachments) < len(meant.enclosures):
            return "the server stored the new version without an attachment"
        if (meant.text.strip() or meant.html) and not (letter.text.strip() or (letter.html or "").strip()):
            return "the server stored the new version without its text"
        await redrafting.keep(self.request, self.unfinished, self.ctx, seal=redrafting.sealing(letter.html))
        self.dropped = await dropped(self.request, self.stored, self.ctx)
        self.stored = await redrafting.read(str(now), self.ctx)
        return None

    async def _removed(self, item: Handle, now: Handle, backend: MailBackend) -> Fate:
        """Remove the old version; where that does not succeed both are there, and that is told."""
        identity = message_id(self.request)
        if self.old is None:
            return Fate.done(item, now, identity=identity)
        try:
            fate = (await discarding.discard([self.old.handle], backend))[0]
        except MailError as error:
            fate = Fate.of_error(self.old.handle, error)
        if fate.ending is Ending.UNCERTAIN:
            why = "the new version is there; whether the old one was removed is not known"
            return Fate(item, Ending.UNCERTAIN, "outcome_unknown", why, now=now, identity=identity)
        if fate.ending is not Ending.DONE:
            why = f"the new version is there, and the old one too ({fate.why or fate.code})"
            return Fate(item, Ending.FAILED, "old_kept", why, now=now, identity=identity)
        if self.old.letter.message_id:
            await self.ctx.draft_notes.forget(item.account, self.old.letter.message_id)
        return Fate.done(item, now, proof=Proof.COPYUID, identity=identity)


async def put(
    request: Written, item: Handle, ctx: Context, *, old: Stored | None, unfinished: Sequence[str]
) -> Version:
    """Store a fixed request as a draft, in the place of an old version or as a new one."""
    putting = _Putting(request, unfinished, old, ctx)
    tally = await ctx.batch([item], putting.act, "drafting", known={item: message_id(request)})
    return Version(tally, putting.stored, tuple(putting.dropped))


async def no_twin(request: Written, box: Mailbox, ctx: Context) -> None:
    """Raise `Conflict` (`already_there`) where one of the latest drafts says just the same: asked twice is written once."""
    meant = letters.letter(request)
    found = await ctx.backend(box.account).search([box], All(), Page(limit=_LATEST))
    for row in found.rows:
        if row.subject.split() != meant.subject.split():
            continue
        stored = await redrafting.read(str(row.handle), ctx)
        if _says(stored.letter, [one.filename for one in stored.attachments]) == _says(
            meant, [one.filename for one in meant.enclosures]
        ):
            raise Conflict(
                "a draft that says the same is there already",
                code="already_there",
                next=f"it is {row.handle}; drafts_update changes it, drafts_send sends it",
            )


def _says(letter: Letter, files: Sequence[str]) -> tuple[object, ...]:
    people = tuple(tuple(one.email.casefold() for one in some) for some in (letter.to, letter.cc, letter.bcc))
    body = letter.text if letter.html is None else letter.html
    return people, "".join(body.split()), sorted(files)


async def looked(fate: Fate, box: Mailbox, old: Handle | None, age: float, ctx: Context) -> Fate:
    """Look what became of a version: of one whose end is not known, and of one that is there, whether it is alone.

    A server may have made two of one (Bridge repeats a call of its own after a broken connection). Both bear the Message-ID
    that was made for this version and no other; the one that was seen whole stays, the stray is removed.
    """
    if fate.identity is None:
        return fate
    backend = ctx.backend(box.account)
    found = await _found(fate.identity, box, backend, ctx)
    if fate.ending is Ending.DONE:
        return await _alone(fate, [one for one in found if one != fate.now] if fate.now in found else [], backend)
    new = found[0] if found else None
    there = old is not None and bool(await backend.envelopes([old]))
    if new is None:
        if age < SETTLED:
            return fate
        why = "it was not stored" + ("; the draft is as it was" if there else "")
        return Fate(fate.handle, Ending.FAILED, "not_done", why, identity=fate.identity)
    if there:
        why = "the new version may be incomplete, and the old one is there too; compare them and discard one"
        return Fate(fate.handle, Ending.FAILED, "old_kept", why, now=new, identity=fate.identity)
    return Fate.done(fate.handle, new, proof=Proof.SEEN, identity=fate.identity)


async def _found(identity: str, box: Mailbox, backend: MailBackend, ctx: Context) -> Sequence[Handle]:
    """Return the drafts of a Message-ID, and none that are also sent mail by now."""
    if backend.submits is not None:
        return (await backend.submits.trace(identity, ctx.clock.now() - _LONG_AGO)).drafts
    return [one.handle for one in (await backend.search([box], MessageId(identity), Page(limit=5))).rows]


async def _alone(fate: Fate, strays: Sequence[Handle], backend: MailBackend) -> Fate:
    seen = replace(fate, proof=Proof.SEEN)
    if not strays:
        return seen
    gone = await discarding.discard(strays, backend)
    if all(one.ending is Ending.DONE for one in gone):
        return replace(seen, code="stray_removed", why="the server had made it twice; the other one was removed")
    return replace(seen, code="stray_left", why=f"the server made it twice; the other one is {strays[0]}")


async def dropped(request: Written, stored: Stored, ctx: Context) -> list[str]:
    """Say what of a draft is not in what the server shows, by looking; all of it is kept here and restored at sending."""
    now = stored.handle
    block = (await ctx.backend(now.account).headers([now])).get(now, b"")
    headers = Headers(block)
    told: list[str] = []
    thread = request.thread or Thread()
    wanted = {one for one in (thread.in_reply_to, *thread.references) if one}
    shown = {one for name in ("In-Reply-To", "References") for one in message_ids(b" ".join(headers.all(name)))}
    if wanted - shown:
        told.append("what it answers")
    if request.html is not None and request.text.strip() and not stored.has_plain:
        told.append("the plain text beside the HTML")
    return told


async def drafts_of(account: str, ctx: Context) -> Mailbox:
    """Return the account's mailbox of drafts."""
    box = next((one for one in await ctx.mailboxes(account) if one.role is Role.DRAFTS), None)
    if box is None:
        raise NotFound("this account has no mailbox for drafts", code="no_drafts_mailbox")
    return box


def message_id(request: Written) -> str:
    """Return the Message-ID that was fixed."""
    return "" if request.fixed is None else request.fixed.message_id
