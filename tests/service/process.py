"""A service in a process of its own: reads requests as lines of JSON, answers each with a line. Run by the tests.

    python process.py STORE LOG LETTERS

The account is in memory and alike in every process; each time a message is acted upon, its handle goes into the log.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from mcp_proton.domain.caller import owner
from mcp_proton.services.acting import batches
from mcp_proton.services.door.service import MailService
from mcp_proton.services.door.world import Settings, World
from mcp_proton.services.operations import exports
from mcp_proton.storage.database import Database
from mcp_proton.storage.folders.mail_files import FileMailFiles
from mcp_proton.storage.journals.journal import SqlJournal
from mcp_proton.storage.leases import SqlLeases
from mcp_proton.storage.migrating import migrate
from mcp_proton.storage.runners import Runner
from mcp_proton.testing import MemoryAccount, MemoryAccounts
from tests.service.conftest import CATALOG, House, letter


class LoggedAccount(MemoryAccount):
    """Writes down every message that is acted upon. `hang` stops it: "before" or "after" the effect."""

    log: Path
    hang: str | None = None
    at: int | None = None
    """The append to hang at; every step of anything else hangs."""
    appended: int = 0

    read: int = 0

    async def whole(self, handles: Any) -> Any:
        self.read += 1
        if self.hang == "whole" and self.read > (self.at or 0):
            await self._hang("whole")
        async for one in super().whole(handles):
            yield one

    async def append(self, to: Any, mail: Any, **more: Any) -> Any:
        mine = self.appended == self.at
        self.appended += 1
        if mine:
            await self._hang("before")
        handle = await super().append(to, mail, **more)
        if mine:
            await self._hang("after")
        return handle

    async def move(self, handles: Any, to: Any) -> Any:
        await self._hang("before")
        with self.log.open("a") as file:
            file.write("".join(f"{handle}\n" for handle in handles))
        fates = await super().move(handles, to)
        await self._hang("after")
        return fates

    async def _hang(self, when: str) -> None:
        if self.hang == when:
            print("hanging", flush=True)
            await asyncio.sleep(3600)


def furnished(letters: int) -> LoggedAccount:
    """Return an account with so many letters in INBOX: the same handles wherever it is made."""
    account = LoggedAccount("personal")
    for number in range(letters):
        account.add("INBOX", letter(f"Letter {number}", message_id=f"<{number}@example.org>"))
    return account


class Process:
    """The service and what a test may do to it."""

    def __init__(self, store: Path, log: Path, letters: int, background_from: int = 10**9) -> None:
        self.house = House(personal=furnished(letters))
        self.account: LoggedAccount = self.house.personal  # type: ignore[assignment]
        self.account.log = log
        self.database = Database(store, migrate)
        self.runner = Runner(self.database, self.house.clock)
        self.journal = SqlJournal(self.database, self.house.clock, runner=self.runner)
        self.house.service = MailService(
            World(
                CATALOG,
                MemoryAccounts(self.account, self.house.work),
                self.house.policies,
                self.journal,
                self.house.artifacts,
                self.house.clock,
                Settings(background_from=background_from, patience=0.05),
                SqlLeases(self.database, self.house.clock, self.runner),
                files=FileMailFiles(*[lambda: [store.parent.parent / "Mail"]] * 2),
            )
        )

    async def do(self, command: dict[str, Any]) -> Any:
        """Do what a line says."""
        if "wind" in command:
            self.house.clock.wind(minutes=command["wind"])
            return "ok"
        if "rules" in command:
            self.house.rules(**command["rules"])
            return "ok"
        if "hang" in command:
            self.account.hang, self.account.at = command["hang"], command.get("at")
            return "ok"
        who = owner() if command.get("owner") else None
        return await self.house.ask(command["ask"], who, **command.get("with", {}))

    async def aclose(self) -> None:
        """End as a process ends that is asked to."""
        await self.house.service.aclose()
        await self.journal.aclose()
        await self.database.aclose()


async def serve(process: Process) -> None:
    """Answer until the input ends."""
    while line := await asyncio.to_thread(sys.stdin.readline):
        print(json.dumps(await process.do(json.loads(line))), flush=True)
    await process.aclose()


if __name__ == "__main__":
    batches.CHUNK = exports.STEP = 2
    asyncio.run(serve(Process(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), *map(int, sys.argv[4:]))))
