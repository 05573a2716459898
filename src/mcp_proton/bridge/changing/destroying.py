"""Deleting for good on Bridge: in Trash, and drafts in Drafts. Spam is moved to Trash first, and seen there.

What a label or a star holds would be left in All Mail alone, neither in Trash nor deleted; it is left where it is, and
named with what holds it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mcp_proton.bridge.changing.looking import Seen, look
from mcp_proton.bridge.changing.removing import Remover
from mcp_proton.domain.errors import Conflict, MailError, Unsupported
from mcp_proton.domain.mail import Role
from mcp_proton.domain.outcome import Ending, Fate
from mcp_proton.imap import keys
from mcp_proton.imap.changing.fates import by_group, failed, without_fate
from mcp_proton.imap.groups import Group
from mcp_proton.imap.mailboxes import wire_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcp_proton.bridge.changing.filing import Filing
    from mcp_proton.bridge.changing.reach import Reach
    from mcp_proton.domain.handles import Handle
    from mcp_proton.imap.changing.fates import Fates

DESTROYING = frozenset({Role.TRASH, Role.DRAFTS})


class Destroying:
    """`filing` moves spam to Trash."""

    def __init__(self, reach: Reach, filing: Filing) -> None:
        self._reach, self._filing = reach, filing
        self._remover = Remover(reach.homes)

    async def destroy(self, handles: Sequence[Handle]) -> list[Fate]:
        """These, and no others."""

        async def act(group: Group, fates: Fates) -> None:
            if group.mailbox.role in DESTROYING:
                await self._expunged(group, fates)
            elif group.mailbox.role is Role.SPAM:
                fates |= await self._spam(group)
            else:
                fates |= failed(group, _would_stay())

        return await by_group(handles, self._reach.resolve, act)

    async def _expunged(self, group: Group, fates: Fates) -> None:
        async with self._reach.pool().writing(wire_name(group.mailbox), uidvalidity=group.uidvalidity) as box:
            await self._remover.pages(box, group, fates, self._spared)

    async def _spared(self, page: Group, seen: Mapping[int, Seen]) -> Fates:
        fates: Fates = {}
        labels = await self._reach.occurrences.labels([seen[uid].mark for uid in page.uids])
        sent = await self._sent(page, seen)
        for uid in page.uids:
            mark, handle = seen[uid].mark, page.handle(uid)
            held = [*(["its star"] if seen[uid].starred else []), *(labels.get(mark, []) if mark is not None else [])]
            if uid in sent:
                fates[handle] = Fate.of_error(handle, _is_sent())
            elif held:
                fates[handle] = Fate.of_error(handle, _held(held))
        return fates

    async def _sent(self, page: Group, seen: Mapping[int, Seen]) -> set[int]:
        """What Drafts shows of mail that was sent in this half hour: to expunge that would delete the sent mail."""
        if page.mailbox.role is not Role.DRAFTS:
            return set()
        boxes = await self._reach.occurrences.of_roles({Role.SENT, Role.INBOX})
        found = await self._reach.occurrences.first_of(boxes, [seen[uid].mark for uid in page.uids])
        return {uid for uid in page.uids if seen[uid].mark in found or seen[uid].kind is not Role.DRAFTS}

    async def _spam(self, group: Group) -> Fates:
        """To Trash, seen there, destroyed there. What stops on the way says how far it got."""
        trash = (await self._reach.occurrences.of_roles({Role.TRASH}))[0]
        moved: Fates = {}
        try:
            await self._filing.from_place(group, trash, moved)
        except MailError as error:
            moved |= failed(without_fate(group, moved), error)
        arrived = {
            fate.now: handle for handle, fate in moved.items() if fate.ending is Ending.DONE and fate.now is not None
        }
        if not arrived:
            return moved
        places = [keys.read(handle.key) for handle in arrived]
        there = Group(trash, places[0][0], tuple(uid for _, uid in places))
        ended = await self._proved_and_destroyed(there, {now: moved[was].identity for now, was in arrived.items()})
        return moved | {
            was: replace(ended[now], handle=was, now=None if ended[now].ending is Ending.DONE else now)
            for now, was in arrived.items()
        }

    async def _proved_and_destroyed(self, there: Group, identities: dict[Handle, str | None]) -> Fates:
        ended: Fates = {}
        try:
            async with self._reach.pool().writing(wire_name(there.mailbox), uidvalidity=there.uidvalidity) as box:
                seen = await look(box, there.uids, self._reach.homes.own)
            proved = [uid for uid in there.uids if uid in seen and str(seen[uid].mark) == identities[there.handle(uid)]]
            ended |= failed(there.without(proved), Conflict("it was moved to Trash, but not seen there"))
            await self._expunged(without_fate(there, ended), ended)
        except MailError as error:
            ended |= failed(without_fate(there, ended), error)
        return ended


def _would_stay() -> Unsupported:
    return Unsupported(
        "deleting here would not delete: the mail would stay in All Mail, in no mailbox; it has to be in Trash first",
        code="unsupported_semantics",
        next="move it to Trash, then destroy it there",
    )


def _held(by: list[str]) -> Conflict:
    return Conflict(
        f"it is held by {' and '.join(by)}, so it would not be deleted but only lose its place",
        code="held",
        next="take the star and the labels off, wait a minute, and destroy it again",
    )


def _is_sent() -> Conflict:
    return Conflict("this is sent mail that Drafts shows for a moment, and no draft", code="not_a_draft")
