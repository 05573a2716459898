"""A service in a process of its own that sends: the world outside is a folder, with a file for each mail that left.

    python sending_process.py STORE OUTSIDE

Whichever process looks, Sent holds what is in the folder: the server is one, the processes are many.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from mcp_proton.domain.caller import owner
from mcp_proton.domain.outgoing import Octets, Submission, Trace
from mcp_proton.services.door.service import MailService
from mcp_proton.services.door.world import World
from mcp_proton.storage.database import Database
from mcp_proton.storage.journals.journal import SqlJournal
from mcp_proton.storage.leases import SqlLeases
from mcp_proton.storage.migrating import migrate
from mcp_proton.storage.runners import Runner
from mcp_proton.storage.sendings import SqlSendings
from mcp_proton.testing import MemoryAccount, MemoryAccounts, MemoryOutgoing
from tests.service.conftest import CATALOG, House

FOLDER_RULES = {"boundaries": {"recipients": ["@example.org"]}}


class Outside(MemoryOutgoing):
    """A server that swallows repeats and files by itself. `hang` stops a submission: "before" or "after" the mail left."""

    folder: Path
    hang: str | None = None

    async def submit(self, sender: str, recipients: Sequence[str], mail: Octets) -> Submission:
        await self._hang("before")
        raw = b"".join([chunk async for chunk in mail.chunks()])
        message_id = next(line for line in raw.split(b"\r\n") if line.startswith(b"Message-ID:"))
        (self.folder / message_id.split(b"<")[1].split(b"@")[0].decode()).write_bytes(raw)
        await self._hang("after")
        return await super().submit(sender, recipients, mail)

    async def trace(self, message_id: str, since: datetime) -> Trace:
        file = self.folder / message_id.strip("<>").split("@")[0]
        if not file.exists():
            return Trace()
        return Trace(self._account.add("Sent", file.read_bytes()))

    async def _hang(self, when: str) -> None:
        if self.hang == when:
            print("hanging", flush=True)
            await asyncio.sleep(3600)


class Process:
    """The service and what a test may do to it."""

    def __init__(self, store: Path, outside: Path) -> None:
        self.house = House(personal=MemoryAccount("personal"))
        self.outgoing = Outside(self.house.personal)
        self.outgoing.folder, self.outgoing.swallows, self.outgoing.files_sent = outside, True, True
        self.house.personal.outgoing = self.outgoing
        self.database = Database(store, migrate)
        runner = Runner(self.database, self.house.clock)
        self.journal = SqlJournal(self.database, self.house.clock, runner=runner)
        self.house.service = MailService(
            World(
                CATALOG,
                MemoryAccounts(self.house.personal),
                self.house.policies,
                self.journal,
                self.house.artifacts,
                self.house.clock,
                leases=SqlLeases(self.database, self.house.clock, runner),
                sendings=SqlSendings(self.database),
            )
        )

    async def do(self, command: dict[str, Any]) -> Any:
        """Do what a line says."""
        if "wind" in command:
            self.house.clock.wind(seconds=command["wind"])
            return "ok"
        if "rules" in command:
            self.house.rules(**command["rules"])
            return "ok"
        if "hang" in command:
            self.outgoing.hang = command["hang"]
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
    asyncio.run(serve(Process(Path(sys.argv[1]), Path(sys.argv[2]))))
