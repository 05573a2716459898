"""One thing at a time for an account: Bridge checks logins and takes mails of one account in one loop, whoever asks."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable


class AccountLoop:
    """A queue for one. `wait` waits for a future, as the simulator waits for everything."""

    def __init__(self, wait: Callable[[asyncio.Future[bool]], Awaitable[bool]]) -> None:
        self._wait = wait
        self._is_busy = False
        self._queue: deque[asyncio.Future[bool]] = deque()

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for one's turn, in the order of asking, and keep it."""
        if self._is_busy:
            mine: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
            self._queue.append(mine)
            await self._wait(mine)
        self._is_busy = True
        try:
            yield
        finally:
            self._pass_on()

    def _pass_on(self) -> None:
        while self._queue:
            following = self._queue.popleft()
            if not following.done():
                following.set_result(True)
                return
        self._is_busy = False
