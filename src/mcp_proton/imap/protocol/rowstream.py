"""Rows of a long FETCH, handed over as they arrive; a reader that falls behind holds the server back.

INVARIANT: only a stream that is read holds the connection: another one may be waited for, and its rows come by the same way.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING

from mcp_proton.imap.protocol import fetching
from mcp_proton.imap.protocol.fetching import Fetch

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from types import TracebackType

    from mcp_proton.imap.protocol.fetching import Items
    from mcp_proton.imap.protocol.rows import FetchRow
    from mcp_proton.imap.protocol.running import Running
    from mcp_proton.imap.protocol.session import Session
    from mcp_proton.imap.protocol.uids import UidSet

AHEAD = 2
HIGH_WATER = 1 << 20
LOW_WATER = HIGH_WATER // 4
_ROW_WEIGHT = 600


class RowStream:
    """An async iterator of FetchRow. Leaving early is fine: `async with` it, or leave its mailbox."""

    def __init__(self, session: Session, uids: UidSet, items: Items, on_missing: Callable[[], Awaitable[None]]) -> None:
        self._connection = session.connection
        self._uids, self._items = uids, items
        self._on_missing = on_missing
        self._sets = deque(uids.split())
        self._running: deque[Running[list[FetchRow]]] = deque()
        self._ready: deque[tuple[FetchRow, int]] = deque()
        self._weight = 0
        self._seen: set[int] = set()
        self._news = asyncio.Event()
        self._over = self._read = False

    async def begin(self) -> None:
        """Ask for the first rows now. They are kept until somebody reads them: not for sets that memory cannot hold."""
        await self._ask_ahead()

    def __aiter__(self) -> RowStream:
        return self

    async def __anext__(self) -> FetchRow:
        self._read = True
        while not self._ready:
            if self._over or not await self._advance():
                raise StopAsyncIteration
        row, weight = self._ready.popleft()
        self._weight -= weight
        if self._weight <= LOW_WATER:
            self._connection.resume()
        return row

    async def __aenter__(self) -> RowStream:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.leave()

    def leave(self) -> None:
        """What is still under way is received and dropped."""
        self._over = True
        self._ready.clear()
        for running in self._running:
            self._connection.forget(running)
        self._running.clear()

    async def _advance(self) -> bool:
        """Waits until there is a row or nothing more to come (False)."""
        try:
            await self._ask_ahead()
            if not self._running:
                return await self._finished()
            oldest = self._running[0]
            oldest.done.add_done_callback(self._wake)
            await self._news.wait()
            self._news.clear()
            oldest.done.remove_done_callback(self._wake)
            if oldest.done.done():
                self._running.popleft()
                for row in await self._connection.finish(oldest):
                    self._give(row, 0)
        except BaseException:
            self.leave()
            raise
        return True

    async def _ask_ahead(self) -> None:
        while self._sets and len(self._running) < AHEAD:
            ask = Fetch(self._sets.popleft(), self._items, give=self._give)
            self._running += await self._connection.start([ask])

    async def _finished(self) -> bool:
        self._over = True
        if fetching.missing(self._uids, self._seen):
            await self._on_missing()
        return False

    def _give(self, row: FetchRow, size: int) -> None:
        weight = size + _ROW_WEIGHT
        self._ready.append((row, weight))
        self._weight += weight
        if self._uids.exact:
            self._seen.add(row.uid)
        if self._read and self._weight > HIGH_WATER:
            self._connection.pause()
        self._news.set()

    def _wake(self, done: object) -> None:
        self._news.set()
