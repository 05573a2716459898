"""Labels on Bridge: COPY into `Labels/…` adds one and leaves the place alone; UID EXPUNGE in its mailbox takes it off."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mcp_proton.bridge.changing import sending
from mcp_proton.bridge.changing.looking import look
from mcp_proton.bridge.changing.occurrences import SHOWING
from mcp_proton.bridge.changing.outcomes import Outcomes
from mcp_proton.bridge.changing.removing import Remover
from mcp_proton.domain.errors import Unsupported
from mcp_proton.domain.mail import Role
from mcp_proton.domain.outcome import Fate
from mcp_proton.imap.changing.fates import already_there, by_group, by_page, failed, refused, without_fate
from mcp_proton.imap.errors import gone
from mcp_proton.imap.mailboxes import wire_name
from mcp_proton.imap.protocol import commands

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_proton.bridge.changing.reach import Reach
    from mcp_proton.domain.handles import Handle
    from mcp_proton.domain.mail import Mailbox
    from mcp_proton.imap.changing.fates import Fates
    from mcp_proton.imap.groups import Group
    from mcp_proton.imap.protocol.box import Box


class Labelling:
    """Adds and removes labels without touching anything else of a message (P-57)."""

    def __init__(self, reach: Reach) -> None:
        self._reach = reach
        self._outcomes = Outcomes(reach.occurrences)
        self._remover = Remover(reach.homes)

    async def label(self, handles: Sequence[Handle], to: Mailbox) -> list[Fate]:
        """Add a label to what does not have it yet."""
        if to.role is not Role.LABEL:
            raise Unsupported(
                f"a mailbox of the role `{to.role.value}` is no label",
                code="unsupported_semantics",
                next="nothing was done; a copy into anything but a label moves the message, so move it if that is meant",
            )

        async def act(group: Group, fates: Fates) -> None:
            await self._labelled(group, to, fates)

        return await by_group(handles, self._reach.resolve, act)

    async def _labelled(self, group: Group, to: Mailbox, fates: Fates) -> None:
        if group.mailbox.id == to.id:
            fates |= already_there(group)
            return
        if group.mailbox.role not in SHOWING:
            fates |= refused(group, f"mail in a mailbox of the role `{group.mailbox.role.value}` is not labelled")
            return
        async with self._reach.pool().writing(wire_name(group.mailbox), uidvalidity=group.uidvalidity) as box:

            async def act(page: Group, fates: Fates) -> bool:
                return await self._page(box, page, to, fates)

            await by_page(group, sending.PAGE, fates, act)

    async def _page(self, box: Box, page: Group, to: Mailbox, fates: Fates) -> bool:
        """The destination is looked at first: a COPY of what is there takes it out before it puts it in again."""
        seen = await look(box, page.uids, self._reach.homes.own)
        fates |= failed(page.without(seen), gone())
        there = await self._reach.occurrences.within(to, [one.mark for one in seen.values()])
        for uid, one in seen.items():
            if one.mark in there:
                handle = page.handle(uid)
                known = there[one.mark].handle
                fates[handle] = replace(Fate.skipped(handle, "already_there", "it has the label already"), now=known)
        part = without_fate(page, fates)
        if not part.uids:
            return False
        answer = await sending.place(box, commands.Copy, part.uids, to)
        fates |= await self._outcomes.of(part, answer, to, seen, commands.Copy)
        return sending.ends_it(answer)

    async def unlabel(self, handles: Sequence[Handle]) -> list[Fate]:
        """Take the label off in whose mailbox the handles are."""

        async def act(group: Group, fates: Fates) -> None:
            if group.mailbox.role is not Role.LABEL:
                fates |= refused(
                    group, "a label is taken off in its own mailbox only; anywhere else mail loses its place"
                )
                return
            async with self._reach.pool().writing(wire_name(group.mailbox), uidvalidity=group.uidvalidity) as box:
                await self._remover.pages(box, group, fates)

        return await by_group(handles, self._reach.resolve, act)
