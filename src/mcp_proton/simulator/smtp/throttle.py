"""Bridge's brake on failing clients: three failures, each within a second of the request before, shut sending for 20 s."""

from __future__ import annotations

_FAILURES = 3
_QUICK = 1.0
_SHUT = 20.0


class Throttle:
    """Counts the failures of one account; times are seconds of the simulator's clock."""

    def __init__(self) -> None:
        self._failures = 0
        self._last: float | None = None

    def allows(self, now: float) -> bool:
        """Whether a mail may be tried. The 20 s count from the last one that was; refused ones don't prolong them."""
        return self._failures < _FAILURES or self._last is None or now - self._last >= _SHUT

    def failed(self, began: float) -> None:
        """A mail that was tried at this moment wasn't taken. One after a quiet second doesn't count."""
        is_quick = self._last is not None and began - self._last <= _QUICK
        self._failures = self._failures + 1 if is_quick else 0
        self._last = began

    def succeeded(self, began: float) -> None:
        """A mail that was tried at this moment was taken."""
        self._failures = 0
        self._last = began
