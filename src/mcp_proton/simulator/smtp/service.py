"""What Bridge keeps for sending the mail of one account; all of it is gone at a restart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_proton.simulator.send_recorder import SendRecorder
from mcp_proton.simulator.smtp.account_loop import AccountLoop
from mcp_proton.simulator.smtp.throttle import Throttle

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable

    from mcp_proton.simulator.clock import Clock


class SendingService:
    """The loop that takes mails, the memory of what was sent, the brake."""

    def __init__(self, clock: Clock, wait: Callable[[asyncio.Future[bool], float | None], Awaitable[bool]]) -> None:
        self.loop = AccountLoop(lambda future: wait(future, None))
        self.recorder = SendRecorder(clock, wait)
        self.throttle = Throttle()
