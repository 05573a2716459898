"""Orphans back into a place: COPY from All Mail, after they were looked for in every place and found in none.

It is the only way: All Mail refuses MOVE (after it has done harm) and EXPUNGE.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mcp_proton.bridge.changing import sending
from mcp_proton.bridge.changing.filing import check_place
from mcp_proton.bridge.changing.looking import Seen, look
from mcp_proton.bridge.changing.occurrences import FIXED
from mcp_proton.bridge.changing.outcomes import Outcomes
from mcp_proton.domain.errors import not_attempted
from mcp_proton.domain.mail import Role
from mcp_proton.domain.outcome import Fate
from mcp_proton.domain.ports import Home
from mcp_proton.imap.changing.fates import by_group, by_page, failed, refused, without_fate
from mcp_proton.imap.errors import gone
from mcp_proton.imap.mailboxes import wire_name
from mcp_proton.imap.protocol import commands

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcp_proton.bridge.changing.reach import Reach
    from mcp_proton.domain.handles import Handle
    from mcp_proton.domain.mail import Mailbox
    from mcp_proton.imap.changing.fates import Fates
    from mcp_proton.imap.groups import Group
    from mcp_proton.imap.protocol.box import Box


class Reattaching:
    """Handles of All Mail in, places out."""

    def __init__(self, reach: Reach) -> None:
        self._reach = reach
        self._outcomes = Outcomes(reach.occurrences)

    async def reattach(self, handles: Sequence[Handle], to: Mailbox | Home) -> list[Fate]:
        """Into a place, or where the kind of each belongs."""
        check_place(to)

        async def act(group: Group, fates: Fates) -> None:
            if group.mailbox.role is not Role.ALL:
                fates |= refused(group, "orphans are found in All Mail, and are named by their handles there")
                return
            async with self._reach.pool().writing(wire_name(group.mailbox), uidvalidity=group.uidvalidity) as box:

                async def act_on(page: Group, fates: Fates) -> bool:
                    return await self._page(box, page, to, fates)

                await by_page(group, sending.PAGE, fates, act_on)

        return await by_group(handles, self._reach.resolve, act)

    async def _page(self, box: Box, page: Group, to: Mailbox | Home, fates: Fates) -> bool:
        seen = await look(box, page.uids, self._reach.homes.own)
        fates |= failed(page.without(seen), gone())
        placed = await self._reach.occurrences.places([one.mark for one in seen.values()])
        for uid, one in seen.items():
            handle = page.handle(uid)
            if one.mark is None:
                fates |= refused(page.without(set(page.uids) - {uid}), "nothing proves that it is in no mailbox")
            elif one.mark in placed:
                place = placed[one.mark]
                told = Fate.skipped(handle, "has_a_place", f"it is in {place.mailbox.path}")
                fates[handle] = replace(told, now=place.handle)
        for target, some in await self._targets(without_fate(page, fates), to, seen):
            answer = await self._sent(box, some, target, seen)
            fates |= await self._outcomes.of(some, answer, target, seen, commands.Copy)
            if sending.ends_it(answer):
                return True
        return False

    async def _sent(self, box: Box, part: Group, to: Mailbox, seen: Mapping[int, Seen]) -> sending.Answer:
        """In Trash and Drafts a COPY of what came there meanwhile deletes it, so they are looked at once more."""
        if to.role in {Role.TRASH, Role.DRAFTS} and await self._reach.occurrences.within(
            to, [seen[uid].mark for uid in part.uids]
        ):
            return not_attempted()
        return await sending.place(box, commands.Copy, part.uids, to)

    async def _targets(self, group: Group, to: Mailbox | Home, seen: Mapping[int, Seen]) -> list[tuple[Mailbox, Group]]:
        if not group.uids:
            return []
        if not isinstance(to, Home) and to.role in FIXED:
            return [(to, group)]
        return await self._reach.homes.split(group, {uid: seen[uid].kind for uid in group.uids})
