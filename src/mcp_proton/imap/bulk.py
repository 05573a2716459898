"""Whole messages of one mailbox, many at a time: what comes next is asked for before the last answer is read.

Small ones come as rows of one command; each large one, after them, as a stream of its own. What is in memory is bounded
by what is asked for at once. What is gone is left out, once the mailbox was looked at again.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from mcp_proton.domain.errors import NotFound
from mcp_proton.domain.transfer import Whole
from mcp_proton.imap import envelopes
from mcp_proton.imap.errors import Rejected, gone
from mcp_proton.imap.finding.contents import batches
from mcp_proton.imap.protocol.fetching import Items

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator, Sequence

    from mcp_proton.domain.mail import Envelope
    from mcp_proton.imap.groups import Group
    from mcp_proton.imap.protocol.box import Box
    from mcp_proton.imap.protocol.rowstream import RowStream
    from mcp_proton.imap.protocol.streaming import ByteStream

SUMMARY = Items(flags=True, internaldate=True, size=True, envelope=True)
BODY = Items(sections=("",))
LARGE = 1 << 20
"""octets beyond which a message is streamed"""
FIRST, PAGE = 40, 200
"""summaries asked for in one go: at first only some, so that there is soon something to go on with"""


class Bulk:
    """The messages of one group. `step` is that of `Box.stream`."""

    def __init__(self, box: Box, group: Group, *, step: int | None) -> None:
        self._box, self._group, self._step = box, group, step
        self._shown: dict[int, Envelope] = {}
        self._large: list[int] = []
        self._under_way: list[RowStream] = []
        self._lacking = False

    async def messages(self) -> AsyncIterator[Whole]:
        """Yield each once. Raises `Rebuilt` when the mailbox's UIDs turn out to be void."""
        try:
            async for bodies in self._bodies():
                async for got in bodies:
                    octets = got.sections.get("")
                    if octets is not None:
                        yield Whole(self._shown[got.uid], _once(octets))
                self._under_way.remove(bodies)
        finally:
            for left in self._under_way:
                left.leave()
        if self._lacking:
            await self._box.look_again()
        for uid in self._large:
            stream = self._box.stream(uid, step=self._step)
            try:
                yield Whole(self._shown[uid], _streamed(stream))
            finally:
                stream.leave()

    async def _bodies(self) -> AsyncIterator[RowStream]:
        """Yield commands for small messages. Each is given out when the next one is under way."""
        waiting: RowStream | None = None
        pages = deque(_pages(self._group.uids))
        summaries: RowStream | None = await self._ask(pages.popleft(), SUMMARY)
        while summaries is not None:
            rows = [row async for row in summaries]
            self._under_way.remove(summaries)
            summaries = await self._ask(pages.popleft(), SUMMARY) if pages else None
            for row in rows:
                self._shown[row.uid] = envelopes.envelope(self._group.mailbox, self._group.uidvalidity, row)
            self._large += [row.uid for row in rows if (row.size or 0) > LARGE]
            for batch in batches([row for row in rows if (row.size or 0) <= LARGE]):
                coming = await self._ask([row.uid for row in batch], BODY)
                if waiting is not None:
                    yield waiting
                waiting = coming
        if waiting is not None:
            yield waiting

    async def _ask(self, uids: Iterable[int], items: Items) -> RowStream:
        stream = self._box.fetch(uids, items, on_missing=self._note_missing)
        self._under_way.append(stream)
        await stream.begin()
        return stream

    async def _note_missing(self) -> None:
        """The mailbox is opened again when nothing else is under way in it."""
        self._lacking = True


def _pages(uids: Sequence[int]) -> Iterator[Sequence[int]]:
    yield uids[:FIRST]
    for start in range(FIRST, len(uids), PAGE):
        yield uids[start : start + PAGE]


async def _once(octets: bytes) -> AsyncIterator[bytes]:
    yield octets


async def _streamed(stream: ByteStream) -> AsyncIterator[bytes]:
    try:
        async for piece in stream:
            yield piece
    except (NotFound, Rejected):
        raise gone() from None
