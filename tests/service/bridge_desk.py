"""A house whose account is on a simulated Bridge with a clock that tests wind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

from mcp_proton.domain.mail import Role
from mcp_proton.domain.ports import Page
from mcp_proton.domain.query import All
from mcp_proton.domain.transfer import MailFiles
from mcp_proton.simulator import GivenUser, Simulator, WoundClock
from mcp_proton.testing import EPOCH
from tests.contract import worlds

from .conftest import House

ME, ALIAS, BOB, ANNA = "alice@proton.local", "alias@proton.local", "bob@proton.local", "anna@example.org"


class Desk(House):
    """A house whose account is on a simulated Bridge; its owner allows everything towards these people."""

    def __init__(self, simulator: Simulator, backend: Any, files: MailFiles | None = None) -> None:
        super().__init__(personal=backend, files=files)
        self.sim = simulator
        self.rules(preset="autonomous", boundaries={"recipients": ["@proton.local", "@example.org", "@example.net"]})

    async def wind(self, seconds: float) -> None:
        """Time goes by, and Bridge hears what happened meanwhile."""
        self.clock.wind(seconds=seconds)
        cast("WoundClock", self.sim.clock).advance(seconds)
        self.sim.release_events()

    async def patiently(self, operation: str, **arguments: Any) -> dict[str, Any]:
        """Ask, and let Bridge's own waits (it repeats calls that fail) pass meanwhile."""
        asking = asyncio.ensure_future(self.ask(operation, **arguments))
        while not asking.done():
            await asyncio.wait({asking}, timeout=0.02)
            if self.sim.parked:
                cast("WoundClock", self.sim.clock).advance(20)
        return asking.result()

    async def receive_one(self, raw: bytes, *, to: str | None = None) -> str:
        """A mail arrives; return its handle."""
        self.sim.deliver(raw, to=to)
        self.sim.release_events()
        return (await self.held(Role.INBOX))[0]

    async def held(self, role: Role) -> list[str]:
        """Return the handles in the mailbox of a role, the newest first."""
        box = next(one for one in await self.personal.mailboxes() if one.role is role)
        return [str(row.handle) for row in (await self.personal.search([box], All(), Page(100))).rows]

    async def now(self, told: dict[str, Any]) -> dict[str, Any]:
        """Return what the operation's status says."""
        return await self.ask("operations_status", operation_id=told["operation_id"])

    @property
    def left(self) -> list[tuple[str, str]]:
        """Subject and recipient of all that left."""
        return [(one.subject, one.recipient) for one in self.sim.sent]


@asynccontextmanager
async def on_bridge() -> AsyncIterator[Desk]:
    """Open one."""
    users = [GivenUser("alice", [ME, ALIAS]), GivenUser("bob", [BOB])]
    clock = WoundClock(EPOCH.timestamp())
    async with Simulator(users=users, certificate=worlds.CERTIFICATE, clock=clock) as simulator:
        backend = worlds.bridge_backend(simulator)
        try:
            yield Desk(simulator, backend)
        finally:
            await backend.aclose()
