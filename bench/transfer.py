"""Mail into files and back: the whole service, journal included, against a raw socket that writes what it reads.

The floor of an export is one FETCH whose answer goes into a file as it comes, the floor of an import one APPEND after the
other. Neither knows a message from the next, looks for doubles, or makes anything durable.
"""

from __future__ import annotations

import asyncio
import itertools
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from mcp_proton.domain.caller import Audience, Caller, Surface
from mcp_proton.domain.operation import Request
from mcp_proton.domain.ports import Page
from mcp_proton.domain.query import All
from mcp_proton.imap import keys
from mcp_proton.imap.backend import ImapBackend
from mcp_proton.policy.reading import PolicyReader
from mcp_proton.services import registry
from mcp_proton.services.service import MailService
from mcp_proton.services.world import World
from mcp_proton.storage.database import Database
from mcp_proton.storage.journal import SqlJournal
from mcp_proton.storage.mail_files import FileMailFiles
from mcp_proton.storage.migrating import migrate
from mcp_proton.testing import FixedClock, FixedPolicy, MemoryAccounts, MemoryArtifacts

from . import places
from .places import Place
from .timing import Figure, medians, ratio

AGENT = Caller("hermes", Audience.AGENT, Surface.TOOL)
CATALOG = registry.load()
RUNS = 5


@asynccontextmanager
async def _served(backend: ImapBackend, folder: Path) -> AsyncIterator[MailService]:
    boundaries = {"export_directories": [str(folder)], "import_directories": [str(folder)]}
    reader = PolicyReader(Path("/"), clients={"hermes"})
    policy = reader.read({"preset": "autonomous", "boundaries": boundaries})
    (folder / "state").mkdir()
    database, clock = Database(folder / "state" / "bench.sqlite3", migrate), FixedClock()
    journal = SqlJournal(database, clock)
    files = FileMailFiles(lambda: [folder], lambda: [folder])
    yield MailService(
        World(CATALOG, MemoryAccounts(backend), FixedPolicy(policy), journal, MemoryArtifacts(), clock, files=files)
    )
    await journal.aclose()
    await database.aclose()


async def _asked(service: MailService, operation: str, /, **arguments: object) -> None:
    request: Request = CATALOG.by_name[operation].request.model_validate(arguments)
    outcome = await service.submit(AGENT, request)
    assert outcome.status == "ok", (outcome.status, outcome.code, outcome.why)


async def exports(place: Place, count: int) -> list[Figure]:
    """Write `count` messages, as EML files and as one mbox, each time into a new export."""
    backend, raw, numbers = place.backend(), place.raw(), itertools.count()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        try:
            async with _served(backend, folder) as service:
                box = await place.box(backend)
                (row,) = (await backend.search([box], All(), Page(1))).rows
                uidvalidity = keys.read(row.handle.key)[0]
                handles = [str(keys.handle(box, uidvalidity, uid)) for uid in range(1, count + 1)]
                raw.command(b"SELECT " + place.mailbox)

                def ours(form: str) -> object:
                    name = f"export {next(numbers)}"
                    return _asked(
                        service, "exports_create", messages=handles, folder=str(folder), name=name, format=form
                    )

                async def floor() -> None:
                    with (folder / f"raw {next(numbers)}").open("wb") as file:
                        await asyncio.to_thread(raw.command, b"UID FETCH 1:%d (BODY.PEEK[])" % count, file)

                mbox, eml, bottom = await medians(RUNS, lambda: ours("mbox"), lambda: ours("eml"), floor)
        finally:
            raw.close()
            await backend.aclose()
    what = f"{place.name}: export of {count}"
    return [
        ratio(f"{what} into an mbox against one raw FETCH into a file", mbox, bottom, 1.5),
        ratio(f"{what} into EML files against one raw FETCH into a file", eml, bottom, 1.5),
    ]


async def imports(place: Place, count: int) -> list[Figure]:
    """Put `count` messages of an mbox into a mailbox, others each time."""
    backend, raw, numbers = place.backend(), place.raw(), itertools.count()
    letters = [one.raw for one in places.letters(count, size=8_000)]
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        try:
            async with _served(backend, folder) as service:

                async def ours() -> None:
                    number = next(numbers)
                    path = folder / f"{number}.mbox"
                    path.write_bytes(_mbox(letters, number))
                    await _asked(service, "imports_create", path=str(path), to="archive")

                async def floor() -> None:
                    number = next(numbers)
                    for letter in letters:
                        await asyncio.to_thread(raw.append, b"Archive", _numbered(letter, number))

                mine, bottom = await medians(3, ours, floor)
        finally:
            raw.close()
            await backend.aclose()
    return [ratio(f"{place.name}: import of {count} against as many raw APPENDs", mine, bottom, 1.5)]


def _numbered(letter: bytes, number: int) -> bytes:
    return letter.replace(b"@bench.example>", b"@%d.bench.example>" % number)


def _mbox(letters: list[bytes], number: int) -> bytes:
    line = b"From me@example.org Mon Nov 30 10:00:00 2026\n"
    return b"".join(line + _numbered(one, number).replace(b"\r\n", b"\n") + b"\n" for one in letters)
