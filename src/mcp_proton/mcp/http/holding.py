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

    work = asyncio.ensure_future(app(scope, receive, watched))
    ending = asyncio.ensure_future(over.wait()) if over is not None else None
    try:
        while not work.done():
            await asyncio.wait(
                {work, ending} if ending else {work}, timeout=LOOK_SECONDS, return_when="FIRST_COMPLETED"
            )
            if (ending is not None and ending.done()) or not (work.done() or await still_good()):
                break
    finally:
        if ending is not None:
            ending.cancel()
        if not work.done():
            work.cancel()
            with suppress(asyncio.CancelledError):
                await work
    if not work.cancelled():
        work.result()
    elif began and not finished:
        await send({"type": "http.response.body", "body": b"", "more_body": False})
