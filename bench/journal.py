"""What a long memory costs: a decision and a record in a journal of 1,000,000 operations, against one of 100."""

from __future__ import annotations

import asyncio
import itertools
import sqlite3
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from mcp_proton.domain.caller import Audience, Caller, Surface
from mcp_proton.policy.reading import PolicyReader
from mcp_proton.services.door import registry
from mcp_proton.services.door.service import MailService
from mcp_proton.services.door.world import World
from mcp_proton.services.operations.filing import MessagesArchive
from mcp_proton.services.operations.journal import OperationsList, OperationsStatus
from mcp_proton.storage.database import Database
from mcp_proton.storage.journals.journal import SqlJournal
from mcp_proton.storage.migrating import migrate
from mcp_proton.testing import FixedClock, FixedPolicy, MemoryAccount, MemoryAccounts, MemoryArtifacts

from .timing import Figure, medians, ratio

FEW, MANY, RUNS = 100, 1_000_000, 30
AGENT = Caller("hermes", Audience.AGENT, Surface.TOOL)
RULES = {
    "preset": "custom",
    "custom": {"organize": "ask"},
    "boundaries": {"rates": {"organize": "10000000/hour"}},
}
LETTER = b"From: Anna <anna@example.org>\r\nSubject: Hello\r\nMessage-ID: <one@example.org>\r\n\r\nHello.\r\n"


def measure() -> list[Figure]:
    """Measure deciding, listing and looking up."""
    return asyncio.run(_measured())


async def _measured() -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        async with _house(Path(folder) / "few", FEW) as few, _house(Path(folder) / "many", MANY) as many:
            figures = []
            for what, request in _REQUESTS.items():
                short, long = await medians(RUNS, lambda r=request: few(r), lambda r=request: many(r))  # type: ignore[misc]
                figures.append(ratio(f"{what}: {MANY} operations in the journal against {FEW}", long, short, 2.0))
            return figures


_REQUESTS = {
    "a decision that asks, with a limit per hour": "ask",
    "the list of the latest operations": "list",
    "where an operation stands": "status",
}


@asynccontextmanager
async def _house(folder: Path, rows: int) -> AsyncIterator[Callable[[str], Awaitable[object]]]:
    folder.mkdir(mode=0o700)
    store = folder / "store.sqlite3"
    clock = FixedClock()
    account = MemoryAccount("personal")
    handle = str(account.add("INBOX", LETTER))
    database = Database(store, migrate)
    journal = SqlJournal(database, clock)
    policy = PolicyReader(Path("/"), clients={"hermes"}).read(RULES)
    world = World(registry.load(), MemoryAccounts(account), FixedPolicy(policy), journal, MemoryArtifacts(), clock)
    service = MailService(world)
    told = await service.submit(AGENT, MessagesArchive(messages=(handle,)))
    assert told.operation_id is not None, told
    await asyncio.to_thread(_fill, store, rows)

    async def ask(what: str) -> None:
        match what:
            case "ask":
                answer = await service.submit(AGENT, MessagesArchive(messages=(handle,)))
                assert answer.status == "approval_pending", answer
            case "list":
                assert (await service.submit(AGENT, OperationsList())).status == "ok"
            case _:
                request = OperationsStatus(operation_id=str(told.operation_id))
                assert (await service.submit(AGENT, request)).status == "approval_pending"

    try:
        yield ask
    finally:
        await service.aclose()
        await journal.aclose()
        await database.aclose()


def _fill(store: Path, rows: int) -> None:
    """Copy the first operation so many times, done a day ago and more, as a year of use leaves them."""
    with sqlite3.connect(store) as connection:
        columns = [row[1] for row in connection.execute("PRAGMA table_info(records)")]
        first = dict(zip(columns, connection.execute("SELECT * FROM records").fetchone(), strict=True))
        day = 86_400_000_000
        names = [name for name in columns if name != "seq"]
        copies = (
            tuple(
                (
                    first
                    | {"id": f"op_{number:016x}", "status": "succeeded", "created": first["created"] - day - number}
                )[name]
                for name in names
            )
            for number in range(rows)
        )
        marks = ",".join("?" * len(names))
        for some in iter(lambda: list(itertools.islice(copies, 50_000)), []):
            connection.executemany(f"INSERT INTO records ({','.join(names)}) VALUES ({marks})", some)
        connection.execute(
            "INSERT INTO uses (record, effect, created, client, account, units) "
            "SELECT id, 'organize', created, caller, 'personal', 1 FROM records WHERE status = 'succeeded'"
        )


if __name__ == "__main__":
    began = time.monotonic()
    for figure in measure():
        print(figure, f"{time.monotonic() - began:.0f} s")
