"""A fixed number of places, given out in turns: between callers first, then in the order of asking.

One caller with a hundred requests waits behind every other caller's first.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque


class Turns:
    """`take` waits for a place, `give` returns it. Cancelling `take` costs nobody a place."""

    def __init__(self, places: int) -> None:
        self.taken = 0
        self._places = places
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()

    def take_at_once(self) -> bool:
        """Take a place that is free and that nobody waits for; False where there is none."""
        free = self.taken < self._places and not self._waiting
        self.taken += free
        return free

    async def take(self, caller: str) -> None:
        if self.take_at_once():
            return
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(caller, deque()).append(mine)
        try:
            await mine
        except BaseException:
            if mine.done() and not mine.cancelled() and mine.exception() is None:
                self.give()
            else:
                self._remove(caller, mine)
            raise

    def give(self) -> None:
        self.taken -= 1
        while self._waiting and self.taken < self._places:
            caller, queue = self._waiting.popitem(last=False)
            waiter = queue.popleft()
            if queue:
                self._waiting[caller] = queue
            if not waiter.done():
                self.taken += 1
                waiter.set_result(None)

    def refuse(self, reason: Exception) -> None:
        """Everyone waiting gets `reason`."""
        waiting, self._waiting = self._waiting, OrderedDict()
        for queue in waiting.values():
            for waiter in queue:
                if not waiter.done():
                    waiter.set_exception(reason)

    def _remove(self, caller: str, mine: asyncio.Future[None]) -> None:
        queue = self._waiting.get(caller)
        if queue is not None and mine in queue:
            queue.remove(mine)
            if not queue:
                del self._waiting[caller]
