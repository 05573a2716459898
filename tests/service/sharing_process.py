"""A service on a store that other processes share: reads requests as lines of JSON, answers each with a line."""

from __future__ import annotations

import asyncio
import json
import sys
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from mcp_proton.domain.caller import owner
from mcp_proton.storage.database import Database
from mcp_proton.storage.journals.journal import SqlJournal
from mcp_proton.storage.leases import SqlLeases
from mcp_proton.storage.migrating import migrate
from mcp_proton.storage.runners import Runner
from tests.service.conftest import House

if TYPE_CHECKING:
    from pathlib import Path

    from mcp_proton.testing import MemoryAccount


class SharingProcess(ABC):
    """A house whose journal and leases are those of the store. Its service is made by who inherits."""

    def __init__(self, store: Path, personal: MemoryAccount) -> None:
        self.house = House(personal=personal)
        self.database = Database(store, migrate)
        self.runner = Runner(self.database, self.house.clock)
        self.journal = SqlJournal(self.database, self.house.clock, runner=self.runner)
        self.leases = SqlLeases(self.database, self.house.clock, self.runner)

    async def do(self, command: dict[str, Any]) -> Any:
        """Do what a line says: `wind` the clock by seconds, set `rules`, `hang` at a step, or `ask`."""
        if "wind" in command:
            self.house.clock.wind(seconds=command["wind"])
            return "ok"
        if "rules" in command:
            self.house.rules(**command["rules"])
            return "ok"
        if "hang" in command:
            self.hang(command["hang"], command.get("at"))
            return "ok"
        who = owner() if command.get("owner") else None
        return await self.house.ask(command["ask"], who, **command.get("with", {}))

    @abstractmethod
    def hang(self, when: str, at: int | None) -> None:
        """From now on the account hangs `when` it gets to a step."""

    async def serve(self) -> None:
        """Answer until the input ends."""
        while line := await asyncio.to_thread(sys.stdin.readline):
            print(json.dumps(await self.do(json.loads(line))), flush=True)
        await self.aclose()

    async def aclose(self) -> None:
        """End as a process ends that is asked to."""
        await self.house.service.aclose()
        await self.journal.aclose()
        await self.database.aclose()


async def hung() -> None:
    """Say so, and go no further."""
    print("hanging", flush=True)
    await asyncio.sleep(3600)
