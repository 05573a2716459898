"""Carrying: one message into another account, proved there before anybody relies upon it (N-13).

    read into a spool → one append → read again there → the same? → only then it may be removed where it was

What is there already is compared, not doubled. What cannot be proved to be the same is told, and nothing is removed for it.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace

from mcp_proton.domain.context import Context
from mcp_proton.domain.errors import Ambiguous, MailError, Stale
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.mail import Envelope, Mailbox
from mcp_proton.domain.outcome import Ending, Fate, Proof
from mcp_proton.domain.ports import MailBackend
from mcp_proton.mime import incoming
from mcp_proton.mime.handover import Handover
from mcp_proton.mime.likeness import Likeness, LikenessReader
from mcp_proton.services.spooling import Spooled, spooled
from mcp_proton.services.transferring import losses
from mcp_proton.services.transferring.losses import Labels
from mcp_proton.services.transferring.present import Present, named, unsettled

NOT_VERIFIED = "not_verified"
KEPT_LESS = "not_all_kept"
_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of the messages before any is carried: what each is known again by, and their labels.

    `made` are the Message-IDs of those that have none.
    """

    identities: Mapping[Handle, str]
    made: Mapping[Handle, str]
    labels: Labels

    @classmethod
    async def of(cls, handles: Sequence[Handle], ctx: Context) -> Known:
        """Look at them. One without a Message-ID is read, since its content says what it is known again by."""
        envelopes = await seen(handles, ctx)
        identities = {one.handle: losses.identity(one) for one in envelopes if one.message_id}
        made: dict[Handle, str] = {}
        async for handle, message_id in _made_ids([one.handle for one in envelopes if not one.message_id], ctx):
            identities[handle], made[handle] = incoming.identity(message_id), message_id
        return cls(identities, made, await losses.labels_of(envelopes, ctx))


async def seen(handles: Sequence[Handle], ctx: Context) -> list[Envelope]:
    """Return the envelopes of messages of any accounts; what is gone is left out."""
    found: list[Envelope] = []
    for account in sorted({one.account for one in handles}):
        mine = [one for one in handles if one.account == account]
        for start in range(0, len(mine), _AT_ONCE):
            found += await ctx.backend(account).envelopes(mine[start : start + _AT_ONCE])
            await ctx.progress(len(found), len(handles), "looking at the messages")
    return found


class Carrying:
    """Carries messages into one mailbox. `open_ends` are those of which it is not known whether they arrived already."""

    def __init__(self, box: Mailbox, known: Known, present: Present, open_ends: frozenset[str], ctx: Context) -> None:
        self._box, self._known, self._present, self._ctx = box, known, present, ctx
        self._open_ends = set(open_ends)
        self._named: Mapping[Handle, str] = {}
        self._target = ctx.backend(box.account)

    @classmethod
    async def begun(cls, box: Mailbox, handles: Sequence[Handle], ctx: Context) -> Carrying:
        """Look at what is to be carried, and at what is there already."""
        known = await Known.of(handles, ctx)
        present = await Present.looked(box, frozenset(known.identities.values()), ctx)
        return cls(box, known, present, await unsettled(box.account, ctx), ctx)

    async def identify(self, source: MailBackend, handles: Sequence[Handle]) -> Mapping[Handle, str]:
        """Say what each is known again by, in the other account and in its own."""
        there = await source.identify(handles)
        known = self._known.identities
        self._named = {one: named(known[one], there.get(one)) for one in handles if one in known}
        return self._named

    async def one(self, handle: Handle, source: MailBackend) -> Fate:
        """Bring one there, and prove it. DONE, or SKIPPED (`already_there`): a proved copy is in the mailbox."""
        identity = self._known.identities.get(handle, "")
        if identity in self._open_ends:
            why = "whether it arrived by an earlier attempt is not settled yet; ask again in two minutes"
            return Fate(handle, Ending.FAILED, "not_settled", why)
        if self._present.here(identity) is None and (elsewhere := self._present.find(identity)) is not None:
            why = "a message of this Message-ID is in another mailbox of that account; nothing was done"
            return Fate(handle, Ending.FAILED, "already_elsewhere", why, now=elsewhere)
        try:
            fate = await self._carried(handle, identity, source)
        except MailError as error:
            fate = Fate.of_error(handle, error)
        if fate.ending is Ending.UNCERTAIN:
            self._open_ends.add(identity)
        return replace(fate, identity=self._named.get(handle))

    async def _carried(self, handle: Handle, identity: str, source: MailBackend) -> Fate:
        async with AsyncExitStack() as held:
            mail: Spooled | None = None
            async for whole in source.whole([handle]):
                was = whole.envelope
                passing = _Passing(Handover(self._known.made.get(handle, ""), was.received))
                mail = await held.enter_async_context(spooled(passing.octets(whole.octets), self._ctx.spool))
            if mail is None or not identity:
                raise Stale("this handle no longer points at a message")
            there = self._present.here(identity)
            if there is not None:
                return await self._compared(handle, identity, there, passing)
            return await self._put(handle, identity, was, mail, passing)

    async def _put(self, handle: Handle, identity: str, was: Envelope, mail: Spooled, passing: _Passing) -> Fate:
        flags = losses.carried(was.flags)
        now = await self._target.append(self._box, mail, flags=flags, received=was.received)
        self._present.add(identity, now)
        unknown = Fate(handle, Ending.UNCERTAIN, Ambiguous.code, "it arrived, and was not read again yet", now=now)
        try:
            found = await read_again(now, self._target)
        except MailError:
            return unknown
        if found is None:
            return replace(unknown, why="it was stored, and is not there when looked at")
        envelope, theirs = found
        if not passing.like(theirs):
            why = "what is there now is not the same; look at both, and remove one yourself"
            return Fate(handle, Ending.FAILED, NOT_VERIFIED, why, now=now)
        proof = Proof.COPYUID if self._target.lag else Proof.SEEN
        told = [*losses.of_one(was, envelope, self._known.labels, passing.likeness, theirs), *passing.changed(theirs)]
        done = Fate.done(handle, now, proof=proof)
        if not told:
            return done
        return replace(done, code=KEPT_LESS, why=losses.PREFIX + losses.SEPARATOR.join(told))

    async def _compared(self, handle: Handle, identity: str, there: Handle, passing: _Passing) -> Fate:
        """What bears the same Message-ID is the same message only where its content says so."""
        found = await read_again(there, self._target)
        if found is None or not passing.like(found[1]):
            why = "another message with the same Message-ID is there, and it is not the same; nothing was done"
            return Fate(handle, Ending.FAILED, "same_message_id", why, now=there)
        why = "it is there already, and is the same"
        return replace(Fate.skipped(handle, "already_there", why), now=there)


class _Passing:
    """A message that passes: what comes out, and what that is like."""

    def __init__(self, handover: Handover) -> None:
        self._handover = handover
        self.likeness = Likeness("", "", "", "")

    async def octets(self, octets: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """Yield it as it is handed over."""
        reader = LikenessReader()
        async for chunk in octets:
            passed = self._handover.feed(chunk)
            reader.feed(passed)
            yield passed
        passed = self._handover.finish()
        reader.feed(passed)
        yield passed
        self.likeness = reader.finish()

    def like(self, theirs: Likeness) -> bool:
        """Whether what is there is the same: to the octet, or in all that must be alike."""
        return theirs.octets == self.likeness.octets or theirs.content == self.likeness.content

    def changed(self, theirs: Likeness) -> list[str]:
        """Say what is not as it was, and no loss."""
        added = [f"{one} (it had none and got one)" for one in self._handover.added]
        return added if theirs.octets == self.likeness.octets else [*added, "its octets (the server rebuilds mail)"]


async def read_again(handle: Handle, backend: MailBackend) -> tuple[Envelope, Likeness] | None:
    """Read what is there, and say what it is like; None where nothing is."""
    found: tuple[Envelope, Likeness] | None = None
    async for whole in backend.whole([handle]):
        passing = _Passing(Handover())
        async for _ in passing.octets(whole.octets):
            pass
        found = whole.envelope, passing.likeness
    return found


async def same(one: Handle, other: Handle, ctx: Context) -> bool:
    """Read two messages, and say whether they are the same."""
    found = [await read_again(handle, ctx.backend(handle.account)) for handle in (one, other)]
    if found[0] is None or found[1] is None:
        return False
    ours, theirs = found[0][1], found[1][1]
    return ours.octets == theirs.octets or ours.content == theirs.content


async def _made_ids(handles: Sequence[Handle], ctx: Context) -> AsyncIterator[tuple[Handle, str]]:
    """Read messages that have no Message-ID, and yield the one that is made of their content."""
    for handle in handles:
        async for whole in ctx.backend(handle.account).whole([handle]):
            handover, digest = Handover(), hashlib.sha256()
            async for chunk in whole.octets:
                digest.update(handover.feed(chunk))
            digest.update(handover.finish())
            yield handle, incoming.made_id(digest.hexdigest())
