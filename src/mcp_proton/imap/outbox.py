"""The power to send of an account on any server with IMAP and SMTP: the port `Submits`."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from mcp_proton.domain.outgoing import Capacity

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from mcp_proton.domain.handles import Handle
    from mcp_proton.domain.outgoing import Octets, Repetition, Submission, Trace
    from mcp_proton.imap.outlet import Outlet
    from mcp_proton.imap.pool import Pool
    from mcp_proton.imap.submit import Submitting
    from mcp_proton.imap.tracing import Tracing

FILES_SENT = "X-GM-EXT-1"
"""what servers advertise that put a copy of what they send into Sent by themselves"""


class Outbox:
    """`outlet` is where mail is handed over, `tracing` finds it again, `pool` tells what the server can."""

    def __init__(self, outlet: Outlet, tracing: Tracing, pool: Callable[[], Pool]) -> None:
        self._outlet, self._tracing, self._pool = outlet, tracing, pool

    @cached_property
    def _submitting(self) -> Submitting:
        from mcp_proton.imap.submit import Submitting  # here, since most processes never send

        return Submitting(self._outlet)

    async def capacity(self) -> Capacity:
        """What SMTP's SIZE and IMAP's APPENDLIMIT say (RFC 1870, 7889)."""
        submit = await self._submitting.limit()
        return Capacity(submit, append_limit(await self._capabilities()))

    async def anchor(self, handle: Handle) -> str | None:
        """None: Message-IDs tie mails together."""
        return None

    async def repetition(self, recipients: Sequence[str], mail: Octets) -> Repetition | None:
        """None: it sends what it is given."""
        return None

    async def submit(self, sender: str, recipients: Sequence[str], mail: Octets) -> Submission:
        """By SMTP, once. The mailbox is logged into first, so that what is sent can be filed and found again."""
        await self._capabilities()
        return await self._submitting.submit(sender, recipients, mail)

    async def trace(self, message_id: str, since: datetime) -> Trace:
        """By envelopes in Sent and Drafts."""
        return await self._tracing.trace(message_id, since)

    async def check_login(self) -> None:
        """Log in as for sending, and send nothing. Raises `AuthFailed`, `Untrusted` or another `Unavailable`."""
        await self._submitting.check_login()

    @property
    def files_sent(self) -> bool:
        """As of the last login: Gmail and its kind do, others do not."""
        return FILES_SENT in (self._pool().capabilities or ())

    async def _capabilities(self) -> frozenset[str]:
        known = self._pool().capabilities
        if known is None:
            async with self._pool().session() as session:
                known = session.capabilities
        return known or frozenset()


def append_limit(capabilities: frozenset[str]) -> int | None:
    """The largest message the server stores, where it says so for all mailboxes."""
    for word in capabilities:
        name, _, number = word.partition("=")
        if name == "APPENDLIMIT" and number.isdigit() and len(number) < 19:
            return int(number)
    return None
