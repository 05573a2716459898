"""Bodies: request bodies read whole before anybody acts on them, within limits of size, time and all memory together."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from mcp_proton.mcp.http.answers import later, refuse

if TYPE_CHECKING:
    from starlette.responses import Response
    from starlette.types import Message, Receive

MOST = 4 << 20
"""A request's body, at most (J-103): attachments do not travel in arguments."""
ALL = 64 << 20
SECONDS = 20.0


class Bodies:
    """Reads bodies. `held` is how many octets of unfinished requests are in memory."""

    def __init__(self, most: int = MOST, all_together: int = ALL, seconds: float = SECONDS) -> None:
        self.held = 0
        self._most = most
        self._all = all_together
        self._seconds = seconds

    async def read(self, receive: Receive) -> bytes | Response:
        """Return the body, or the answer to a request whose body will not do."""
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(self._seconds):
                more = True
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return refuse(400, "the request broke off")
                    part, more = message.get("body", b""), message.get("more_body", False)
                    size += len(part)
                    self.held += len(part)
                    parts.append(part)
                    if size > self._most:
                        return refuse(413, f"a request holds at most {self._most} octets")
                    if self.held > self._all:
                        return later(503, "too much is being sent at once", 1)
        except TimeoutError:
            return refuse(408, "the request took too long to arrive")
        finally:
            self.held -= size
        return b"".join(parts)


def replayed(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that hands out a body that was read already, then whatever comes after it."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def next_message() -> Message:
        return messages.pop() if messages else await receive()

    return next_message
