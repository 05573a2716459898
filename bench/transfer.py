"""Mail into files and back: the whole service, journal included, against a raw socket that writes what it reads.

The floor: of an export one FETCH of all bodies whose answer goes into one file as it comes, of an import one APPEND after
the other. Neither knows a message from the next, asks for dates and flags, looks for doubles, or makes anything durable.
The goal of an export is set where mail comes as fast as Bridge serves it (docs/decisions/012); at servers that answer from
memory the same ratio says how fast octets can be copied. Beside them stands what of that a careful script would have to do as
well: the same FETCH with its file made durable; the same into as many files, each durable; on Bridge's engine each APPEND
looked at, as our recipe does.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import tempfile
from collections.abc import AsyncIterator, Awaitable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from mcp_proton.domain.caller import Audience, Caller, Surface
from mcp_proton.domain.operation import Request
from mcp_proton.domain.ports import Page
from mcp_proton.domain.query import All
from mcp_proton.imap import keys
from mcp_proton.imap.backend import ImapBackend
from mcp_proton.policy.reading import PolicyReader
from mcp_proton.services.door import registry
from mcp_proton.services.door.service import MailService
from mcp_proton.services.door.world import World
from mcp_proton.storage.database import Database
from mcp_proton.storage.folders.mail_files import FileMailFiles
from mcp_proton.storage.journals.journal import SqlJournal
from mcp_proton.storage.migrating import migrate
from mcp_proton.testing import FixedClock, FixedPolicy, MemoryAccounts, MemoryArtifacts

from . import places
from .places import Place
from .raw import RawClient
from .timing import Figure, beside, medians, ratio

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


async def exports(place: Place, count: int, sizes: str, *, goal: bool = False) -> list[Figure]:
    """Write `count` messages, as EML files and as one mbox, each time into a new export. `sizes`: in words."""
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
                octets = raw.command(b"UID FETCH 1:%d (BODY.PEEK[])" % count) // count

                def ours(form: str) -> Awaitable[object]:
                    name = f"export {next(numbers)}"
                    return _asked(
                        service, "exports_create", messages=handles, folder=str(folder), name=name, format=form
                    )

                def fetched(*, durable: bool) -> None:
                    with (folder / f"raw {next(numbers)}").open("wb") as file:
                        raw.command(b"UID FETCH 1:%d (BODY.PEEK[])" % count, file)
                        if durable:
                            os.fsync(file.fileno())

                mbox, eml, bottom, durable, files = await medians(
                    RUNS,
                    lambda: ours("mbox"),
                    lambda: ours("eml"),
                    lambda: asyncio.to_thread(fetched, durable=False),
                    lambda: asyncio.to_thread(fetched, durable=True),
                    lambda: asyncio.to_thread(_as_many_files, raw, count, octets, folder / f"files {next(numbers)}"),
                )
        finally:
            raw.close()
            await backend.aclose()
    what = f"{place.name}: export of {count} {sizes}"
    against = partial(ratio, most=1.5) if goal else beside
    return [
        against(f"{what} into an mbox against one raw FETCH into a file", mbox, bottom),
        beside(f"{what} into an mbox against the same, the file made durable", mbox, durable),
        against(f"{what} into EML files against one raw FETCH into a file", eml, bottom),
        beside(f"{what} into EML files against the same, as many files made durable", eml, files),
    ]


def _as_many_files(raw: RawClient, count: int, octets: int, folder: Path) -> None:
    """FETCH, and as many files of the average size: what a disk takes for that, whoever writes."""
    raw.command(b"UID FETCH 1:%d (BODY.PEEK[])" % count)
    folder.mkdir()
    text = bytes(octets)
    files = []
    for number in range(count):
        file = os.open(folder / str(number), os.O_CREAT | os.O_WRONLY)
        os.write(file, text)
        files.append(file)
    with ThreadPoolExecutor(16) as several:
        list(several.map(os.fsync, files))
    for file in files:
        os.close(file)


async def imports(place: Place, count: int, *, looks: bool = False) -> list[Figure]:
    """Put `count` messages of an mbox into a mailbox, others each time. `looks`: each is looked at, as on Bridge."""
    backend, raw, numbers = place.backend(), place.raw(), itertools.count()
    letters = [one.raw for one in places.letters(count, size=8_000)]
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        try:
            async with _served(backend, folder) as service:
                raw.command(b"SELECT Archive")

                async def ours() -> None:
                    number = next(numbers)
                    path = folder / f"{number}.mbox"
                    path.write_bytes(_mbox(letters, number))
                    await _asked(service, "imports_create", path=str(path), to="archive")

                def appended(*, looked_at: bool) -> None:
                    number = next(numbers)
                    for letter in letters:
                        answer = raw.append(b"Archive", _numbered(letter, number))
                        uid = answer.partition(b"APPENDUID ")[2].split(b"]")[0].split()[-1]
                        if looked_at:
                            raw.command(b"NOOP")
                            raw.command(b"UID FETCH %b (ENVELOPE)" % uid)

                mine, bottom, careful = await medians(
                    3,
                    ours,
                    lambda: asyncio.to_thread(appended, looked_at=False),
                    lambda: asyncio.to_thread(appended, looked_at=looks),
                )
        finally:
            raw.close()
            await backend.aclose()
    what = f"{place.name}: import of {count} against as many raw APPENDs"
    if looks:
        return [beside(what, mine, bottom), beside(f"{what}, each looked at", mine, careful)]
    return [ratio(what, mine, bottom, 1.5)]


def _numbered(letter: bytes, number: int) -> bytes:
    return letter.replace(b"@bench.example>", b"@%d.bench.example>" % number)


def _mbox(letters: list[bytes], number: int) -> bytes:
    line = b"From me@example.org Mon Nov 30 10:00:00 2026\n"
    return b"".join(line + _numbered(one, number).replace(b"\r\n", b"\n") + b"\n" for one in letters)
