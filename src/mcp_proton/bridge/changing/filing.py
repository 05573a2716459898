"""Moving on Bridge: from the message's own place only, into a place, by the recipes measured on a running Bridge.

A place is exclusive, so what the fresh list of a place still shows is in no other place Bridge knows of. A handle of a
label, of Starred or of All Mail is first traced to the message's place, the destination looked at before all others.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mcp_proton.bridge.changing import sending
from mcp_proton.bridge.changing.guarding import UNSTAR, Guard
from mcp_proton.bridge.changing.looking import Seen, look
from mcp_proton.bridge.changing.occurrences import FIXED, HOMES, PLACES, Occurrence
from mcp_proton.bridge.changing.outcomes import Outcomes
from mcp_proton.domain.errors import MailError, NotFound, Unsupported
from mcp_proton.domain.mail import VIEWS, Role
from mcp_proton.domain.outcome import Fate
from mcp_proton.domain.ports import Home
from mcp_proton.imap.changing.fates import already_there, by_group, by_page, failed, refused, without_fate
from mcp_proton.imap.errors import gone
from mcp_proton.imap.groups import Group
from mcp_proton.imap.mailboxes import wire_name
from mcp_proton.imap.protocol import commands

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mcp_proton.bridge.changing.guarding import Unstar
    from mcp_proton.bridge.changing.reach import Reach
    from mcp_proton.domain.handles import Handle
    from mcp_proton.domain.mail import Mailbox
    from mcp_proton.imap.changing.fates import Fates
    from mcp_proton.imap.protocol.box import Box

WRONG_KIND = "received mail belongs in INBOX, sent mail in Sent, drafts in Drafts; Bridge would lose its place"


class Filing:
    """`guarded`: a star keeps what is moved to Trash from being deleted in the moment nothing else closes."""

    def __init__(self, reach: Reach, unstar: Unstar, *, guarded: bool = False) -> None:
        self._reach = reach
        self._outcomes = Outcomes(reach.occurrences)
        self._guard, self._unstar = Guard(guarded), unstar

    async def move(self, handles: Sequence[Handle], to: Mailbox | Home) -> list[Fate]:
        """Into a place, or where the kind of each belongs."""
        check_place(to)

        async def act(group: Group, fates: Fates) -> None:
            role = group.mailbox.role
            if role in PLACES:
                await self.from_place(group, to, fates)
            elif role in VIEWS:
                await self._from_view(group, to, fates)
            else:
                fates |= refused(group, f"mail is not moved out of a mailbox of the role `{role.value}`")

        return await by_group(handles, self._reach.resolve, act)

    # --- from the message's own place ----------------------------------------------------------------------------

    async def from_place(self, group: Group, to: Mailbox | Home, fates: Fates) -> None:
        """A whole group, page by page; after a page that failed nothing more is sent."""
        if group.mailbox.role in HOMES and (isinstance(to, Home) or to.id == group.mailbox.id):
            fates |= already_there(group)
        elif group.mailbox.role in HOMES and not isinstance(to, Home) and to.role in HOMES:
            fates |= refused(group, WRONG_KIND)
        elif not isinstance(to, Home) and to.id == group.mailbox.id:
            fates |= already_there(group)
        else:
            async with self._reach.pool().writing(wire_name(group.mailbox), uidvalidity=group.uidvalidity) as box:

                async def act(page: Group, fates: Fates) -> bool:
                    return await self._page(box, page, to, fates)

                await by_page(group, sending.PAGE, fates, act)

    async def _page(self, box: Box, page: Group, to: Mailbox | Home, fates: Fates) -> bool:
        seen = await look(box, page.uids, self._reach.homes.own)
        fates |= failed(page.without(seen), gone())
        for target, part in await self._targets(page.without(set(page.uids) - set(seen)), to, seen):
            answer = await self._guard.move(box, part, target, seen)
            fates |= await self._outcomes.of(part, answer, target, seen, commands.Move)
            fates |= self._guard.owed(part, target, seen, fates)
            left = self._guard.left(part, target, seen, answer, fates)
            fates |= _elsewhere(part, to, target, fates)
            if left:
                await self._unstar(left, UNSTAR)
            if sending.ends_it(answer):
                return True
        return False

    async def _targets(self, group: Group, to: Mailbox | Home, seen: Mapping[int, Seen]) -> list[tuple[Mailbox, Group]]:
        """A home is never named wrongly: there a message of another kind would only leave its place."""
        if not isinstance(to, Home) and to.role in FIXED:
            return [(to, group)] if group.uids else []
        return await self._reach.homes.split(group, {uid: seen[uid].kind for uid in group.uids})

    # --- from a label, Starred or All Mail ------------------------------------------------------------------------

    async def _from_view(self, group: Group, to: Mailbox | Home, fates: Fates) -> None:
        async with self._reach.pool().reading(wire_name(group.mailbox), uidvalidity=group.uidvalidity) as box:
            seen = await look(box, group.uids, self._reach.homes.own)
        fates |= failed(group.without(seen), gone())
        first = [] if isinstance(to, Home) else [to]
        found = await self._reach.occurrences.places([one.mark for one in seen.values()], first=first)
        traced: dict[tuple[str, int], tuple[Mailbox, list[int]]] = {}
        asked: dict[Handle, Handle] = {}
        for uid, one in seen.items():
            place = None if one.mark is None else found.get(one.mark)
            handle = group.handle(uid)
            if place is None:
                fates[handle] = Fate.of_error(handle, orphaned())
            elif _is_in(place, to):
                fates[handle] = replace(Fate.skipped(handle, "already_there", "it is there already"), now=place.handle)
            else:
                asked[handle] = place.handle
                traced.setdefault((place.mailbox.tag, place.uidvalidity), (place.mailbox, []))[1].append(place.uid)
        moved: Fates = {}
        for (_, uidvalidity), (mailbox, uids) in traced.items():
            part = Group(mailbox, uidvalidity, tuple(dict.fromkeys(uids)))
            try:
                await self.from_place(part, to, moved)
            except MailError as error:
                moved |= failed(without_fate(part, moved), error)
        fates |= {handle: replace(moved[place], handle=handle) for handle, place in asked.items()}


def check_place(to: Mailbox | Home) -> None:
    """Raise `Unsupported`, with what to do instead, for a destination that is no place."""
    if isinstance(to, Home) or to.role in PLACES:
        return
    instead = {
        Role.LABEL: "add the label with `labels_apply`; its place stays as it is",
        Role.STARRED: "star it; a move to Starred takes a message out of its place",
        Role.ALL: "everything is in All Mail already",
        Role.NODE: "choose a folder in it",
    }
    raise Unsupported(
        f"a mailbox of the role `{to.role.value}` is no place to move mail to",
        code="unsupported_semantics",
        next=f"nothing was done; {instead.get(to.role, 'choose INBOX, Archive, Trash or a folder')}",
    )


def orphaned() -> NotFound:
    """The error for a message that no place shows."""
    return NotFound("this message is in no mailbox any more, only in All Mail", code="orphaned", next="restore it")


def _is_in(place: Occurrence, to: Mailbox | Home) -> bool:
    return place.mailbox.role in HOMES if isinstance(to, Home) else place.mailbox.id == to.id


def _elsewhere(part: Group, to: Mailbox | Home, target: Mailbox, fates: Mapping[Handle, Fate]) -> Fates:
    """Say so where mail went to the home of its kind instead of the home named."""
    if isinstance(to, Home) or target.id == to.id:
        return {}
    why = f"mail of its kind belongs in {target.path}, so it is there"
    done: Iterable[Handle] = (handle for handle in part.handles() if fates[handle].now is not None)
    return {handle: replace(fates[handle], why=why) for handle in done if fates[handle].why is None}
