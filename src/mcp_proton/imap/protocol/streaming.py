"""One section of one message as a stream of bytes, in bounded memory: by ranges, or as one literal passed on."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Protocol

from mcp_proton.domain.errors import NotFound
from mcp_proton.imap.errors import ProtocolViolation
from mcp_proton.imap.protocol.fetching import FetchRange, FetchWhole

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcp_proton.imap.protocol.running import Running
    from mcp_proton.imap.protocol.session import Session

STEP = 512 * 1024
AHEAD = 2
HIGH_WATER = 1 << 20
LOW_WATER = HIGH_WATER // 4


class ByteStream(Protocol):
    """An async iterator of non-empty pieces. `leave()` stops early; leaving the mailbox does too."""

    def __aiter__(self) -> ByteStream: ...

    async def __anext__(self) -> bytes: ...

    def leave(self) -> None: ...


class RangeStream:
    """By ranges: the first alone (most sections need no second), then always two asked for ahead."""

    def __init__(
        self,
        session: Session,
        uid: int,
        section: str,
        start: int,
        length: int | None,
        step: int,
        on_missing: Callable[[], Awaitable[None]],
    ) -> None:
        self._connection = session.connection
        self._uid, self._section = uid, section
        self._next, self._end = start, None if length is None else start + length
        self._step = step
        self._on_missing = on_missing
        self._running: deque[tuple[Running[bytes | None], int]] = deque()
        self._window = 1
        self._over = False

    def __aiter__(self) -> RangeStream:
        return self

    async def __anext__(self) -> bytes:
        try:
            piece = await self._piece()
        except BaseException:
            self.leave()
            raise
        if not piece:
            raise StopAsyncIteration
        return piece

    async def _piece(self) -> bytes:
        """The next range; empty at the end."""
        await self._ask_ahead()
        if not self._running:
            return b""
        running, asked = self._running.popleft()
        piece = await self._connection.finish(running)
        if piece is None:
            self.leave()
            await self._on_missing()
            raise _not_there()
        self._judge(piece, asked)
        self._window = AHEAD + 1
        await self._ask_ahead()
        return piece

    def leave(self) -> None:
        self._over = True
        for running, _ in self._running:
            self._connection.forget(running)
        self._running.clear()

    def _judge(self, piece: bytes, asked: int) -> None:
        if len(piece) > asked:
            fault = ProtocolViolation("the mail server sent more of a message than it was asked for")
            self._connection.end(fault)
            raise fault
        if len(piece) < asked:
            self.leave()

    async def _ask_ahead(self) -> None:
        asks: list[FetchRange] = []
        while not self._over and len(self._running) + len(asks) < self._window:
            length = self._step if self._end is None else min(self._step, self._end - self._next)
            if length <= 0:
                break
            asks.append(FetchRange(self._uid, self._section, self._next, length))
            self._next += length
        if asks:
            started = await self._connection.start(asks)
            self._running += [(running, ask.length) for running, ask in zip(started, asks, strict=True)]


class PieceStream:
    """As one literal; a slow reader holds the server back."""

    def __init__(
        self,
        session: Session,
        uid: int,
        section: str,
        start: int,
        length: int | None,
        on_missing: Callable[[], Awaitable[None]],
    ) -> None:
        self._connection = session.connection
        self._ask = FetchWhole(uid, section, start, length, self)
        self._on_missing = on_missing
        self._running: Running[bool] | None = None
        self._ready: deque[bytes] = deque()
        self._weight = 0
        self._news = asyncio.Event()
        self._over = False

    def __aiter__(self) -> PieceStream:
        return self

    async def __anext__(self) -> bytes:
        try:
            while not self._ready and not self._over:
                await self._advance()
        except BaseException:
            self.leave()
            raise
        if not self._ready:
            raise StopAsyncIteration
        piece = self._ready.popleft()
        self._weight -= len(piece)
        if self._weight <= LOW_WATER:
            self._connection.resume()
        return piece

    def write(self, piece: bytes) -> None:
        """Called by the wire."""
        if self._over:
            return
        self._ready.append(piece)
        self._weight += len(piece)
        if self._weight > HIGH_WATER:
            self._connection.pause()
        self._news.set()

    def leave(self) -> None:
        self._over = True
        self._ready.clear()
        if self._running is not None:
            self._connection.forget(self._running)
            self._running = None

    async def _advance(self) -> None:
        if self._running is None:
            # Whose a literal is shows only after it: nothing left behind may be under way beside this one.
            if not self._connection.settled and self._connection.only_forgotten:
                await self._connection.settle()
            (self._running,) = await self._connection.start([self._ask])
            self._running.done.add_done_callback(lambda _: self._news.set())
        await self._news.wait()
        self._news.clear()
        if self._running.done.done():
            there = await self._connection.finish(self._running)
            self._running, self._over = None, True
            if not there:
                await self._on_missing()
                raise _not_there()


def _not_there() -> NotFound:
    return NotFound("this message, or this part of it, is not on the mail server any more")
