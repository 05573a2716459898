r"""UID EXPUNGE on Bridge, page by page: what the mailbox means decides what it does.

In a label it takes the label off, in Trash and Drafts it deletes for good, anywhere else it takes a message out of its
place and leaves it in All Mail alone. Never plain EXPUNGE, never CLOSE after marking: both take what others marked.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mcp_proton.bridge.changing import sending
from mcp_proton.bridge.changing.looking import Seen, look
from mcp_proton.domain.errors import Ambiguous, Conflict, MailError
from mcp_proton.domain.outcome import Fate, Proof
from mcp_proton.imap.changing import placing
from mcp_proton.imap.changing.fates import by_page, failed, without_fate
from mcp_proton.imap.changing.filing import removed
from mcp_proton.imap.changing.flagging import existing
from mcp_proton.imap.errors import Rejected, gone
from mcp_proton.imap.protocol.uids import UidSet

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from mcp_proton.imap.changing.fates import Fates
    from mcp_proton.imap.changing.homes import Homes
    from mcp_proton.imap.groups import Group
    from mcp_proton.imap.protocol.box import Box

    Spare = Callable[[Group, Mapping[int, Seen]], Awaitable[Fates]]


class Remover:
    """Removes named messages from the open mailbox."""

    def __init__(self, homes: Homes) -> None:
        self._homes = homes

    async def pages(self, box: Box, group: Group, fates: Fates, spare: Spare | None = None) -> None:
        """A fate each. `spare` gives the fates of those of a page that are to be left alone."""

        async def act(page: Group, fates: Fates) -> bool:
            return await self._page(box, page, fates, spare)

        await by_page(group, sending.PAGE, fates, act)

    async def _page(self, box: Box, page: Group, fates: Fates, spare: Spare | None) -> bool:
        seen = await look(box, page.uids, self._homes.own)
        fates |= failed(page.without(seen), gone())
        if spare is not None:
            fates |= await spare(page.without(set(page.uids) - set(seen)), seen)
        part = without_fate(page, fates)
        if not part.uids:
            return False
        error = await removed(box, part)
        if error is not None:
            fates |= self._unsure(part, error, seen)
            return True
        stayed = await self._stayed(box, part)
        for uid in part.uids:
            handle, mark = part.handle(uid), placing.identity(seen[uid].mark)
            done = Fate.done(handle, proof=Proof.COPYUID, identity=mark)
            fates[handle] = Fate.of_error(handle, _not_taken()) if uid in stayed else done
        return False

    async def _stayed(self, box: Box, part: Group) -> set[int]:
        try:
            return await existing(box, UidSet.of(part.uids))
        except MailError:
            return set()

    def _unsure(self, part: Group, error: MailError, seen: Mapping[int, Seen]) -> Fates:
        """A refused EXPUNGE may have taken the message out of the mailbox and gone no further."""
        told = error
        if isinstance(error, Rejected) and error.answer != "BAD":
            told = Ambiguous("Bridge refused to expunge, and that need not mean that nothing was done")
        return {
            part.handle(uid): replace(Fate.of_error(part.handle(uid), told), identity=placing.identity(seen[uid].mark))
            for uid in part.uids
        }


def _not_taken() -> Conflict:
    return Conflict("nothing was done: it is where it was", code="not_done")
