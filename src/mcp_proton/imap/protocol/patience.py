"""How long a connection waits for its server: silence, a command that never ends, and pauses that are our own."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from mcp_proton.imap.limits import Timing
    from mcp_proton.imap.protocol.running import Running


class Patience:
    """Calls `run_out` once, with the oldest command, when the server was silent for `Timing.silence` or the command took
    `Timing.command` (seconds; a command's own `silence` goes before). `oldest` tells the command that is waited for,
    `heard` when the server last said something. While paused no time passes."""

    def __init__(
        self,
        timing: Timing,
        loop: asyncio.AbstractEventLoop,
        *,
        oldest: Callable[[], Running[Any] | None],
        heard: Callable[[], float],
        run_out: Callable[[Running[Any]], None],
    ) -> None:
        self._timing, self._loop = timing, loop
        self._oldest, self._heard, self._run_out = oldest, heard, run_out
        self._timer: asyncio.TimerHandle | None = None
        self._paused_at: float | None = None
        self._resumed_at = loop.time()

    @property
    def paused(self) -> bool:
        """Time stands still."""
        return self._paused_at is not None

    def pause(self) -> None:
        """From now on the silence is ours."""
        self._paused_at = self._loop.time()

    def resume(self) -> float:
        """Time goes on. Return how many seconds it stood still."""
        now = self._resumed_at = self._loop.time()
        away = 0.0 if self._paused_at is None else now - self._paused_at
        self._paused_at = None
        return away

    def start(self) -> None:
        """Look at the clock from now on, until there is no command left."""
        if self._timer is None:
            self._timer = self._loop.call_later(min(self._timing.silence, self._timing.command), self._look)

    def stop(self) -> None:
        """Look no more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        self._timer = None
        oldest = self._oldest()
        if oldest is None:
            return
        now, due = self._loop.time(), self._due(oldest)
        if due == math.inf:
            return
        if now >= due:
            self._run_out(oldest)
        else:
            self._timer = self._loop.call_at(due, self._look)

    def _due(self, oldest: Running[Any]) -> float:
        silence = self._timing.silence if oldest.silence is None else oldest.silence
        if self.paused:
            return self._loop.time() + silence
        command = self._timing.command if oldest.silence is None else max(oldest.silence, self._timing.command)
        return min(max(self._heard(), self._resumed_at, oldest.begun) + silence, oldest.begun + command)
