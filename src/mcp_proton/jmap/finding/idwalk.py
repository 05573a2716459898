"""Ids of a mailbox in the order they were received: one Email/query a page, never Email/get (J-60 to J-76)."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from mcp_proton.domain.errors import NotFound
from mcp_proton.domain.walk import Interval, Stretch
from mcp_proton.jmap import keys
from mcp_proton.jmap.errors import MethodFailed
from mcp_proton.jmap.finding import filters, windows
from mcp_proton.jmap.protocol.client import Call

if TYPE_CHECKING:
    from mcp_proton.domain.mail import Mailbox
    from mcp_proton.jmap.protocol.client import Client
    from mcp_proton.jmap.protocol.values import Object


class IdWalk:
    """One account's walks."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def ids(self, mailbox: Mailbox, within: Interval, position: int, limit: int) -> Stretch:
        """See `MailBackend.ids`. The dates go to the server as they were written (J-64)."""
        query: Object = {
            "filter": _filter(mailbox, within),
            "sort": [{"property": "receivedAt", "isAscending": True}],
            "collapseThreads": False,
            "calculateTotal": True,
            "position": position,
            "limit": limit,
        }
        (answer,) = await self._client.ask(Call("Email/query", query))
        if isinstance(answer, MethodFailed):
            if answer.kind == "invalidArguments":
                raise NotFound("there is no such mailbox", code="no_such_mailbox", next="list mailboxes again")
            raise answer
        window = windows.read(answer, limit, position)
        state = hashlib.sha256(window.state.encode()).hexdigest()[:24]
        return Stretch([keys.handle(mailbox, one) for one in window.ids], window.total, state, window.has_more)


def _filter(mailbox: Mailbox, within: Interval) -> filters.Filter:
    found: filters.Filter = {"inMailbox": mailbox.id}
    if within.after is not None:
        found["after"] = within.after
    if within.before is not None:
        found["before"] = within.before
    return found
