"""Holding: a response that ends when whoever asked for it may no longer have it, or when the service ends."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOK_SECONDS = 1.0


async def held(
    app: ASGIApp,
    scope: Scope,
    receive: Receive,
    send: Send,
    *,
    still_good: Callable[[], Awaitable[bool]],
    over: asyncio.Event | None,
) -> None:
    """Run an application, and end its response properly once it is not good any more, or `over` is set.

    `still_good` is asked every second; `over` None: the response may outlast the beginning of the end.
    """
    began = finished = False

    async def watched(message: Message) -> None:
        nonlocal began, finished
        began = began or message["type"] == "http.response.start"
        finished = finished or (message["type"] == "http.response.body" and not message.get("more_body", False))
        await send(message)

    try:
        async with asyncio.timeout(None) as life:
            watch = _Watch(life, still_good, over)
            try:
                await app(scope, receive, watched)
            finally:
                watch.end()
    except TimeoutError:
        if not life.expired():
            raise
        if began and not finished:
            await send({"type": "http.response.body", "body": b"", "more_body": False})


class _Watch:
    """Ends a life once a look says so, or a look cannot be had. Most are over before the first look: they cost no task."""

    def __init__(
        self, life: asyncio.Timeout, still_good: Callable[[], Awaitable[bool]], over: asyncio.Event | None
    ) -> None:
        self._life, self._still_good, self._over = life, still_good, over
        self._looking: asyncio.Task[None] | None = None
        self._first = asyncio.get_running_loop().call_later(0.0 if over else LOOK_SECONDS, self._begin)

    def end(self) -> None:
        """Look no more."""
        self._first.cancel()
        if self._looking is not None:
            self._looking.cancel()

    def _begin(self) -> None:
        self._looking = asyncio.create_task(self._look())
        self._looking.add_done_callback(self._looked)

    async def _look(self) -> None:
        over = self._over or asyncio.Event()
        while await self._still_good():
            with suppress(TimeoutError):
                await asyncio.wait_for(over.wait(), LOOK_SECONDS)
                return

    def _looked(self, looking: asyncio.Task[None]) -> None:
        if not looking.cancelled():
            with suppress(RuntimeError):  # it ended by itself at that moment
                self._life.reschedule(0.0)
