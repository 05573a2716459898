"""What Sent shows of the last half hour: mail that Bridge may take an appended text for, whoever sent it (B-05).

Bridge compares what was handed to it, and shows it rewritten: another charset word, the plain text gone beside HTML. So
a text counts as the same that has the same Message-ID, or the same subject, people and one text in common.
"""

from __future__ import annotations

import asyncio
import hashlib
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from mcp_proton.bridge.handing_over import admission, resend
from mcp_proton.domain.errors import NotFound, Stale
from mcp_proton.domain.mail import Role
from mcp_proton.domain.ports import Page
from mcp_proton.domain.query import Received
from mcp_proton.mime.decoding.words import decode_words
from mcp_proton.mime.header.headers import message_ids

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

    from mcp_proton.bridge.handing_over.resend import Content
    from mcp_proton.domain.handles import Handle
    from mcp_proton.domain.mail import Address, Envelope, Mailbox
    from mcp_proton.imap.finding.search import Searches
    from mcp_proton.mime.header.headers import Headers

MARGIN = timedelta(minutes=5)
"""by how much Proton's clock may differ from ours"""
FRESH = 15.0
"""seconds a look into Sent is good for: an event brings news every 20 to 40"""
PAGE = 100
NO_TEXT = frozenset({hashlib.sha256().digest()})
"""Bridge puts an empty text beside files that come without one"""


class SentLately:
    """`fetch` gives the octets of a message."""

    def __init__(
        self,
        searches: Searches,
        listed: Callable[[], Awaitable[Sequence[Mailbox]]],
        fetch: Callable[[Handle], AsyncIterator[bytes]],
    ) -> None:
        self._searches, self._listed, self._fetch = searches, listed, fetch
        self._rows: list[Envelope] = []
        self._texts: dict[Handle, frozenset[bytes]] = {}
        self._looked = float("-inf")

    async def holds(self, content: Content) -> bool:
        """Whether one of them may be the same mail."""
        own_id = next(iter(message_ids(content.header.get("Message-ID"))), "")
        for row in await self._recent():
            if own_id and row.message_id == own_id:
                return True
            if _alike(row, content.header) and (await self._texts_of(row.handle)) & (content.texts or NO_TEXT):
                return True
        return False

    async def _recent(self) -> list[Envelope]:
        now = asyncio.get_running_loop().time()
        if now - self._looked > FRESH:
            self._rows = await self._look()
            known = {row.handle for row in self._rows}
            self._texts = {handle: texts for handle, texts in self._texts.items() if handle in known}
            self._looked = now
        return self._rows

    async def _look(self) -> list[Envelope]:
        rows: list[Envelope] = []
        wanted = Received(datetime.now(UTC) - resend.WITHIN - MARGIN)
        for box in await self._listed():
            page: Page | None = Page(PAGE) if box.role is Role.SENT else None
            while page is not None:
                found = await self._searches.search([box], wanted, page)
                rows += found.rows
                page = Page(PAGE, continuation=found.continuation) if found.continuation is not None else None
        return rows

    async def _texts_of(self, handle: Handle) -> frozenset[bytes]:
        if handle not in self._texts:
            try:
                self._texts[handle] = (await resend.read(_Stored(lambda: self._fetch(handle)))).texts
            except (Stale, NotFound):
                return frozenset()
        return self._texts[handle]


class _Stored:
    """A message of a mailbox as octets; nobody asks for its size."""

    size = 0

    def __init__(self, fetch: Callable[[], AsyncIterator[bytes]]) -> None:
        self.chunks = fetch


def _alike(row: Envelope, header: Headers) -> bool:
    subject = decode_words(header.get("Subject") or b"")
    return " ".join(row.subject.split()) == " ".join(subject.split()) and all(
        _emails(shown) == sorted(one.lower() for one in admission.people(header, name))
        for shown, name in ((row.to, "To"), (row.cc, "Cc"))
    )


def _emails(shown: Sequence[Address]) -> list[str]:
    return sorted(one.email.lower() for one in shown if one.email)
