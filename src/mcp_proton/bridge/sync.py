"""Is Bridge still taking in the account? IMAP has no word for it, so two looks at a count have to do.

During a first sync or a repair counts grow in steps of 64. Growth that new mail does not explain means yes; no growth
means nothing, since a sync pauses too. So the answer is True or None, never False.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

STEP = 32
"""messages between two looks: half of Bridge's step, and more than arrive in a moment"""
APART = 1.0
"""seconds between two looks"""
RECENT = 30.0
"""seconds for which an earlier look still counts"""


@dataclass(frozen=True, slots=True)
class Look:
    """What STATUS said, and when on the monotonic clock. MESSAGES and UIDNEXT need not agree during a sync."""

    at: float
    messages: int
    uidnext: int


def grew(earlier: Look, later: Look) -> bool:
    """Whether more came in between than new mail explains."""
    return max(later.messages - earlier.messages, later.uidnext - earlier.uidnext) >= STEP


class SyncWatch:
    """Remembers the last look, so that asking again soon costs one look and no waiting."""

    def __init__(self, look: Callable[[], Awaitable[Look]], pause: Callable[[float], Awaitable[None]]) -> None:
        self._look = look
        self._pause = pause
        self._last: Look | None = None

    async def syncing(self) -> bool | None:
        """True while counts move; None where it cannot be known."""
        earlier, now = self._last, await self._look()
        if earlier is None or not APART <= now.at - earlier.at <= RECENT:
            await self._pause(APART)
            earlier, now = now, await self._look()
        self._last = now
        return True if grew(earlier, now) else None
