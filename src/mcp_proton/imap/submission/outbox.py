"""The power to send of an account on any server with IMAP and SMTP: the port `Submits`."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING

from mcp_proton.domain.outgoing import Capacity
from mcp_proton.domain.ports import Standing
from mcp_proton.imap import gmail

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mcp_proton.domain.handles import Handle
    from mcp_proton.domain.outgoing import Octets, Repetition, Submission, Trace
    from mcp_proton.imap.login.providers import Provider
    from mcp_proton.imap.protocol.pool import Pool
    from mcp_proton.imap.submission.outlet import Outlet
    from mcp_proton.imap.submission.submit import Submitting
    from mcp_proton.imap.tracing import Tracing

JUST_NOW = timedelta(minutes=10)
"""how long after a mail was begun its copy may still be on the way"""


class Outbox:
    """`outlet` is where mail is handed over, `tracing` finds it again, `pool` tells what the server can."""

    pauses = (1.0, 3.0, 6.0)
    """seconds between two looks for a copy that may come"""

    def __init__(
        self, outlet: Outlet, tracing: Tracing, pool: Callable[[], Pool], provider: Provider | None = None
    ) -> None:
        self._outlet, self._tracing, self._pool, self._provider = outlet, tracing, pool, provider

    @cached_property
    def _submitting(self) -> Submitting:
        from mcp_proton.imap.submission.submit import Submitting  # here, since most processes never send

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
        """By envelopes in Sent and Drafts. Where a server may file what it sends, and may be late, it is given a while: a
        copy of ours would be the second one."""
        found = await self._tracing.trace(message_id, since)
        if self._may_file and datetime.now(UTC) - since < JUST_NOW:
            for pause in self.pauses:
                if found.sent is not None:
                    break
                await asyncio.sleep(pause)
                found = await self._tracing.trace(message_id, since)
        return found

    async def check_login(self) -> None:
        """Log in as for sending, and send nothing. Raises `AuthFailed`, `Untrusted` or another `Unavailable`."""
        await self._submitting.check_login()

    @property
    def files_sent(self) -> bool:
        """As of the last login, and by what is known of the provider: Gmail and its kind do, others do not."""
        known = self._provider is not None and self._provider.files_sent is Standing.AVAILABLE
        return known or gmail.EXTENSION in (self._pool().capabilities or ())

    @property
    def _may_file(self) -> bool:
        return self._provider is not None and self._provider.files_sent is Standing.UNVERIFIED

    @property
    def marks_answered(self) -> bool:
        """What files by itself marks by itself too, on Bridge and Gmail."""
        return self.files_sent

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
