"""From the answer to the account: what an earlier change came to, seen after the events that bring Bridge up to date.

Events come within 20 to 40 seconds. What is seen in its destination later than that is there; what is seen nowhere is
looked for in every place, in All Mail last, before anybody is told that it is orphaned or lost.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mcp_proton.bridge.changing.guarding import OWED, UNSTAR, in_debt, mark_of, noted, owes, paid
from mcp_proton.bridge.changing.looking import MARKS
from mcp_proton.bridge.changing.occurrences import HOMES, Occurrence
from mcp_proton.domain.errors import NotFound, Stale
from mcp_proton.domain.mail import Flag, Role
from mcp_proton.domain.outcome import Ending, Fate, Proof
from mcp_proton.domain.ports import Home
from mcp_proton.imap.changing.proving import NOT_DONE
from mcp_proton.imap.groups import grouped
from mcp_proton.imap.mailboxes import wire_name
from mcp_proton.imap.protocol import flags

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from mcp_proton.bridge.changing.guarding import Unstar
    from mcp_proton.bridge.changing.reach import Reach
    from mcp_proton.domain.handles import Handle
    from mcp_proton.domain.mail import Mailbox
    from mcp_proton.imap.changing.marks import Mark
    from mcp_proton.imap.protocol.rows import FetchRow

EVENT = 45.0
"""seconds after which the next event has come"""
MISMATCH = 90.0
"""seconds before a message that is not where it should be is called orphaned or lost: an effect may take two events"""


class Proving:
    """`guarded`: the owner chose the guard of Trash; `unstar` pays what it owes."""

    def __init__(self, reach: Reach, unstar: Unstar, *, guarded: bool = False) -> None:
        self._reach, self._unstar, self._guarded = reach, unstar, guarded

    async def identify(self, handles: Sequence[Handle]) -> dict[Handle, str]:
        """Size, date and Proton's own id; with the guard, also whether a star was on it."""
        rows = await self._rows(handles)
        marks = {handle: MARKS.of(row) for handle, row in rows.items()}
        if not self._guarded:
            return {handle: str(mark) for handle, mark in marks.items() if mark is not None}
        return {
            handle: noted(mark, starred=_is_starred(rows[handle])) for handle, mark in marks.items() if mark is not None
        }

    async def prove(self, fates: Sequence[Fate], to: Mailbox | Home | None, age: float) -> list[Fate]:
        """The fates as they are known now."""
        unsettled = {fate.handle: fate for fate in fates if _unsettled(fate)}
        if not unsettled:
            return list(fates)
        owing = {handle: fate for handle, fate in unsettled.items() if owes(fate, to)}
        some = list(unsettled.values())
        proved = await self._removed(some, age) if to is None else await self._placed(some, to, age)
        proved = await self._settled(owing, proved)
        return [proved.get(fate.handle, fate) for fate in fates]

    # --- what was to go somewhere ----------------------------------------------------------------------------------

    async def _placed(self, fates: Sequence[Fate], to: Mailbox | Home, age: float) -> dict[Handle, Fate]:
        named = await self._marks([fate.now for fate in fates if fate.now is not None])
        arrived = {
            fate.handle: replace(fate, proof=Proof.SEEN) if age >= EVENT else fate
            for fate in fates
            if fate.ending is Ending.DONE and fate.now in named and named[fate.now] == mark_of(fate)
        }
        lost = [fate for fate in fates if fate.handle not in arrived]
        found = await self._looked_for(lost, to)
        return arrived | {fate.handle: self._placed_fate(fate, _found(found, fate), to, age) for fate in lost}

    async def _looked_for(self, fates: Sequence[Fate], to: Mailbox | Home) -> Mapping[Mark, Occurrence]:
        marks = [mark_of(fate) for fate in fates]
        if not isinstance(to, Home) and to.role is Role.LABEL:
            return await self._reach.occurrences.within(to, marks)
        return await self._reach.occurrences.anywhere(marks, first=[] if isinstance(to, Home) else [to])

    def _placed_fate(self, fate: Fate, place: Occurrence | None, to: Mailbox | Home, age: float) -> Fate:
        if mark_of(fate) is None or age < EVENT:
            return fate
        is_label = not isinstance(to, Home) and to.role is Role.LABEL
        if place is None:
            return _not_done(fate) if is_label else self._missing(fate, age)
        if is_label or _is_meant(place, to):
            return _seen(fate, place.handle)
        stayed = place.mailbox.tag == fate.handle.tag
        if stayed and fate.ending is Ending.UNCERTAIN:
            return _not_done(fate)
        if place.mailbox.role is Role.ALL:
            return replace(fate, proof=Proof.ORPHANED, now=place.handle) if age >= MISMATCH else fate
        if stayed:
            return _not_done(fate)
        if fate.ending is Ending.DONE:
            return _seen(fate, place.handle)
        return _moved_meanwhile(fate, place)

    def _missing(self, fate: Fate, age: float) -> Fate:
        return replace(fate, proof=Proof.LOST, now=None) if age >= MISMATCH else fate

    # --- what was to go away ---------------------------------------------------------------------------------------

    async def _removed(self, fates: Sequence[Fate], age: float) -> dict[Handle, Fate]:
        there, void = await self._read([fate.handle for fate in fates])
        told = {fate.handle: self._still_there(fate, age) for fate in fates if fate.handle in there}
        told |= await self._unlabelled([fate for fate in fates if fate.handle not in there], void, age)
        gone = [fate for fate in fates if fate.handle not in told]
        found = await self._reach.occurrences.anywhere([mark_of(fate) for fate in gone])
        return told | {fate.handle: self._destroyed(fate, found, age) for fate in gone}

    async def _unlabelled(self, fates: Sequence[Fate], void: AbstractSet[Handle], age: float) -> dict[Handle, Fate]:
        """Those whose label was to go. That a UID is gone says nothing where it is void: there the label is searched."""
        told = {}
        for fate in fates:
            if (label := await self._label(fate.handle)) is None:
                continue
            searched = await self._reach.occurrences.within(label, [mark_of(fate)]) if fate.handle in void else {}
            place = _found(searched, fate)
            told[fate.handle] = _seen(fate, None) if place is None else self._still_there(fate, age, place.handle)
        return told

    def _still_there(self, fate: Fate, age: float, now: Handle | None = None) -> Fate:
        return replace(_not_done(fate), now=now) if age >= EVENT else fate

    def _destroyed(self, fate: Fate, found: Mapping[Mark, Occurrence], age: float) -> Fate:
        """Gone from All Mail is gone. In All Mail alone, after the events: a label holds it, or the deletion failed."""
        mark = mark_of(fate)
        if mark is None:
            return fate
        place = found.get(mark)
        if place is None:
            return _seen(fate, None)
        if age < EVENT or (place.mailbox.role is Role.ALL and age < MISMATCH):
            return fate
        if place.mailbox.role is Role.ALL:
            why = "it left the mailbox but was not deleted: a label or a star holds it, or Proton refused"
            return replace(fate, ending=Ending.FAILED, code="survived", why=why, now=place.handle, proof=Proof.ORPHANED)
        stayed = place.mailbox.tag == fate.handle.tag
        return replace(_not_done(fate), now=place.handle) if stayed else _moved_meanwhile(fate, place)

    async def _label(self, handle: Handle) -> Mailbox | None:
        try:
            box = await self._reach.resolve(handle)
        except Stale:
            return None
        return box if box.role is Role.LABEL else None

    # --- parts -------------------------------------------------------------------------------------------------------

    async def _marks(self, handles: Sequence[Handle]) -> dict[Handle, Mark | None]:
        return {handle: MARKS.of(row) for handle, row in (await self._rows(handles)).items()}

    async def _rows(self, handles: Sequence[Handle]) -> dict[Handle, FetchRow]:
        return (await self._read(handles))[0]

    async def _read(self, handles: Sequence[Handle]) -> tuple[dict[Handle, FetchRow], set[Handle]]:
        """What is there, and the handles that a rebuild of their mailbox made void."""
        groups, _ = await grouped(handles, self._reach.resolve)
        found: dict[Handle, FetchRow] = {}
        void: set[Handle] = set()
        for group in groups:
            try:
                async with self._reach.pool().writing(wire_name(group.mailbox), uidvalidity=group.uidvalidity) as box:
                    rows = await box.fetch_all(group.uids, MARKS.token.items)
            except Stale:
                void.update(group.handles())
            except NotFound:
                continue
            else:
                found |= {group.handle(row.uid): row for row in rows}
        return found, void

    async def _settled(self, owing: Mapping[Handle, Fate], proved: dict[Handle, Fate]) -> dict[Handle, Fate]:
        """Take our star off what was found, wherever it is. What cannot be paid now stays as it was, and open."""
        debts: dict[Handle, Handle] = {}
        for handle in owing:
            fate = proved[handle]
            if fate.proof is Proof.ORPHANED:  # the star holds it until it is brought back
                proved[handle] = in_debt(fate)
            elif fate.proof is Proof.SEEN or fate.ending is Ending.FAILED:
                debts[fate.now or handle] = handle
        if not debts:
            return proved
        fates = await self._unstar(list(debts), UNSTAR)
        done = {debts[fate.handle] for fate in fates if fate.ending is Ending.DONE}
        return proved | {one: paid(proved[one]) if one in done else owing[one] for one in debts.values()}


def _is_starred(row: FetchRow) -> bool:
    return Flag.FLAGGED in flags.ours(row.flags or ())


def _found(found: Mapping[Mark, Occurrence], fate: Fate) -> Occurrence | None:
    mark = mark_of(fate)
    return None if mark is None else found.get(mark)


def _unsettled(fate: Fate) -> bool:
    if fate.ending is Ending.DONE:
        return fate.proof not in {None, Proof.SEEN} or fate.code == OWED
    return fate.ending is Ending.UNCERTAIN


def _is_meant(place: Occurrence, to: Mailbox | Home) -> bool:
    if isinstance(to, Home) or to.role in HOMES:
        return place.mailbox.role in HOMES
    return place.mailbox.id == to.id


def _seen(fate: Fate, now: Handle | None) -> Fate:
    code = fate.code if fate.code == OWED else None
    return replace(fate, ending=Ending.DONE, code=code, why=None, now=now, proof=Proof.SEEN)


def _moved_meanwhile(fate: Fate, place: Occurrence) -> Fate:
    why = f"it is in {place.mailbox.path} now"
    return replace(fate, ending=Ending.FAILED, code="moved_meanwhile", why=why, now=place.handle, proof=None)


def _not_done(fate: Fate) -> Fate:
    return replace(fate, ending=Ending.FAILED, code="not_done", why=NOT_DONE, now=None, proof=None)
