"""InMemory: the sendings of a world that shares its store with nobody and ends with its process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from mcp_proton.domain.sendings import MAY_HAVE_LEFT, Sending, Stage


class InMemory:
    """Sendings in a dictionary."""

    def __init__(self) -> None:
        self._kept: dict[str, Sending] = {}

    async def begin(self, sending: Sending) -> None:
        """Keep it."""
        self._kept[sending.operation] = sending

    async def write(self, sending: Sending) -> None:
        """Keep it as it is now."""
        self._kept[sending.operation] = sending

    async def find(self, operation_id: str) -> Sending | None:
        """Look it up."""
        return self._kept.get(operation_id)

    async def alike(
        self, account: str, since: datetime, *, key: str | None = None, content: str | None = None
    ) -> Sequence[Sending]:
        """Compare them all."""
        mine = [one for one in self._kept.values() if one.account == account and one.begun >= since]
        return [one for one in reversed(mine) if (one.key == key if key is not None else one.content == content)]

    async def waiting(self, account: str, since: datetime) -> Sequence[Sending]:
        """Those open or young."""
        mine = [one for one in self._kept.values() if one.account == account]
        return [one for one in mine if one.is_open or one.begun >= since]

    async def tally(self) -> Mapping[Stage, int]:
        """Count them all."""
        return Counter(one.stage for one in self._kept.values())

    async def reached(self, account: str, recipients: Collection[str]) -> frozenset[str]:
        """Those of earlier mails."""
        asked = {one.casefold() for one in recipients}
        return frozenset(
            one.casefold()
            for sending in self._kept.values()
            if sending.account == account and sending.stage in MAY_HAVE_LEFT
            for one in sending.recipients
            if one.casefold() in asked
        )
