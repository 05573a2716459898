"""The mailboxes of an account: listed once a minute, counted in as few round trips as the server allows."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from mcp_proton.imap.errors import Rejected
from mcp_proton.imap.protocol import commands

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from mcp_proton.domain.mail import Mailbox
    from mcp_proton.imap.protocol.pool import Pool
    from mcp_proton.imap.protocol.responses import ListEntry, MailboxStatus

FRESH = 60.0
"""seconds a list is good for"""
COUNTS = ("MESSAGES", "UNSEEN")
AT_ONCE = 50
"""STATUS commands in one packet"""


def wire_name(mailbox: Mailbox) -> bytes:
    """The name as the server spells it."""
    return mailbox.id.encode("utf-8", "surrogateescape")


class MailboxList:
    """The list of one account. `arrange` gives roles and order; `dear` names those whose count is not taken unasked."""

    def __init__(
        self,
        arrange: Callable[[Iterable[ListEntry]], list[Mailbox]],
        is_dear: Callable[[Mailbox], bool] = lambda _: False,
    ) -> None:
        self._arrange = arrange
        self._is_dear = is_dear
        self._listed: list[Mailbox] = []
        self._at = float("-inf")

    async def mailboxes(self, pool: Pool, *, counts: bool, fresh: bool) -> Sequence[Mailbox]:
        """All mailboxes, parents first; totals are None where they were not asked for or the server would not tell."""
        now = asyncio.get_running_loop().time()
        outdated = fresh or now - self._at > FRESH
        if counts and outdated and pool.capabilities is not None and "LIST-STATUS" in pool.capabilities:
            entries, statuses = await pool.list(status=COUNTS)
            self._keep(entries, now)
            return [_counted(box, statuses.get(wire_name(box))) for box in self._listed]
        if outdated:
            entries, _ = await pool.list()
            self._keep(entries, now)
        return await self._count(pool, forced=fresh) if counts else list(self._listed)

    def _keep(self, entries: Iterable[ListEntry], now: float) -> None:
        self._listed = self._arrange(entries)
        self._at = now

    async def _count(self, pool: Pool, *, forced: bool) -> list[Mailbox]:
        asked = [box for box in self._listed if box.selectable and (forced or not self._is_dear(box))]
        told: dict[str, MailboxStatus | Rejected] = {}
        async with pool.session() as session:
            for start in range(0, len(asked), AT_ONCE):
                some = asked[start : start + AT_ONCE]
                asks = [commands.StatusOf(wire_name(box), COUNTS) for box in some]
                answers = await session.run_all(asks)
                told |= {box.id: answer for box, answer in zip(some, answers, strict=True)}
        return [_counted(box, told.get(box.id)) for box in self._listed]


def _counted(box: Mailbox, told: MailboxStatus | Rejected | None) -> Mailbox:
    """With its numbers. A server may refuse STATUS of what it listed (Bridge: parents it made up)."""
    if told is None or isinstance(told, Rejected):
        return box
    return replace(box, total=told.items.get("MESSAGES"), unread=told.items.get("UNSEEN"))
