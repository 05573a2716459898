"""Moving, copying and destroying on any IMAP server: UID MOVE, COPY and UID EXPUNGE, of named messages only.

Where MOVE is lacking: COPY, then the originals named by COPYUID are marked and expunged by UID. Where UIDPLUS is
lacking too there is no way to remove named messages and no others, so nothing is done. Nothing is sent twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcp_proton.domain.errors import MailError, Unsupported, not_attempted
from mcp_proton.domain.mail import VIEWS, Role
from mcp_proton.domain.outcome import Ending, Fate, Proof
from mcp_proton.domain.ports import Home
from mcp_proton.imap.changing import homes, placing
from mcp_proton.imap.changing.fates import already_there, by_group, by_handle, failed, refused, without_fate
from mcp_proton.imap.changing.flagging import existing
from mcp_proton.imap.errors import Rebuilt, Rejected, gone
from mcp_proton.imap.mailboxes import wire_name
from mcp_proton.imap.protocol import commands
from mcp_proton.imap.protocol.uids import UidSet

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from collections.abc import Set as AbstractSet

    from mcp_proton.domain.handles import Handle
    from mcp_proton.domain.mail import Mailbox
    from mcp_proton.imap.changing.fates import Fates
    from mcp_proton.imap.changing.homes import Homes
    from mcp_proton.imap.changing.marks import Mark, Marks
    from mcp_proton.imap.groups import Group
    from mcp_proton.imap.protocol.box import Box
    from mcp_proton.imap.protocol.codes import CopyUid
    from mcp_proton.imap.protocol.pool import Pool

PAGE = 1_000
"""messages in one command: each command costs as much as many messages, but a failure may leave it half done"""
AT_ONCE = 4
"""commands in one packet"""


@dataclass(frozen=True, slots=True)
class Manners:
    """What a server's mailboxes are. `views` are no places to move mail into or from; `expunges`: named messages, for good;
    `names`: COPYUID tells of all that was moved, where there is UIDPLUS."""

    views: frozenset[Role] = VIEWS
    expunges: bool = True
    names: bool = True


STANDARD = Manners()
GMAIL = Manners(VIEWS - {Role.ALL}, expunges=False, names=False)
"""mailboxes are labels: All Mail is entered by taking a label off, and an expunge does what a setting says"""


class Filing:
    """One account's filing. `resolve` gives the mailbox of a handle, `homes` that of a kind."""

    def __init__(
        self,
        pool: Callable[[], Pool],
        resolve: Callable[[Handle], Awaitable[Mailbox]],
        homes: Homes,
        marks: Marks,
        manners: Callable[[], Manners] = lambda: STANDARD,
    ) -> None:
        self._pool, self._resolve, self._homes, self._marks, self._manners = pool, resolve, homes, marks, manners

    async def move(self, handles: Sequence[Handle], to: Mailbox | Home) -> list[Fate]:
        """Out of one mailbox, into another."""
        views = self._manners().views
        check_target(to, views)

        async def act(group: Group, fates: Fates) -> None:
            if group.mailbox.role in views or not group.mailbox.selectable:
                fates |= refused(group, "a mailbox that shows mail of other places is no place to move it from")
                return
            for target, part in await self._targets(group, to, fates):
                if target.id == group.mailbox.id:
                    fates |= already_there(part)
                else:
                    fates |= await self._moved(part, target)

        return await by_group(handles, self._resolve, act)

    async def copy(self, handles: Sequence[Handle], to: Mailbox) -> list[Fate]:
        """A second occurrence in another mailbox."""
        check_target(to)

        async def act(group: Group, fates: Fates) -> None:
            # COPY changes nothing in its source, but some servers ask for SELECT all the same.
            async with self._pool().writing(wire_name(group.mailbox), uidvalidity=group.uidvalidity) as box:
                fates |= await self._copied(box, group, to)

        return await by_group(handles, self._resolve, act)

    async def destroy(self, handles: Sequence[Handle]) -> list[Fate]:
        """Mark and expunge these, by UID."""

        async def act(group: Group, fates: Fates) -> None:
            if group.mailbox.role in VIEWS:
                fates |= refused(group, "what is deleted in a mailbox that shows mail of other places is not known")
                return
            if not self._manners().expunges:
                fates |= refused(group, "what an expunge does on this server is a setting of the account")
                return
            async with self._pool().writing(wire_name(group.mailbox), uidvalidity=group.uidvalidity) as box:
                fates |= await self._destroyed(box, group)

        return await by_group(handles, self._resolve, act)

    # --- moving --------------------------------------------------------------------------------------------------

    async def _targets(self, group: Group, to: Mailbox | Home, fates: Fates) -> list[tuple[Mailbox, Group]]:
        if not isinstance(to, Home):
            return [(to, group)]
        async with self._pool().reading(wire_name(group.mailbox), uidvalidity=group.uidvalidity) as box:
            kinds = await homes.kinds(box, group.uids, self._homes.own)
        fates |= failed(group.without(kinds), gone())
        return await self._homes.split(group.without(uid for uid in group.uids if uid not in kinds), kinds)

    async def _moved(self, group: Group, to: Mailbox) -> Fates:
        async with self._pool().writing(wire_name(group.mailbox), uidvalidity=group.uidvalidity) as box:
            if box.can("MOVE") and box.can("UIDPLUS") and self._manners().names:
                return await self._moved_and_named(box, group, to)
            if box.can("MOVE"):
                return await self._moved_unnamed(box, group, to)
            return await self._copied_and_removed(box, group, to)

    async def _moved_and_named(self, box: Box, group: Group, to: Mailbox) -> Fates:
        """COPYUID says which were there and where they are now."""
        fates: Fates = {}
        lacking: list[Group] = []
        for part, answer in await _placed(box, group, commands.Move, to):
            fates |= by_handle(part, self._named(part, answer, to))
            rest = without_fate(part, fates)
            if isinstance(answer, MailError):
                fates |= await self._after_refusal(box, part, answer)
            elif rest.uids:
                lacking.append(rest)
        for part in lacking:
            fates |= await self._not_named(box, part)
        return fates

    async def _not_named(self, box: Box, part: Group) -> Fates:
        """What an OK did not name: it was not there, or (still there) not taken, or the server does not say all."""
        try:
            await box.look_again()
            there = await existing(box, UidSet.of(part.uids))
        except Rebuilt as void:
            return failed(part, void)
        except MailError:
            there = set(part.uids)
        return failed(part.without(there), gone()) | failed(
            part.without(set(part.uids) - there), placing.unsure("UID MOVE")
        )

    async def _moved_unnamed(self, box: Box, group: Group, to: Mailbox) -> Fates:
        """MOVE without UIDPLUS: what was there before an OK is done, its new handle unknown unless it is told."""
        there = await existing(box, UidSet.of(group.uids))
        fates = failed(group.without(there), gone())
        left = group.without(set(group.uids) - there)
        for part, answer in await _placed(box, left, commands.Move, to):
            if isinstance(answer, MailError):
                fates |= await self._after_refusal(box, part, answer)
            else:
                named = by_handle(part, self._named(part, answer, to))
                fates |= {handle: Fate.done(handle) for handle in part.handles()} | named
        return fates

    async def _copied_and_removed(self, box: Box, group: Group, to: Mailbox) -> Fates:
        if not (box.can("UIDPLUS") and self._manners().expunges):
            raise Unsupported(
                "this mail server can neither move nor remove named messages alone",
                next="nothing was done; a mail program can move them",
            )
        fates = await self._copied(box, group, to)
        copied = [uid for uid in group.uids if fates[group.handle(uid)].ending is Ending.DONE]
        for part in group.without(set(group.uids) - set(copied)).lines(PAGE):
            error = await removed(box, part)
            if error is not None:
                fates |= {handle: _half_done(fates[handle], error) for handle in part.handles()}
        return fates

    async def _copied(self, box: Box, group: Group, to: Mailbox) -> Fates:
        there = await existing(box, UidSet.of(group.uids))
        fates = failed(group.without(there), gone())
        for part, answer in await _placed(box, group.without(set(group.uids) - there), commands.Copy, to):
            if isinstance(answer, MailError):
                fates |= failed(part, placing.of_refusal(answer))
                continue
            named = by_handle(part, self._named(part, answer, to))
            fates |= {handle: Fate.done(handle) for handle in part.handles()} | named
        return fates

    async def _after_refusal(self, box: Box, part: Group, error: MailError) -> Fates:
        """A refused MOVE may have taken some (RFC 6851 §3.3): what is still there was not, of the rest nobody knows."""
        if not isinstance(error, Rejected):
            return failed(part, error)
        try:
            there = await existing(box, UidSet.of(part.uids))
        except MailError:
            there = set()
        fates = failed(part.without(set(part.uids) - there), placing.of_refusal(error))
        return fates | failed(part.without(there), placing.unsure("UID MOVE"))

    async def _destroyed(self, box: Box, group: Group) -> Fates:
        if not box.can("UIDPLUS"):
            raise Unsupported(
                "this mail server cannot expunge named messages alone, and would take what others marked",
                next="nothing was done; a mail program can delete them",
            )
        there = await self._marks.read(box, group.uids)
        fates = failed(group.without(there), gone())
        for part in group.without(set(group.uids) - set(there)).lines(PAGE):
            error = await removed(box, part)
            fates |= failed(part, error) if error is not None else gone_for_good(part, there, Proof.SEEN)
        return fates

    def _named(self, part: Group, answer: CopyUid | MailError | None, to: Mailbox) -> dict[int, Fate]:
        if answer is None or isinstance(answer, MailError):
            return {}
        return placing.placed(part, answer, to, Proof.SEEN, {})


async def _placed(
    box: Box, group: Group, command: type[commands.Copy | commands.Move], to: Mailbox
) -> list[tuple[Group, CopyUid | MailError | None]]:
    """Send COPY or MOVE for all, several commands in a packet; after a packet that failed nothing more is sent."""
    parts = list(group.lines(PAGE))
    answers: list[CopyUid | MailError | None] = []
    for at in range(0, len(parts), AT_ONCE):
        asks = [command(UidSet.of(part.uids), wire_name(to)) for part in parts[at : at + AT_ONCE]]
        if any(isinstance(answer, MailError) for answer in answers):
            answers += [not_attempted() for _ in asks]
        else:
            answers += await box.attempt(asks)
    return list(zip(parts, answers, strict=True))


async def removed(box: Box, part: Group) -> MailError | None:
    r"""Mark as deleted and expunge just these. Why it was not done (then the marks are taken back), or None."""
    uids = UidSet.of(part.uids)
    for ask in (commands.MarkDeleted(uids), commands.Expunge(uids)):
        try:
            await box.run(ask)
        except Rejected as refusal:
            await _unmark(box, uids)
            return refusal
        except MailError as error:
            return error
    return None


async def _unmark(box: Box, uids: UidSet) -> None:
    """What stays is not left marked: any program's EXPUNGE would take it."""
    try:
        await box.run(commands.MarkDeleted(uids, on=False))
    except MailError:
        return


def check_target(to: Mailbox | Home, views: AbstractSet[Role] = VIEWS) -> None:
    """Raise `Unsupported` for a destination that is no place."""
    if not isinstance(to, Home) and (to.role in views or to.role is Role.NODE or not to.selectable):
        raise Unsupported(
            f"a mailbox of the role `{to.role.value}` is no place to put mail into",
            code="unsupported_semantics",
            next="nothing was done; choose INBOX, Archive, Trash or a folder",
        )


def gone_for_good(group: Group, marks: dict[int, Mark | None], proof: Proof) -> Fates:
    """Destroyed."""
    return {
        group.handle(uid): Fate.done(group.handle(uid), proof=proof, identity=placing.identity(marks.get(uid)))
        for uid in group.uids
    }


def _half_done(copied: Fate, error: MailError) -> Fate:
    """Copied, and the original is still there, or nobody knows."""
    unsure = error.status == "unsure"
    return Fate(
        copied.handle,
        Ending.UNCERTAIN if unsure else Ending.FAILED,
        code="half_done",
        why="it was copied, but "
        + ("it is not known whether the original is gone" if unsure else "the original stays"),
        now=copied.now,
    )
