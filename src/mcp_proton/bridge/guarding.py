"""The guard for Trash: a star holds a message, so that even a MOVE that comes too late costs its place and not the mail.

An owner's option. The star is set before the move and owed back afterwards: `prove` takes it off when the message was
seen in Trash. (Proton itself takes a star off in Trash; whether it does so before Bridge looks is not known.)
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mcp_proton.bridge import sending
from mcp_proton.domain.errors import MailError
from mcp_proton.domain.mail import Role
from mcp_proton.domain.outcome import Ending
from mcp_proton.imap import commands
from mcp_proton.imap.uids import UidSet

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_proton.bridge.looking import Seen
    from mcp_proton.bridge.sending import Answer
    from mcp_proton.domain.handles import Handle
    from mcp_proton.domain.mail import Mailbox
    from mcp_proton.domain.outcome import Fate
    from mcp_proton.imap.box import Box
    from mcp_proton.imap.groups import Group

OWED = "unstar_owed"
"""the code of a fate whose star is ours, and to be taken off"""


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

    def _bare(self, part: Group, to: Mailbox, seen: Mapping[int, Seen]) -> list[int]:
        if not self._wanted or to.role is not Role.TRASH:
            return []
        return [uid for uid in part.uids if not seen[uid].starred]

    async def _take_back(self, box: Box, uids: list[int]) -> None:
        try:
            await box.run(commands.Store(UidSet.of(uids), ["\\Flagged"], add=False))
        except MailError:
            return
