"""`FixedClock`: time that moves only when told to."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

EPOCH = datetime(2026, 11, 30, 12, tzinfo=UTC)
"""The instant at which a `FixedClock` starts."""


class FixedClock:
    """A clock that moves only when told to."""

    def __init__(self, start: datetime = EPOCH) -> None:
        self._now = start
        self._elapsed = 0.0

    def now(self) -> datetime:
        """The instant it was wound to."""
        return self._now

    def monotonic(self) -> float:
        """The seconds it was wound on by."""
        return self._elapsed

    def wind(self, **by: float) -> None:
        """Move on, by the arguments of `timedelta`."""
        step = timedelta(**by)
        self._now += step
        self._elapsed += step.total_seconds()
