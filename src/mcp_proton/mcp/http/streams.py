"""Streams: what was sent on a client's event streams of late, so that a connection that broke can be taken up again.

Kept in memory alone, for two minutes and at most 4 MiB a client: mail stays here no longer than a reconnect needs.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcp.server.streamable_http import EventMessage, EventStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.server.streamable_http import EventCallback
    from mcp_types import JSONRPCMessage

SECONDS = 120.0
OCTETS = 4 << 20
_EVENTS = 10_000


@dataclass(frozen=True, slots=True)
class _Event:
    number: int
    stream: str
    message: JSONRPCMessage | None
    size: int
    at: float


class Streams(EventStore):
    """The latest events of one client, the oldest dropped first."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._events: deque[_Event] = deque()
        self._octets = 0
        self._last = 0
        self._timer: asyncio.TimerHandle | None = None

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        """Keep an event and return its id."""
        self._last += 1
        size = len(message.model_dump_json()) if message is not None else 0
        self._events.append(_Event(self._last, stream_id, message, size, self._now()))
        self._octets += size
        self._drop()
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(SECONDS, self._tidy)
        return str(self._last)

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        """Send again what came after an event on its stream. None, and nothing sent, where it is kept no longer."""
        self._drop()
        found = next((one for one in self._events if str(one.number) == last_event_id), None)
        if found is None:
            return None
        later = [one for one in self._events if one.stream == found.stream and one.number > found.number]
        for one in later:
            if one.message is not None:
                await send_callback(EventMessage(one.message, str(one.number)))
        return found.stream

    def _drop(self) -> None:
        oldest = self._now() - SECONDS
        while self._events and (self._events[0].at < oldest or self._octets > OCTETS or len(self._events) > _EVENTS):
            self._octets -= self._events.popleft().size

    def _tidy(self) -> None:
        """Drop what is over also where nothing comes any more: an idle client's mail is not kept."""
        self._drop()
        left = self._events[0].at + SECONDS - self._now() if self._events else None
        self._timer = None if left is None else asyncio.get_running_loop().call_later(max(left, 1.0), self._tidy)
