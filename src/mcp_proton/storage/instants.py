"""Instants as the store keeps them: whole microseconds since 1970 in UTC, so that what is read is what was written."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TICK = timedelta(microseconds=1)


def ticks(moment: datetime) -> int:
    """Return microseconds since 1970."""
    return (moment - _EPOCH) // _TICK


def moment(count: int) -> datetime:
    """Return the instant of so many microseconds since 1970, in UTC."""
    return _EPOCH + count * _TICK
