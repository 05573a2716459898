"""Time as the simulator sees it: the host's, or one that a test winds by hand and that never makes anybody wait."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import time
from typing import Protocol


class Clock(Protocol):
    """What the simulator asks of time. Seconds since the epoch, as floats."""

    def now(self) -> float:
        """The present moment."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return when so many seconds of this clock have passed."""
        ...


class HostClock:
    """The host's clock."""

    def now(self) -> float:
        """The host's time."""
        return time.time()

    async def sleep(self, seconds: float) -> None:
        """Sleep in real time."""
        await asyncio.sleep(seconds)


class WoundClock:
    """A clock that stands still until `advance`; sleepers wake in the order of their times.

    Every `sleep` counts as waiting until its moment comes, so a driver can tell "everybody waits for time" from "somebody
    is still at work".
    """

    def __init__(self, start: float = 1_767_225_600.0) -> None:
        self._now = start
        self._order = itertools.count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []

    def now(self) -> float:
        """The moment this clock was wound to."""
        return self._now

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock was wound past this moment."""
        wake: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._now + seconds, next(self._order), wake))
        await wake

    @property
    def next_wake(self) -> float | None:
        """When the next sleeper wakes; None if nobody sleeps."""
        while self._sleepers and self._sleepers[0][2].done():
            heapq.heappop(self._sleepers)
        return self._sleepers[0][0] if self._sleepers else None

    def advance_to(self, moment: float) -> None:
        """Wind forward to a moment, waking everyone whose time comes."""
        self._now = max(self._now, moment)
        while (wake := self.next_wake) is not None and wake <= self._now:
            future = heapq.heappop(self._sleepers)[2]
            if not future.done():
                future.set_result(None)

    def advance(self, seconds: float) -> None:
        """Wind forward by so many seconds."""
        self.advance_to(self._now + seconds)
