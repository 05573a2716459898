"""Running: uvicorn under our own signals. SIGTERM and SIGINT end it in order: streams, calls, sessions, then the world."""

from __future__ import annotations

import asyncio
import signal
from contextlib import AsyncExitStack, contextmanager
from typing import TYPE_CHECKING

import uvicorn

from mcp_proton.mcp import starting
from mcp_proton.mcp.http import wire

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator, Sequence

    from starlette.types import ASGIApp

LAST_CALLS = 1
"""Seconds that calls have to end by themselves."""
_ENDINGS = (signal.SIGTERM, signal.SIGINT)


class Server(uvicorn.Server):
    """uvicorn without its signal handlers: whoever runs it decides what ends it."""

    def __init__(self, app: ASGIApp) -> None:
        config = uvicorn.Config(
            app,
            lifespan="off",
            log_config=None,
            access_log=False,
            timeout_graceful_shutdown=LAST_CALLS,
            **wire.settings(),
        )
        super().__init__(config)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone."""
        yield


async def serve(apps: Sequence[tuple[ASGIApp, socket.socket]], ending: Callable[[], None]) -> None:
    """Serve applications on their sockets until a signal comes. `ending` is called when it does."""
    servers = [Server(app) for app, _ in apps]
    loop = asyncio.get_running_loop()

    def end() -> None:
        ending()
        for server in servers:
            server.should_exit = True

    async with AsyncExitStack() as stack:
        for number in _ENDINGS:
            loop.add_signal_handler(number, end)
            stack.callback(loop.remove_signal_handler, number)
        starting.is_over()
        await asyncio.gather(*(server.serve([listening]) for server, (_, listening) in zip(servers, apps, strict=True)))
