"""A service in a process of its own: reads requests as lines of JSON, answers each with a line. Run by the tests.

    python process.py STORE LOG LETTERS

The account is in memory and alike in every process; each time a message is acted upon, its handle goes into the log.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from mcp_proton.services.acting import batches
from mcp_proton.services.door.service import MailService
from mcp_proton.services.door.world import Settings, World
from mcp_proton.services.operations import exports
from mcp_proton.storage.folders.mail_files import FileMailFiles
from mcp_proton.testing import MemoryAccount, MemoryAccounts
from tests.service.conftest import CATALOG, letter
from tests.service.sharing_process import SharingProcess, hung


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
            await hung()


def furnished(letters: int) -> LoggedAccount:
    """Return an account with so many letters in INBOX: the same handles wherever it is made."""
    account = LoggedAccount("personal")
    for number in range(letters):
        account.add("INBOX", letter(f"Letter {number}", message_id=f"<{number}@example.org>"))
    return account


class Process(SharingProcess):
    """The service and what a test may do to it."""

    def __init__(self, store: Path, log: Path, letters: int, background_from: int = 10**9) -> None:
        super().__init__(store, furnished(letters))
        self.account: LoggedAccount = self.house.personal  # type: ignore[assignment]
        self.account.log = log
        self.house.service = MailService(
            World(
                CATALOG,
                MemoryAccounts(self.account, self.house.work),
                self.house.policies,
                self.journal,
                self.house.artifacts,
                self.house.clock,
                Settings(background_from=background_from, patience=0.05),
                self.leases,
                files=FileMailFiles(*[lambda: [store.parent.parent / "Mail"]] * 2),
            )
        )

    def hang(self, when: str, at: int | None) -> None:
        self.account.hang, self.account.at = when, at


if __name__ == "__main__":
    batches.CHUNK = exports.STEP = 2
    asyncio.run(Process(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), *map(int, sys.argv[4:])).serve())
