"""An event loop whose clock jumps: when nothing is ready, the wait for the next timer takes no time."""

from __future__ import annotations

import asyncio
import selectors
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine

T = TypeVar("T")
GRACE = 0.02


class _Selector(selectors.DefaultSelector):
    skipped = 0.0

    def select(self, timeout: float | None = None) -> Any:
        events = super().select(timeout if timeout is None else min(timeout, GRACE))
        if not events and timeout is not None and timeout > GRACE:
            self.skipped += timeout
        return events


class WoundLoop(asyncio.SelectorEventLoop):
    """Sockets get 20 ms to become ready before the clock jumps, which is plenty on loopback."""

    def __init__(self) -> None:
        self._own = _Selector()
        super().__init__(self._own)

    def time(self) -> float:
        return super().time() + self._own.skipped


def run_wound(main: Coroutine[Any, Any, T]) -> T:
    with asyncio.Runner(loop_factory=WoundLoop) as runner:
        return runner.run(main)
