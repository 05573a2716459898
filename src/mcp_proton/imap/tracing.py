"""Finding a mail of ours again, by its Message-ID, in Sent and in Drafts: by envelopes, newest first, never by content."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from mcp_proton.domain.mail import Role
from mcp_proton.domain.outgoing import Trace
from mcp_proton.domain.ports import Page
from mcp_proton.domain.query import And, MessageId, Received

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from datetime import datetime

    from mcp_proton.domain.handles import Handle
    from mcp_proton.domain.mail import Mailbox
    from mcp_proton.imap.search import Searches

SKEW = timedelta(days=1)
"""how far a server's clock may be behind ours"""
MOST = 50


class Tracing:
    """`listed` gives all mailboxes."""

    def __init__(self, searches: Searches, listed: Callable[[], Awaitable[Sequence[Mailbox]]]) -> None:
        self._searches, self._listed = searches, listed

    async def trace(self, message_id: str, since: datetime) -> Trace:
        """Where it is. A server that keeps to the RFCs shows what it has: `settled` is always true."""
        sent = await self.found(message_id, since, Role.SENT)
        drafts = await self.found(message_id, since, Role.DRAFTS)
        return Trace(sent[0] if sent else None, tuple(drafts))

    async def found(self, message_id: str, since: datetime, role: Role) -> list[Handle]:
        """The messages of this id in the mailbox of a role, the newest first; none where there is no such mailbox."""
        found: list[Handle] = []
        for box in await self._listed():
            if box.role is role:
                found += await self.within(message_id, since, box)
        return found

    async def within(self, message_id: str, since: datetime, box: Mailbox) -> list[Handle]:
        """The same in one mailbox."""
        query = And((MessageId(message_id), Received(since - SKEW)))
        rows: list[Handle] = []
        page = Page(MOST)
        while True:
            answer = await self._searches.search([box], query, page)
            rows += [row.handle for row in answer.rows]
            if answer.continuation is None or len(rows) >= MOST:
                return rows
            page = Page(MOST, continuation=answer.continuation)
