"""How soon a server that didn't answer is tried again: twice as long each time, with jitter, and remembered between
callers, so that a hundred requests don't become a hundred logins."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcp_proton.domain.errors import MailError, Unavailable
from mcp_proton.domain.pauses import doubled

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from random import Random

    from mcp_proton.imap.protocol.session import Session


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds. A caller waits up to `caller` for a server to come back (Bridge is back within a second of the
    network); a refused login or certificate isn't tried again before `refused`."""

    first: float = 0.2
    longest: float = 30.0
    caller: float = 4.0
    refused: float = 5.0


class Backoff:
    """Opens sessions, one attempt at a time."""

    def __init__(self, patience: Patience, open_session: Callable[[], Awaitable[Session]], random: Random) -> None:
        self._patience = patience
        self._open = open_session
        self._random = random
        self._one_at_a_time = asyncio.Lock()
        self._failures = 0
        self._not_before = 0.0
        self._error: MailError | None = None
        self._clock = asyncio.get_running_loop().time

    async def connect(self) -> Session:
        """A new session. Raises what the last attempt raised, at once if it is too soon for another."""
        give_up = self._clock() + self._patience.caller
        async with self._one_at_a_time:
            while True:
                if self._error is not None and self._clock() < self._not_before:
                    raise self._error
                try:
                    session = await self._open()
                except MailError as error:
                    pause = self._note(error)
                    if not error.retry or self._clock() + pause > give_up:
                        raise
                    await asyncio.sleep(pause)
                else:
                    self._failures, self._error = 0, None
                    return session

    def _note(self, error: MailError) -> float:
        """Remembers the failure and says how long nobody should try."""
        self._failures += 1
        if isinstance(error, Unavailable) and error.retry:
            pause = doubled(self._failures, self._patience.first, self._patience.longest)
            pause *= self._random.uniform(0.75, 1.25)
        else:
            pause = self._patience.refused
        self._error, self._not_before = error, self._clock() + pause
        return pause
