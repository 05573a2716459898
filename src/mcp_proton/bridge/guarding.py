"""The guard for Trash: a star holds a message, so that even a MOVE that comes too late costs its place and not the mail.

An owner's option. The star is set before the move and owed back afterwards: it is taken off when the message was seen in
Trash, and when it was seen that it never got there. That it bore none before is noted with the intent, so that the debt
outlives the process. (Proton itself takes a star off in Trash; whether it does so before Bridge looks is not known.)
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mcp_proton.bridge import sending
from mcp_proton.domain.errors import MailError
from mcp_proton.domain.mail import Role
from mcp_proton.domain.outcome import Ending
from mcp_proton.domain.ports import FlagChange
from mcp_proton.imap import commands, placing
from mcp_proton.imap.errors import Rejected
from mcp_proton.imap.uids import UidSet

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from mcp_proton.bridge.looking import Seen
    from mcp_proton.bridge.sending import Answer
    from mcp_proton.domain.handles import Handle
    from mcp_proton.domain.mail import Mailbox
    from mcp_proton.domain.outcome import Fate
    from mcp_proton.imap.box import Box
    from mcp_proton.imap.groups import Group

    Unstar = Callable[[Sequence[Handle], FlagChange], Awaitable[Sequence[Fate]]]

OWED = "unstar_owed"
"""the code of a fate whose star is ours, and to be taken off"""
UNSTAR = FlagChange(remove=frozenset({"flagged"}))
_BARE = "~bare"
"""what ends the identity of a message that had no star before"""


def noted(identity: str, *, starred: bool) -> str:
    """An identity as the intent keeps it."""
    return identity if starred else identity + _BARE


def is_owing(fate: Fate, to: Mailbox) -> bool:
    """Whether a star of ours may be on it: one that is owed, or one that a killed process may have set."""
    if fate.code == OWED:
        return True
    return to.role is Role.TRASH and fate.ending is Ending.UNCERTAIN and (fate.identity or "").endswith(_BARE)


def without_note(fate: Fate) -> Fate:
    """The fate with the identity alone."""
    return fate if fate.identity is None else replace(fate, identity=fate.identity.removesuffix(_BARE))


class Guard:
    """`wanted`: the owner chose it."""

    def __init__(self, wanted: bool) -> None:  # a switch of the owner's
        self._wanted = wanted

    async def move(self, box: Box, part: Group, to: Mailbox, seen: Mapping[int, Seen]) -> Answer:
        """MOVE, with the star set before where it is wanted and not set already."""
        bare = self._bare(part, to, seen)
        if bare:
            try:
                await box.run(commands.Store(UidSet.of(bare), ["\\Flagged"], add=True))
            except Rejected as refusal:
                return refusal if refusal.answer == "BAD" else placing.unsure(refusal.command)
            except MailError as error:
                return error
        answer = await sending.place(box, commands.Move, part.uids, to)
        if bare and sending.never_sent(answer):
            await self._take_back(box, bare)
        return answer

    def owed(
        self, part: Group, to: Mailbox, seen: Mapping[int, Seen], fates: Mapping[Handle, Fate]
    ) -> dict[Handle, Fate]:
        """The fates of what bears a star of ours."""
        ours = [part.handle(uid) for uid in self._bare(part, to, seen)]
        endings = {Ending.DONE, Ending.UNCERTAIN}
        return {handle: replace(fates[handle], code=OWED) for handle in ours if fates[handle].ending in endings}

    def left(
        self, part: Group, to: Mailbox, seen: Mapping[int, Seen], answer: Answer, fates: Mapping[Handle, Fate]
    ) -> list[Handle]:
        """Where a star of ours is on what was not moved, and shall not stay."""
        if sending.never_sent(answer):
            return []  # taken back already
        ours = [fates[part.handle(uid)] for uid in self._bare(part, to, seen)]
        return [fate.now or fate.handle for fate in ours if fate.ending is Ending.FAILED]

    def _bare(self, part: Group, to: Mailbox, seen: Mapping[int, Seen]) -> list[int]:
        if not self._wanted or to.role is not Role.TRASH:
            return []
        return [uid for uid in part.uids if not seen[uid].starred]

    async def _take_back(self, box: Box, uids: list[int]) -> None:
        try:
            await box.run(commands.Store(UidSet.of(uids), ["\\Flagged"], add=False))
        except MailError:
            return
