"""Where a message is: its one place, its labels, and All Mail, which shows everything.

A place is exclusive. A message that no place shows is an orphan: only All Mail and its labels still show it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcp_proton.bridge.changing.looking import MARKS
from mcp_proton.domain.errors import NotFound
from mcp_proton.domain.mail import Role
from mcp_proton.imap import keys
from mcp_proton.imap.mailboxes import wire_name

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from mcp_proton.domain.handles import Handle
    from mcp_proton.domain.mail import Mailbox
    from mcp_proton.imap.changing.marks import Mark
    from mcp_proton.imap.protocol.pool import Pool

HOMES = frozenset({Role.INBOX, Role.SENT, Role.DRAFTS})
"""places that follow the message's kind, whatever was asked"""
FIXED = frozenset({Role.ARCHIVE, Role.SPAM, Role.TRASH, Role.FOLDER})
PLACES = HOMES | FIXED
SHOWING = PLACES | {Role.LABEL, Role.STARRED, Role.ALL}
"""mailboxes whose messages may be labelled; not those that are only Bridge's own, or hold what waits to be sent"""
_ORDER = (
    Role.INBOX, Role.ARCHIVE, Role.SENT, Role.FOLDER, Role.TRASH, Role.SPAM, Role.DRAFTS, Role.ALL,
)  # fmt: skip
"""where a message most likely is comes first"""


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A message in a mailbox."""

    mailbox: Mailbox
    uidvalidity: int
    uid: int

    @property
    def handle(self) -> Handle:
        """Its handle."""
        return keys.handle(self.mailbox, self.uidvalidity, self.uid)


class Occurrences:
    """Looks for marks, every mailbox told by NOOP or opened anew just before. `listed` gives all mailboxes."""

    def __init__(self, pool: Callable[[], Pool], listed: Callable[[], Awaitable[Sequence[Mailbox]]]) -> None:
        self._pool, self._listed = pool, listed

    async def of_roles(self, roles: Iterable[Role], *, first: Sequence[Mailbox] = ()) -> list[Mailbox]:
        """The mailboxes of these roles, `first` and then the likely ones in front."""
        wanted, ids = frozenset(roles), {box.id for box in first}
        boxes = [box for box in await self._listed() if box.role in wanted and box.id not in ids]
        return [*first, *sorted(boxes, key=lambda box: _ORDER.index(box.role) if box.role in _ORDER else len(_ORDER))]

    async def within(self, box: Mailbox, marks: Iterable[Mark | None]) -> dict[Mark, Occurrence]:
        """Those that this mailbox shows."""
        wanted = {mark for mark in marks if mark is not None}
        if not wanted:
            return {}
        try:
            async with self._pool().writing(wire_name(box)) as opened:
                found = await MARKS.find(opened, wanted)
        except NotFound:
            return {}
        return {mark: Occurrence(box, opened.uidvalidity, uids[0]) for mark, uids in found.items()}

    async def first_of(self, boxes: Sequence[Mailbox], marks: Iterable[Mark | None]) -> dict[Mark, Occurrence]:
        """The first of these mailboxes that shows each of them. Stops as soon as all are found."""
        wanted = {mark for mark in marks if mark is not None}
        found: dict[Mark, Occurrence] = {}
        for box in boxes:
            if not wanted:
                break
            here = await self.within(box, wanted)
            found |= here
            wanted -= here.keys()
        return found

    async def places(self, marks: Iterable[Mark | None], *, first: Sequence[Mailbox] = ()) -> dict[Mark, Occurrence]:
        """The place of each; an orphan has none."""
        return await self.first_of(await self.of_roles(PLACES, first=first), marks)

    async def anywhere(self, marks: Iterable[Mark | None], *, first: Sequence[Mailbox] = ()) -> dict[Mark, Occurrence]:
        """The place of each, or All Mail where it has none."""
        return await self.first_of(await self.of_roles(PLACES | {Role.ALL}, first=first), marks)

    async def labels(self, marks: Iterable[Mark | None]) -> dict[Mark, list[str]]:
        """The paths of the labels each of them has."""
        wanted = {mark for mark in marks if mark is not None}
        held: dict[Mark, list[str]] = {}
        for label in await self.of_roles({Role.LABEL}):
            for mark in await self.within(label, wanted):
                held.setdefault(mark, []).append(label.path)
        return held
