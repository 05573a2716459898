"""Present: which of some messages an account holds already, known by their Message-IDs, in a mailbox and in all mail."""

from __future__ import annotations

from dataclasses import replace

from mcp_proton.domain.context import Context
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.mail import Mailbox, Role
from mcp_proton.domain.outcome import Ending, Fate, Proof
from mcp_proton.domain.ports import Page
from mcp_proton.domain.query import All
from mcp_proton.mime import incoming

_PAGE = 500
DOUBLED = "doubled"
"""The code of a message that the server made twice of one (Bridge repeats a call of its own after a broken connection)."""

_BETWEEN = "~"


def named(identity: str, source: str | None) -> str:
    """Return what an item keeps that came from another account: what it is known by here, and there."""
    return f"{identity}{_BETWEEN}{source or ''}"


def parted(identity: str | None) -> tuple[str, str | None]:
    """Return the two halves of what an item keeps."""
    here, _, there = (identity or "").partition(_BETWEEN)
    return here, there or None


async def unsettled(account: str, ctx: Context) -> frozenset[str]:
    """Return what was put into the account by others without knowing yet whether it arrived."""
    open_ends = [await ctx.journal.open_ends(one.id) for one in await ctx.journal.unproved(account)]
    return frozenset(
        parted(fate.identity)[0]
        for ends in open_ends
        for fate in ends
        if fate.identity and fate.ending is Ending.UNCERTAIN
    )


class Present:
    """Where messages of some identities are. Only those asked about are kept."""

    def __init__(self, box: Mailbox) -> None:
        self._box = box
        self._here: dict[str, list[Handle]] = {}
        self._elsewhere: dict[str, Handle] = {}

    @classmethod
    async def looked(cls, box: Mailbox, identities: frozenset[str], ctx: Context) -> Present:
        """Look through a mailbox, and through the one of all mail where the account has one."""
        present = cls(box)
        scope = [box, *(one for one in await ctx.mailboxes(box.account) if one.role is Role.ALL and one != box)]
        for mailbox in scope:
            await present._look_through(mailbox, identities, ctx)
        return present

    def here(self, identity: str) -> Handle | None:
        """Return where a message is in the mailbox."""
        return next(iter(self._here.get(identity, ())), None)

    def find(self, identity: str) -> Handle | None:
        """Return where a message is, in the mailbox rather than elsewhere."""
        return self.here(identity) or self._elsewhere.get(identity)

    def add(self, identity: str, now: Handle | None) -> None:
        """Take note of one that was put there."""
        if now is not None and identity:
            self._here.setdefault(identity, []).append(now)

    def judged(self, fate: Fate, *, settled: bool) -> Fate:
        """Return a fate as it is known now."""
        here = self._here.get(fate.identity or "", [])
        if fate.ending is Ending.DONE:
            more = [one for one in here if one != fate.now]
            if fate.now in here and more:
                why = f"the server made two of it; the other one is {more[0]}"
                return replace(fate, proof=Proof.SEEN, code=DOUBLED, why=why)
            if fate.now in here:
                return replace(fate, proof=Proof.SEEN)
            return replace(fate, now=here[0], proof=Proof.SEEN) if here else self._gone(fate, settled=settled)
        if here:
            return Fate.done(fate.handle, here[0], proof=Proof.SEEN, identity=fate.identity)
        if settled and fate.identity is not None:
            return Fate(fate.handle, Ending.FAILED, "not_done", "it is not there", identity=fate.identity)
        return fate

    def _gone(self, fate: Fate, *, settled: bool) -> Fate:
        """What was there and is not: somebody moved it since, or the server lost it. The file still has it."""
        elsewhere = self._elsewhere.get(fate.identity or "")
        if elsewhere is not None:
            return replace(fate, now=elsewhere, proof=Proof.SEEN)
        gone = Fate(
            fate.handle, Ending.FAILED, "not_there", "it was stored, and is not there any more", identity=fate.identity
        )
        return gone if settled else fate

    async def _look_through(self, mailbox: Mailbox, identities: frozenset[str], ctx: Context) -> None:
        backend, continuation, looked = ctx.backend(mailbox.account), None, 0
        while True:
            found = await backend.search([mailbox], All(), Page(limit=_PAGE, continuation=continuation))
            for row in found.rows:
                known = incoming.identity(row.message_id) if row.message_id else ""
                if known not in identities:
                    continue
                if mailbox == self._box:
                    self._here.setdefault(known, []).append(row.handle)
                else:
                    self._elsewhere.setdefault(known, row.handle)
            looked += len(found.rows)
            continuation = found.continuation
            if continuation is None:
                return
            await ctx.progress(looked, None, "looking what is there")
