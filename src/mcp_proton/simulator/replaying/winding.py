"""The clock of a replay, and everybody's peace between its moments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_proton.simulator.replaying.settling import settle

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_proton.simulator.clock import WoundClock
    from mcp_proton.simulator.replaying.line import Line
    from mcp_proton.simulator.server import Simulator

_LONGEST_WAIT = 600.0


class Winding:
    """Winds a clock, and lets everybody come to rest wherever it stops. Every `period` Bridge asks for events."""

    def __init__(self, simulator: Simulator, clock: WoundClock, lines: dict[str, Line], period: float) -> None:
        self._simulator = simulator
        self._clock = clock
        self._lines = lines
        self.period = period

    async def settle(self) -> None:
        """Let everybody come to rest at this moment."""
        await settle(self._simulator, list(self._lines.values()))

    async def for_seconds(self, seconds: float) -> None:
        """Let time go by; after each period Bridge asks for events, as the recorded one did by itself."""
        while seconds >= self.period:
            await self._to(self._clock.now() + self.period)
            self._simulator.release_events()
            await self.settle()
            seconds -= self.period
        await self._to(self._clock.now() + seconds)

    async def until(self, is_enough: Callable[[], bool]) -> None:
        """Let time go by from one thing that wakes up to the next, until it is enough; at most ten minutes."""
        end = self._clock.now() + _LONGEST_WAIT
        while not is_enough() and (wake := self._clock.next_wake) is not None and wake <= end:
            self._clock.advance_to(wake)
            await self.settle()

    async def _to(self, end: float) -> None:
        while (wake := self._clock.next_wake) is not None and wake <= end:
            self._clock.advance_to(wake)
            await self.settle()
        self._clock.advance_to(end)
        await self.settle()
