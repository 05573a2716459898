"""What became of a change whose answer was lost: looked up, never guessed, never repeated."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mcp_proton.domain.errors import Invalid, NotFound, Stale
from mcp_proton.domain.outcome import Ending, Fate, Proof
from mcp_proton.domain.ports import Home
from mcp_proton.imap import keys
from mcp_proton.imap.changing.homes import KINDS
from mcp_proton.imap.changing.marks import Mark
from mcp_proton.imap.groups import grouped
from mcp_proton.imap.mailboxes import wire_name

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence

    from mcp_proton.domain.handles import Handle
    from mcp_proton.domain.mail import Mailbox
    from mcp_proton.imap.changing.marks import Marks
    from mcp_proton.imap.protocol.pool import Pool

NOT_DONE = "it was looked for, and is where it was"


class Proving:
    """On a server that keeps to the RFCs an OK is a proof; only what is uncertain is looked for."""

    def __init__(
        self,
        pool: Callable[[], Pool],
        resolve: Callable[[Handle], Awaitable[Mailbox]],
        listed: Callable[[], Awaitable[Sequence[Mailbox]]],
        marks: Marks,
    ) -> None:
        self._pool, self._resolve, self._listed, self._marks = pool, resolve, listed, marks

    async def identify(self, handles: Sequence[Handle]) -> dict[Handle, str]:
        """The marks of what is still there and has one."""
        groups, _ = await grouped(handles, self._resolve)
        found: dict[Handle, str] = {}
        for group in groups:
            try:
                async with self._pool().reading(wire_name(group.mailbox), uidvalidity=group.uidvalidity) as box:
                    marks = await self._marks.read(box, group.uids)
            except (Stale, NotFound):
                continue
            found |= {group.handle(uid): str(mark) for uid, mark in marks.items() if mark is not None}
        return found

    async def prove(self, fates: Sequence[Fate], to: Mailbox | Home | None, age: float) -> list[Fate]:
        """The fates as they are known now."""
        open_ones = [fate for fate in fates if fate.ending is Ending.UNCERTAIN]
        there, unsure = await self._still_there(open_ones)
        lost = [fate for fate in open_ones if fate.handle not in there]
        arrived = {} if to is None else await self.located([mark_of(fate) for fate in lost], await self._places(to))
        return [fate if fate.handle in unsure else self._told(fate, there, arrived, to) for fate in fates]

    def _told(
        self, fate: Fate, there: Mapping[Handle, Handle | None], arrived: dict[Mark, Handle], to: Mailbox | Home | None
    ) -> Fate:
        if fate.ending is not Ending.UNCERTAIN:
            return replace(fate, proof=Proof.SEEN) if fate.ending is Ending.DONE else fate
        if fate.handle in there:
            now = there[fate.handle]
            return replace(fate, ending=Ending.FAILED, code="not_done", why=NOT_DONE, now=now, proof=None)
        mark = mark_of(fate)
        if to is None:
            return replace(fate, ending=Ending.DONE, code=None, why=None, proof=Proof.SEEN)
        if mark in arrived and mark is not None:
            return replace(fate, ending=Ending.DONE, code=None, why=None, now=arrived[mark], proof=Proof.SEEN)
        return fate

    async def _still_there(self, fates: Sequence[Fate]) -> tuple[dict[Handle, Handle | None], set[Handle]]:
        """Those that are in their mailbox as before, with their new handle where a rebuild made the old one void.

        Besides, those of which nothing can be said after a rebuild: without a mark, or with one that several bear.
        """
        groups, _ = await grouped([fate.handle for fate in fates], self._resolve)
        marks = {fate.handle: mark_of(fate) for fate in fates}
        found: dict[Handle, Handle | None] = {}
        unsure: set[Handle] = set()
        for group in groups:
            try:
                async with self._pool().writing(wire_name(group.mailbox), uidvalidity=group.uidvalidity) as box:
                    found |= dict.fromkeys(group.handle(uid) for uid in await self._marks.read(box, group.uids))
            except Stale:
                again = await self._bearing(group.mailbox, {mark for one in group.handles() if (mark := marks[one])})
                for handle in group.handles():
                    mark = marks[handle]
                    alike = [] if mark is None else again.get(mark, [])
                    if mark is None or len(alike) > 1:
                        unsure.add(handle)
                    elif alike:
                        found[handle] = alike[0]
            except NotFound:
                continue
        return found, unsure

    async def located(self, marks: Sequence[Mark | None], places: Sequence[Mailbox]) -> dict[Mark, Handle]:
        """Where the messages of these marks are, the first place that shows one; two alike in a place tell nothing."""
        wanted = {mark for mark in marks if mark is not None}
        found: dict[Mark, Handle] = {}
        for place in places:
            if not wanted:
                break
            try:
                bearing = await self._bearing(place, wanted)
            except NotFound:
                continue
            found |= {mark: some[0] for mark, some in bearing.items() if len(some) == 1}
            wanted -= found.keys()
        return found

    async def _bearing(self, place: Mailbox, marks: Collection[Mark]) -> dict[Mark, list[Handle]]:
        """All that bear one of these marks in a mailbox."""
        async with self._pool().writing(wire_name(place)) as box:
            uids = await self._marks.find(box, marks)
        return {mark: [keys.handle(place, box.uidvalidity, uid) for uid in some] for mark, some in uids.items()}

    async def _places(self, to: Mailbox | Home) -> list[Mailbox]:
        if not isinstance(to, Home):
            return [to]
        return [box for box in await self._listed() if box.role in KINDS]


def mark_of(fate: Fate) -> Mark | None:
    """The mark a fate was given, if any."""
    try:
        return None if fate.identity is None else Mark.parse(fate.identity)
    except Invalid:
        return None
