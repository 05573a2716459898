"""From what Bridge answered to what became of each message: named by COPYUID, looked for, or honestly not known."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mcp_proton.bridge.changing import sending
from mcp_proton.domain.errors import Ambiguous, Conflict, MailError
from mcp_proton.domain.mail import Role
from mcp_proton.domain.outcome import Ending, Fate, Proof
from mcp_proton.imap.changing import placing
from mcp_proton.imap.changing.fates import by_handle
from mcp_proton.imap.protocol import commands
from mcp_proton.imap.protocol.codes import CopyUid

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_proton.bridge.changing.looking import Seen
    from mcp_proton.bridge.changing.occurrences import Occurrence, Occurrences
    from mcp_proton.bridge.changing.sending import Answer
    from mcp_proton.domain.handles import Handle
    from mcp_proton.domain.mail import Mailbox
    from mcp_proton.imap.changing.marks import Mark
    from mcp_proton.imap.groups import Group

ORPHANED = "it is in no mailbox any more, only in All Mail; nothing was sent again"


class Outcomes:
    """`occurrences` looks where COPYUID says nothing."""

    def __init__(self, occurrences: Occurrences) -> None:
        self._occurrences = occurrences

    async def of(
        self,
        part: Group,
        answer: Answer,
        to: Mailbox,
        seen: Mapping[int, Seen],
        command: type[commands.Copy | commands.Move],
    ) -> dict[Handle, Fate]:
        """One fate a message of the group."""
        marks = {uid: seen[uid].mark for uid in part.uids}
        fates: dict[Handle, Fate] = {}
        if isinstance(answer, CopyUid):
            fates = by_handle(part, placing.placed(part, answer, to, Proof.COPYUID, marks))
        if isinstance(answer, MailError):
            return {handle: self._failed(handle, answer, seen[uid]) for uid, handle in _named(part)}
        left = [uid for uid, handle in _named(part) if handle not in fates]
        if not left:
            return fates
        found = await self._whereabouts(part, to, [seen[uid] for uid in left])
        for uid in left:
            mark = seen[uid].mark
            fates[part.handle(uid)] = self._looked_for(
                part, uid, seen[uid], None if mark is None else found.get(mark), to, command
            )
        return fates

    def _failed(self, handle: Handle, error: MailError, seen: Seen) -> Fate:
        """Not sent, or not known: then with what it can be found again by."""
        fate = Fate.of_error(handle, error)
        return fate if sending.never_sent(error) else replace(fate, identity=placing.identity(seen.mark))

    async def _whereabouts(self, part: Group, to: Mailbox, lost: list[Seen]) -> dict[Mark, Occurrence]:
        """An OK that named nothing: look at once, All Mail last. A look that fails leaves it unknown."""
        try:
            return await self._occurrences.anywhere([one.mark for one in lost], first=[to, part.mailbox])
        except MailError:
            return {}

    def _looked_for(
        self,
        part: Group,
        uid: int,
        seen: Seen,
        place: Occurrence | None,
        to: Mailbox,
        command: type[commands.Copy | commands.Move],
    ) -> Fate:
        handle, mark = part.handle(uid), placing.identity(seen.mark)
        if place is None:
            unknown = Fate.of_error(handle, Ambiguous("Bridge said yes, but not what it did, and it is not to be seen"))
            return replace(unknown, identity=mark)
        if place.mailbox.id == to.id:
            return Fate.done(handle, place.handle, proof=Proof.COPYUID, identity=mark)
        if place.mailbox.role is Role.ALL and command is commands.Move:
            return Fate(handle, Ending.UNCERTAIN, "orphaned", ORPHANED, place.handle, Proof.ORPHANED, mark)
        where = "it is where it was" if place.handle == handle else f"it is in {place.mailbox.path} now"
        moved = Conflict(f"nothing was done: {where}", code="not_done" if place.handle == handle else "moved_meanwhile")
        return replace(Fate.of_error(handle, moved), now=None if place.handle == handle else place.handle)


def _named(part: Group) -> list[tuple[int, Handle]]:
    return [(uid, part.handle(uid)) for uid in part.uids]
