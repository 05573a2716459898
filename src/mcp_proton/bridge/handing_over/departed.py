"""What this process handed to Bridge in the last half hour: for that long Bridge takes an equal text for the same mail."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from mcp_proton.bridge.handing_over.resend import WITHIN


@dataclass(frozen=True, slots=True)
class _Departure:
    at: float
    key: str


class Departed:
    """Keys of content (without recipients), and senders that Bridge refused. By the loop's clock."""

    def __init__(self) -> None:
        self._keys: list[_Departure] = []
        self._senders: dict[str, float] = {}

    def note(self, key: str) -> None:
        """A mail of this content goes now."""
        self._keys.append(_Departure(_now(), key))

    def forget(self, key: str) -> None:
        """It did not go: Bridge forgets a mail that failed."""
        last = next((one for one in reversed(self._keys) if one.key == key), None)
        if last is not None:
            self._keys.remove(last)

    def holds(self, key: str) -> bool:
        """Whether one went in the last half hour."""
        self._keys = [one for one in self._keys if _now() - one.at < WITHIN.total_seconds()]
        return any(one.key == key for one in self._keys)

    def refuse(self, sender: str) -> None:
        """Bridge refused this sender: an equal mail would hang, and hold the account's sending for 90 s."""
        self._senders[sender.lower()] = _now()

    def is_refused(self, sender: str) -> bool:
        """Whether it did in the last half hour."""
        at = self._senders.get(sender.lower())
        return at is not None and _now() - at < WITHIN.total_seconds()


def _now() -> float:
    return asyncio.get_running_loop().time()
