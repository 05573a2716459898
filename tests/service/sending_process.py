"""A service in a process of its own that sends: the world outside is a folder, with a file for each mail that left.

    python sending_process.py STORE OUTSIDE

Whichever process looks, Sent holds what is in the folder: the server is one, the processes are many.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from mcp_proton.domain.outgoing import Octets, Submission, Trace
from mcp_proton.services.door.service import MailService
from mcp_proton.services.door.world import World
from mcp_proton.storage.sendings import SqlSendings
from mcp_proton.testing import MemoryAccount, MemoryAccounts, MemoryOutgoing
from tests.service.conftest import CATALOG
from tests.service.sharing_process import SharingProcess, hung

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
            await hung()


class Process(SharingProcess):
    """The service and what a test may do to it."""

    def __init__(self, store: Path, outside: Path) -> None:
        super().__init__(store, MemoryAccount("personal"))
        self.outgoing = Outside(self.house.personal)
        self.outgoing.folder, self.outgoing.swallows, self.outgoing.files_sent = outside, True, True
        self.house.personal.outgoing = self.outgoing
        self.house.service = MailService(
            World(
                CATALOG,
                MemoryAccounts(self.house.personal),
                self.house.policies,
                self.journal,
                self.house.artifacts,
                self.house.clock,
                leases=self.leases,
                sendings=SqlSendings(self.database),
            )
        )

    def hang(self, when: str, at: int | None) -> None:
        self.outgoing.hang = when


if __name__ == "__main__":
    asyncio.run(Process(Path(sys.argv[1]), Path(sys.argv[2])).serve())
