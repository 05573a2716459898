"""Handles by mailbox: the messages of one generation of one mailbox, as one command can name them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mcp_proton.domain.errors import MailError
from mcp_proton.imap import keys
from mcp_proton.imap.protocol.uids import UidSet

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence

    from mcp_proton.domain.handles import Handle
    from mcp_proton.domain.mail import Mailbox


@dataclass(frozen=True, slots=True)
class Group:
    """Messages of one mailbox and UIDVALIDITY, each once, in the order asked."""

    mailbox: Mailbox
    uidvalidity: int
    uids: tuple[int, ...]
    named: Mapping[int, Handle] = field(default_factory=dict, compare=False, repr=False)
    """the handles as they were asked; writing ten thousand anew takes longer than flagging them"""

    def handle(self, uid: int) -> Handle:
        """The handle of one of them."""
        return self.named.get(uid) or keys.handle(self.mailbox, self.uidvalidity, uid)

    def handles(self) -> list[Handle]:
        """All their handles."""
        return [self.handle(uid) for uid in self.uids]

    def pages(self, size: int) -> Iterator[Group]:
        """The same in portions."""
        for start in range(0, len(self.uids), size):
            yield Group(self.mailbox, self.uidvalidity, self.uids[start : start + size], self.named)

    def lines(self, most: int) -> Iterator[Group]:
        """The same, ascending, in portions that a command has room for, none larger than `most`."""
        ordered = sorted(self.uids)
        for start in range(0, len(ordered), most):
            for part in UidSet.of(ordered[start : start + most]).split():
                yield Group(self.mailbox, self.uidvalidity, tuple(part), self.named)

    def without(self, uids: Iterable[int]) -> Group:
        """The rest."""
        left_out = set(uids)
        if not left_out:
            return self
        return Group(self.mailbox, self.uidvalidity, tuple(uid for uid in self.uids if uid not in left_out), self.named)


async def grouped(
    handles: Sequence[Handle], resolve: Callable[[Handle], Awaitable[Mailbox]]
) -> tuple[list[Group], dict[Handle, MailError]]:
    """The groups, and what is wrong with handles that name no mailbox of this account (any more)."""
    boxes: dict[tuple[str, str], Mailbox | MailError] = {}
    found: dict[tuple[str, str, int], dict[int, Handle]] = {}
    wrong: dict[Handle, MailError] = {}
    for handle in dict.fromkeys(handles):
        place = handle.account, handle.tag
        if place not in boxes:
            boxes[place] = await _resolved(handle, resolve)
        box = boxes[place]
        if isinstance(box, MailError):
            wrong[handle] = box
            continue
        try:
            uidvalidity, uid = keys.read(handle.key)
        except MailError as error:
            wrong[handle] = error
            continue
        found.setdefault((*place, uidvalidity), {})[uid] = handle
    groups = []
    for (account, tag, uidvalidity), named in found.items():
        box = boxes[account, tag]
        if not isinstance(box, MailError):
            groups.append(Group(box, uidvalidity, tuple(named), named))
    return groups, wrong


async def _resolved(handle: Handle, resolve: Callable[[Handle], Awaitable[Mailbox]]) -> Mailbox | MailError:
    try:
        return await resolve(handle)
    except MailError as error:
        if error.retry:
            raise
        return error
