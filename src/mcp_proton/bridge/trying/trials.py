"""Trials: one canary at a time on an account, in whatever process, and what an interrupted one left is taken away."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from mcp_proton.bridge.trying.canary import Canary

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable

    from mcp_proton.bridge.backend import BridgeBackend
    from mcp_proton.domain.findings import Findings
    from mcp_proton.domain.lease import Leases
    from mcp_proton.domain.ports import Clock


class Trials:
    """`lone` makes a backend with connections of its own, and without the guard of Trash, which would change what is tried."""

    def __init__(self, lone: Callable[[str], BridgeBackend], findings: Findings, leases: Leases, clock: Clock) -> None:
        self._lone, self._findings, self._leases, self._clock = lone, findings, leases, clock

    @asynccontextmanager
    async def of(self, account: str, say: Callable[[str], None] = lambda _: None) -> AsyncIterator[Canary]:
        """A canary for an account. `Unavailable` (`account_busy`) while another one is at work there."""
        backend = self._lone(account)
        try:
            async with self._leases.hold(f"{account}/trial"):
                yield Canary(
                    backend, self._findings, self._clock, lambda: self._leases.hold(account), asyncio.sleep, say
                )
        finally:
            await backend.aclose()

    async def clear(self, accounts: Iterable[str]) -> None:
        """Take away what trials left in these accounts: nothing is opened where none did."""
        for account in accounts:
            if self._findings.trace(account) is not None:
                async with self.of(account) as canary:
                    await canary.clear()
