"""The guard for Trash: a star holds a message, so that even a MOVE that comes too late costs its place and not the mail.

An owner's option. The star is set before the move and owed back afterwards: `prove` takes it off wherever the message
was found. The intent in the journal says which messages bore no star before, so a process that is killed between the star
and the move, or after it, leaves a debt that the next one pays. (Proton itself takes a star off in Trash; whether it does
so before Bridge looks is not known.)
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mcp_proton.bridge.changing import sending
from mcp_proton.domain.errors import MailError
from mcp_proton.domain.mail import Role
from mcp_proton.domain.outcome import Ending
from mcp_proton.domain.ports import FlagChange, Home
from mcp_proton.imap.changing import placing, proving
from mcp_proton.imap.errors import Rejected
from mcp_proton.imap.protocol import commands
from mcp_proton.imap.protocol.uids import UidSet

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from mcp_proton.bridge.changing.looking import Seen
    from mcp_proton.bridge.changing.sending import Answer
    from mcp_proton.domain.handles import Handle
    from mcp_proton.domain.mail import Mailbox
    from mcp_proton.domain.outcome import Fate
    from mcp_proton.imap.changing.marks import Mark
    from mcp_proton.imap.groups import Group
    from mcp_proton.imap.protocol.box import Box

    Unstar = Callable[[Sequence[Handle], FlagChange], Awaitable[Sequence[Fate]]]

OWED = "unstar_owed"
"""the code of a fate whose star is ours, and to be taken off"""
UNSTAR = FlagChange(remove=frozenset({"flagged"}))
_BARE, _DEBT = " bare", " owed"
"""what an identity ends in: no star was on it before, and (owed) ours is"""


def noted(mark: Mark, *, starred: bool) -> str:
    """What an intent keeps of a message that may be guarded: a star the owner set is never ours to take off."""
    return str(mark) if starred else f"{mark}{_BARE}"


def mark_of(fate: Fate) -> Mark | None:
    """The mark in an identity, whatever the guard added."""
    return proving.mark_of(replace(fate, identity=_plain(fate)))


def in_debt(fate: Fate) -> Fate:
    """The fate of what bears our star, wherever it goes on to."""
    plain = _plain(fate)
    return fate if plain is None else replace(fate, identity=f"{plain}{_DEBT}")


def paid(fate: Fate) -> Fate:
    """The fate of what bears it no longer."""
    return replace(fate, code=None if fate.code == OWED else fate.code, identity=_plain(fate))


def owes(fate: Fate, to: Mailbox | Home | None) -> bool:
    """Whether a star of ours may be on it. An intent alone says so only of what was to go to Trash."""
    identity = fate.identity or ""
    to_trash = to is not None and not isinstance(to, Home) and to.role is Role.TRASH
    return fate.code == OWED or identity.endswith(_DEBT) or (to_trash and identity.endswith(_BARE))


def _plain(fate: Fate) -> str | None:
    return None if fate.identity is None else fate.identity.removesuffix(_BARE).removesuffix(_DEBT)


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
        return {
            handle: replace(in_debt(fates[handle]), code=OWED) for handle in ours if fates[handle].ending in endings
        }

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
