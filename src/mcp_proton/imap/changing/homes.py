"""Where the kinds of mail belong: drafts in Drafts, what the owner sent in Sent, the rest in INBOX."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_proton.domain.errors import Unsupported
from mcp_proton.domain.mail import Role
from mcp_proton.imap import envelopes
from mcp_proton.imap.protocol.fetching import Items

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence

    from mcp_proton.domain.mail import Mailbox
    from mcp_proton.imap.groups import Group
    from mcp_proton.imap.protocol.box import Box
    from mcp_proton.imap.protocol.rows import FetchRow

KINDS = (Role.INBOX, Role.SENT, Role.DRAFTS)
WANTED = Items(flags=True, envelope=True)


def kind(row: FetchRow, own: Collection[str]) -> Role:
    """The home of a row's message; `own` are the owner's addresses in lower case."""
    if "\\draft" in {flag.lower() for flag in row.flags or ()}:
        return Role.DRAFTS
    senders = () if row.envelope is None else envelopes.addresses(row.envelope.from_)
    return Role.SENT if any(sender.email.lower() in own for sender in senders) else Role.INBOX


async def kinds(box: Box, uids: Iterable[int], own: Collection[str]) -> dict[int, Role]:
    """The homes of those messages that are there."""
    return {row.uid: kind(row, own) for row in await box.fetch_all(uids, WANTED)}


class Homes:
    """The mailboxes of the kinds. `listed` gives all mailboxes, `own` are the owner's addresses."""

    def __init__(self, listed: Callable[[], Awaitable[Sequence[Mailbox]]], own: Collection[str]) -> None:
        self._listed = listed
        self.own = frozenset(address.lower() for address in own)

    async def of(self, role: Role) -> Mailbox:
        """The home of a kind; INBOX where the account has no mailbox for it. Raises `Unsupported` without either."""
        boxes = {box.role: box for box in await self._listed()}
        for one in (role, Role.INBOX):
            if one in boxes:
                return boxes[one]
        raise Unsupported("this account has no inbox")

    async def split(self, group: Group, roles: Mapping[int, Role]) -> list[tuple[Mailbox, Group]]:
        """The group by where its messages belong."""
        found = []
        for role in dict.fromkeys(roles[uid] for uid in group.uids):
            part = group.without(uid for uid in group.uids if roles[uid] is not role)
            found.append((await self.of(role), part))
        return found
