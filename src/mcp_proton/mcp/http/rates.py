"""Rates: token buckets by key. A bucket fills evenly, and holds at most what may be used at once."""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

KEYS = 4096


class Rate:
    """At most `most` at once and, over time, `most` in `seconds`, for each key by itself. Of 0: no limit.

    Of more than 4096 keys the longest unused are forgotten: a key that is, is full again.
    """

    def __init__(self, most: int, seconds: float, now: Callable[[], float] = time.monotonic) -> None:
        self._most = float(most)
        self._each = seconds / most if most else 0.0
        self._now = now
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, *keys: str) -> float:
        """Take one from every key's bucket and return 0; or take nothing, and return the seconds until all have one."""
        return self._wait(keys) or self._taken(keys)

    def _wait(self, keys: Collection[str]) -> float:
        short = 1.0 - min((self._level(key) for key in keys), default=self._most)
        return short * self._each if self._most and short > 1e-9 else 0.0

    def _taken(self, keys: Collection[str]) -> float:
        for key in keys if self._most else ():
            self._buckets[key] = (self._level(key) - 1.0, self._now())
            self._buckets.move_to_end(key)
        while len(self._buckets) > KEYS:
            self._buckets.popitem(last=False)
        return 0.0

    def _level(self, key: str) -> float:
        level, at = self._buckets.get(key, (self._most, 0.0))
        return min(self._most, level + (self._now() - at) / self._each) if self._each else self._most


def starting(burst: int, seconds_each: float, now: Callable[[], float] = time.monotonic) -> Rate:
    """Return a rate of `burst` at once and one more every so many seconds."""
    return Rate(burst, burst * seconds_each, now)
