"""A listening port on loopback that can be closed and opened again under the same number."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ssl
    from collections.abc import Awaitable, Callable

LOOPBACK = "127.0.0.1"


class Port:
    """One port; number 0 takes a free one when it is first opened."""

    host = LOOPBACK

    def __init__(
        self,
        number: int,
        serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
        tls: ssl.SSLContext | None,
    ) -> None:
        self.number = number
        self._serve = serve
        self._tls = tls
        self._server: asyncio.Server | None = None

    @property
    def is_open(self) -> bool:
        """Whether it takes connections."""
        return self._server is not None

    async def open(self) -> None:
        """Take connections; does nothing if it does already."""
        if self._server is None:
            self._server = await asyncio.start_server(self._serve, LOOPBACK, self.number, ssl=self._tls, limit=2**20)
            self.number = self._server.sockets[0].getsockname()[1]

    def close(self) -> None:
        """Take no more connections; those that are open stay."""
        if self._server is not None:
            self._server.close()
            self._server = None
