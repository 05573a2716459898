"""`MemoryWatch`: an account in memory, watched by looking at it again and again."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from mcp_proton.domain.mail import Mailbox
from mcp_proton.testing.boxes import Box

PAUSE = 0.01


class MemoryWatch:
    """See `mcp_proton.domain.watching.Watch`."""

    def __init__(self, boxes: Mapping[str, Box]) -> None:
        self._boxes = boxes
        self._wanted: frozenset[str] | None = frozenset()
        self._known: dict[str, tuple[Mailbox, object]] = {}

    async def want(self, tags: frozenset[str] | None) -> None:
        """From now on these."""
        self._known = self._seen() | self._known
        self._wanted = tags

    def __aiter__(self) -> MemoryWatch:
        return self

    async def __anext__(self) -> frozenset[Mailbox]:
        while True:
            await asyncio.sleep(PAUSE)
            before, self._known = self._known, self._seen()
            both = {**before, **self._known}
            touched = {both[one][0] for one in both if before.get(one) != self._known.get(one)}
            found = frozenset(box for box in touched if self._wanted is None or box.tag in self._wanted)
            if found:
                return found

    async def aclose(self) -> None:
        """Nothing is open."""

    def _seen(self) -> dict[str, tuple[Mailbox, object]]:
        return {
            one.mailbox.tag: (
                one.mailbox,
                (one.generation, [(uid, stored.mail.version, stored.mail.flags) for uid, stored in one.mail.items()]),
            )
            for one in self._boxes.values()
        }
