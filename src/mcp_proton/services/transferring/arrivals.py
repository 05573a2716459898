"""Arrivals: what became of messages that were on their way into another account, by looking at both. Nothing is changed by it.

The copy is looked for first: while it is not proved, the original is where it was, since nothing removes it before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mcp_proton.domain.context import Context
from mcp_proton.domain.errors import Stale
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.mail import Mailbox, Role
from mcp_proton.domain.outcome import Ending, Fate, Proof
from mcp_proton.services.transferring import carrying, losses
from mcp_proton.services.transferring.present import DOUBLED, Present, named, parted

_LONG_AGO = 3600.0
"""seconds after which every server shows what was done"""


async def looked(
    fates: Sequence[Fate], box: Mailbox, *, settled: bool, age: float, moved: bool, ctx: Context
) -> list[Fate]:
    """Return the fates as they are known now. `settled`: what is not there by now will not come any more."""
    fates = await _identified(fates, ctx)
    present = await Present.looked(box, frozenset(parted(one.identity)[0] for one in fates if one.identity), ctx)
    originals = await _originals(fates, age, ctx) if moved else {}
    there = {one.handle for one in await carrying.seen([one.handle for one in fates], ctx)}
    told = []
    for fate in fates:
        looking = _Looking(fate, present, there, settled)
        if moved:
            told.append(looking.moved(originals.get(fate.handle)))
        else:
            told.append(await looking.copied(ctx))
    return told


async def _identified(fates: Sequence[Fate], ctx: Context) -> list[Fate]:
    """What was interrupted before its intent could say what it is known by is asked now."""
    nameless = [one.handle for one in fates if not one.identity]
    known = (await carrying.Known.of(nameless, ctx)).identities if nameless else {}
    return [
        replace(one, identity=named(known[one.handle], None)) if not one.identity and one.handle in known else one
        for one in fates
    ]


async def _originals(fates: Sequence[Fate], age: float, ctx: Context) -> dict[Handle, Fate]:
    """Ask their accounts whether the originals are in Trash, or where they were."""
    found: dict[Handle, Fate] = {}
    for account in sorted({one.handle.account for one in fates}):
        mine = [
            replace(one, now=None, identity=parted(one.identity)[1]) for one in fates if one.handle.account == account
        ]
        trash = await ctx.mailbox(account, Role.TRASH.value)
        elsewhere = [one for one in mine if one.handle.tag != trash.tag]
        found |= {one.handle: one for one in await ctx.backend(account).prove(elsewhere, trash, age)}
    return found


async def trashed(fates: Sequence[Fate], ctx: Context) -> list[Fate]:
    """Return where in Trash the originals are: one fate for each that is there, with its handle there as `now`."""
    sought = [replace(one, ending=Ending.UNCERTAIN, code=None, why=None, proof=None) for one in fates]
    found = await _originals(sought, _LONG_AGO, ctx)
    return [one for one in found.values() if one.ending is Ending.DONE and one.now is not None]


class _Looking:
    """Judges one. `there` are the originals that are where they were."""

    def __init__(self, fate: Fate, present: Present, there: set[Handle], settled: bool) -> None:
        self._fate, self._present, self._there, self._settled = fate, present, there, settled
        self._identity = parted(fate.identity)[0]
        self._copy = present.here(self._identity)

    async def copied(self, ctx: Context) -> Fate:
        """Of a copy the original is still to be read: the two are compared again."""
        if self._fate.ending is Ending.DONE or self._copy is None:
            return self._arrival()
        if self._fate.handle in self._there and await carrying.same(self._fate.handle, self._copy, ctx):
            return self._done(self._copy)
        why = "something arrived, and it cannot be proved to be the same; look at both, and remove one yourself"
        return self._failed(carrying.NOT_VERIFIED, why, self._copy)

    def moved(self, original: Fate | None) -> Fate:
        """Of what was to be moved, the original says how far it came: nothing is trashed before its copy is proved."""
        fate = self._fate
        if fate.ending is Ending.DONE:
            return self._both(self._arrival(), original)
        if self._copy is None:
            return self._arrival()
        if original is None:  # it was in Trash before, and is to stay there
            return self._failed("not_finished", "it arrived; ask again, and it is compared", self._copy)
        match original.ending:
            case Ending.DONE:
                return self._done(self._copy, original)
            case Ending.FAILED if original.code == "not_done":
                why = "it arrived; the original is where it was. Ask again: it is compared, and then trashed"
                return self._failed("source_kept", why, self._copy)
            case Ending.FAILED:
                why = "it arrived; the original was moved by somebody else meanwhile, and is left there"
                return self._failed("moved_meanwhile", why, self._copy)
        if not self._settled:
            return fate
        why = "it arrived; the original is neither where it was nor in Trash, and nobody can say where"
        return self._failed("moved_meanwhile", why, self._copy)

    def _arrival(self) -> Fate:
        """What the other account shows of it."""
        fate = self._fate
        if fate.ending is Ending.DONE:
            judged = self._present.judged(replace(fate, identity=self._identity), settled=self._settled)
            kept = judged.code if judged.code == DOUBLED or judged.ending is Ending.FAILED else fate.code
            return replace(judged, code=kept, identity=fate.identity)
        if not self._settled:
            return fate
        if fate.handle in self._there:
            return self._failed("not_done", "it did not arrive, and is where it was", None)
        return Fate.of_error(fate.handle, Stale("it did not arrive, and is no longer where it was"))

    def _both(self, arrival: Fate, original: Fate | None) -> Fate:
        """What is known of a copy that arrived, and of its original in Trash: the weaker of the two."""
        if original is None or arrival.ending is not Ending.DONE:
            return arrival
        kept = carrying.KEPT_LESS if (arrival.why or "").startswith(losses.PREFIX) else None
        code = DOUBLED if arrival.code == DOUBLED else original.code or kept
        if original.ending is Ending.FAILED:
            why = f"its copy is there; the original is not in Trash ({original.why or original.code})"
            return replace(arrival, ending=Ending.FAILED, code="source_kept", why=why, proof=None)
        if original.proof is Proof.ORPHANED:
            why = f"its copy is there; the original is in no mailbox but all mail, as {original.now}"
            return replace(arrival, code="source_orphaned", why=why)
        unproved = original.proof in (Proof.LOST, Proof.COPYUID)
        return replace(arrival, code=code, proof=original.proof if unproved else arrival.proof)

    def _done(self, now: Handle, original: Fate | None = None) -> Fate:
        proof = Proof.SEEN if original is None or original.proof is None else original.proof
        return Fate.done(self._fate.handle, now, proof=proof, identity=self._fate.identity)

    def _failed(self, code: str, why: str, now: Handle | None) -> Fate:
        return Fate(self._fate.handle, Ending.FAILED, code, why, now=now, identity=self._fate.identity)
