"""Flags of named messages, added and removed; never replaced (Bridge changes flags that are not named, and hides it).

On condition, where the server has versions, that they were not changed since they were read (RFC 7162 §3.1.3): the server
itself compares and stores in one step, so that nothing comes between.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_proton.domain.errors import Ambiguous, MailError, Unsupported, changed_since, not_attempted
from mcp_proton.domain.outcome import Fate
from mcp_proton.imap.changing import placing
from mcp_proton.imap.changing.fates import by_group
from mcp_proton.imap.errors import Rejected, gone
from mcp_proton.imap.mailboxes import wire_name
from mcp_proton.imap.protocol import commands, flags
from mcp_proton.imap.protocol.asks import Done
from mcp_proton.imap.protocol.codes import Code
from mcp_proton.imap.protocol.uids import UidSet
from mcp_proton.imap.protocol.writer import Atom

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from mcp_proton.domain.handles import Handle
    from mcp_proton.domain.mail import Mailbox
    from mcp_proton.domain.ports import FlagChange
    from mcp_proton.imap.changing.fates import Fates
    from mcp_proton.imap.groups import Group
    from mcp_proton.imap.protocol.box import Box
    from mcp_proton.imap.protocol.pool import Pool


class Flagging:
    """Marks the messages that handles name. `page` is how many at most in one command; None: as a line has room for."""

    def __init__(
        self, pool: Callable[[], Pool], resolve: Callable[[Handle], Awaitable[Mailbox]], *, page: int | None = None
    ) -> None:
        self._pool, self._resolve, self._page = pool, resolve, page

    async def set_flags(self, handles: Sequence[Handle], change: FlagChange) -> list[Fate]:
        """Add and remove flags; one fate a handle, in the order asked."""

        async def act(group: Group, fates: Fates) -> None:
            async with self._pool().writing(wire_name(group.mailbox), uidvalidity=group.uidvalidity) as box:
                unguarded = change.unchanged_since is not None and not box.versioned
                outcomes = await self._mark(box, group, change)
            done = Fate.unguarded if unguarded else Fate.done
            for uid, error in outcomes.items():
                handle = group.handle(uid)
                fates[handle] = done(handle) if error is None else Fate.of_error(handle, error)

        return await by_group(handles, self._resolve, act)

    async def _mark(self, box: Box, group: Group, change: FlagChange) -> dict[int, MailError | None]:
        """Store a change; for each UID why it was not done, or None."""
        lost = sorted(flag for flag in change.add | change.remove if not flags.is_permitted(flag, box.permanent_flags))
        if lost:
            refusal = Unsupported(f"this mailbox does not keep the flag `{lost[0]}`", code="flag_not_kept")
            return dict.fromkeys(group.uids, refusal)
        there = await existing(box, UidSet.of(group.uids))
        outcomes: dict[int, MailError | None] = {uid: None if uid in there else gone() for uid in group.uids}
        changed = await self._store(box, sorted(there), change, outcomes)
        half = {uid for uid in changed if (error := outcomes[uid]) is not None and error.status != "unsure"}
        return outcomes | dict.fromkeys(half, Ambiguous("some of its flags were changed, others could not be"))

    async def _store(
        self, box: Box, uids: Sequence[int], change: FlagChange, outcomes: dict[int, MailError | None]
    ) -> set[int]:
        """Write down why some were not changed as asked. Returns those of which at least something was changed."""
        changed: set[int] = set()
        guard = change.unchanged_since if box.versioned else None
        size = self._page or max(len(uids), 1)
        parts = [part for at in range(0, len(uids), size) for part in UidSet.of(uids[at : at + size]).split()]
        for words, add in ((change.add, True), (change.remove, False)):
            if not words:
                continue
            spelled = sorted(flags.theirs(word) for word in words)
            # A refused part does not hold the others back, except on Bridge, where a refusal may take most of a minute.
            portion = 1 if self._page else len(parts)
            for at in range(0, len(parts), max(portion, 1)):
                some = parts[at : at + portion]
                results = await box.attempt(
                    [commands.Store(part, spelled, add=add, unchanged_since=guard) for part in some]
                )
                for part, result in zip(some, results, strict=True):
                    left = _left(part, result) if guard is not None else {}
                    if isinstance(result, MailError):
                        outcomes |= dict.fromkeys(part, self.refused(result))
                    else:
                        changed |= set(part) - set(left)
                    outcomes |= left
                if self._page and any(isinstance(result, MailError) for result in results):
                    rest = [uid for part in parts[at + portion :] for uid in part]
                    outcomes |= dict.fromkeys(rest, not_attempted())
                    return changed
        return changed

    def refused(self, error: MailError) -> MailError:
        """What an error of STORE means: on Bridge, where a page goes to Proton, a NO need not mean that nothing was done."""
        if self._page is None or not isinstance(error, Rejected) or error.answer == "BAD":
            return error
        return placing.unsure(error.command)


def _left(part: UidSet, result: Done | MailError) -> dict[int, MailError]:
    """Why a conditional STORE did not change some, by the MODIFIED of its answer (RFC 7162 §3.1.3).

    Of a NO with that code the others may have been stored (the RFC has a server do so); of a list that cannot be read all.
    """
    match result:
        case Done(code=Code(name="MODIFIED", value=value)):
            others = None if isinstance(value, UidSet) else Ambiguous("the mail server does not say what it left")
        case Rejected(response_code="MODIFIED", value=value):
            others = placing.unsure(result.command)
        case _:
            return {}
    left: dict[int, MailError] = {} if others is None else dict.fromkeys(part, others)
    if isinstance(value, UidSet):
        left |= {uid: changed_since() for uid in part if uid in value}  # it may name any number of others
    return left


async def existing(box: Box, uids: UidSet) -> set[int]:
    """Which of these UIDs the mailbox has. Raises `Rebuilt` when it turns out that they are void."""
    there: set[int] = set()
    for answer in await box.pipeline([box.searching(Atom("UID"), part) for part in uids.split()]):
        if isinstance(answer, MailError):
            raise answer
        there.update(answer)
    there &= set(uids)
    if len(there) < len(uids):
        await box.look_again()
    return there
