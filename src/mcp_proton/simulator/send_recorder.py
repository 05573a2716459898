"""Bridge's memory of what was sent lately (facts 11.6): half an hour from the first try, gone at a restart.

A mail that is being sent makes an equal one wait for its end. One whose sender was refused never ends: whoever comes with
it again waits in vain.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from mcp_proton.simulator.clock import Clock

MEMORY = 30 * 60.0
PATIENCE = 90.0


class OverdueError(Exception):
    """The equal mail that was waited for did not come to an end."""


class Claim:
    """The right to send a mail, held by whoever asked first."""

    def __init__(self, recipients: Sequence[str], expires: float) -> None:
        self.recipients = list(recipients)
        self.expires = expires
        self.sent_as: str | None = None
        self.failed = False
        self._waiting: list[asyncio.Future[bool]] = []

    @property
    def is_over(self) -> bool:
        """Whether it is known how it ended."""
        return self.failed or self.sent_as is not None

    def was_sent(self, message_id: str) -> None:
        """It was sent, as this message of the account."""
        self.sent_as = message_id
        self._wake()

    def was_not_sent(self) -> None:
        """It was not sent; whoever waits may try."""
        self.failed = True
        self._wake()

    def ended(self) -> asyncio.Future[bool]:
        """A future that is done when it has ended."""
        future: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        return future

    def fits(self, recipients: Sequence[str]) -> bool:
        """Whether a mail to these goes to the same people, each as often."""
        return len(recipients) == len(self.recipients) and set(recipients) == set(self.recipients)

    def _wake(self) -> None:
        for future in self._waiting:
            if not future.done():
                future.set_result(True)


class SendRecorder:
    """What one account sent, or is sending. `wait` waits for a future so many seconds of the clock; False if in vain."""

    def __init__(self, clock: Clock, wait: Callable[[asyncio.Future[bool], float], Awaitable[bool]]) -> None:
        self._clock = clock
        self._wait = wait
        self._claims: dict[bytes, list[Claim]] = {}

    async def claim(self, key: bytes, recipients: Sequence[str]) -> Claim | None:
        """Claim a mail for sending; None if an equal one was sent. Raises OverdueError."""
        while (earlier := self._find(key, recipients)) is not None:
            if not await self._ends(earlier):
                raise OverdueError
            if not earlier.failed:
                return None
        mine = Claim(recipients, self._clock.now() + MEMORY)
        self._claims.setdefault(key, []).append(mine)
        return mine

    async def sent_as(self, key: bytes, recipients: Sequence[str]) -> str | None:
        """As which message an equal mail was sent; None if none was, or if it doesn't come to an end."""
        while (earlier := self._find(key, recipients)) is not None:
            if not await self._ends(earlier):
                return None
            if not earlier.failed:
                return earlier.sent_as
        return None

    def forget(self, key: bytes) -> None:
        """Know nothing more of mails with this key."""
        self._claims.pop(key, None)

    async def _ends(self, claim: Claim) -> bool:
        return claim.is_over or await self._wait(claim.ended(), PATIENCE)

    def _find(self, key: bytes, recipients: Sequence[str]) -> Claim | None:
        now = self._clock.now()
        alive = [one for one in self._claims.get(key, []) if not one.failed and one.expires >= now]
        if key in self._claims:
            self._claims[key] = alive
        return next((one for one in alive if one.fits(recipients)), None)
