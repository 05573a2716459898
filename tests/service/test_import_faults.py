"""The fault matrix of importing: every append × every fault, full disks, and SIGKILL (P-63, N-16, A-93).

Whatever goes wrong: nothing is imported twice, what is not there is told, and asking again brings the rest.
"""

from __future__ import annotations

import itertools
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mcp_proton.domain.caller import owner
from mcp_proton.domain.outcome import Ending, Status
from mcp_proton.services.acting import batches
from mcp_proton.services.transferring import bringing
from mcp_proton.storage.folders.mail_files import FileMailFiles

from .conftest import letter
from .faults import Fault, Killed
from .process import Process
from .test_faults import Site, settle
from .test_imports import allow, mbox

ITEMS = 5
FAULTS = [
    Fault(kind, when, item)
    for kind, when in (
        *itertools.product(("no", "lost", "bye", "killed", "fault"), ("before", "after")),
        ("timeout", "after"),
    )
    for item in (0, 1, 4)
]
DISK = [("open", 0), ("begin", 0), ("begin", 1), ("note", 0), ("advance", 0)]


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    monkeypatch.setattr(batches, "CHUNK", 2)
    monkeypatch.setattr(bringing, "SETTLED", 60.0)
    folder = tmp_path / "Mail"
    folder.mkdir()
    mbox(folder / "old.mbox", [letter(f"L{number}", message_id=f"<{number}@x>") for number in range(ITEMS)])
    site = Site(files=FileMailFiles(imports=lambda: [folder]))
    allow(site, folder)
    return site


async def bring(site: Site, tmp_path: Path) -> dict[str, Any]:
    return await site.ask("imports_create", path=str(tmp_path / "Mail" / "old.mbox"), to="archive")


def there(site: Site) -> list[str]:
    return sorted(
        one.mail.raw.split(b"Subject: ")[1].split(b"\r")[0].decode()
        for one in site.account.boxes["Archive"].mail.values()
    )


async def later(site: Site) -> None:
    """The next process starts, some minutes later."""
    site.clock.wind(minutes=2)
    await settle(site)
    site.clock.wind(minutes=2)
    for record in await site.journal.recent(owner()):
        await site.service.settled(record)


async def check(site: Site, tmp_path: Path) -> None:
    """The laws."""
    known = there(site)
    assert len(known) == len(set(known)), "doubled"
    for record in await site.journal.recent(owner()):
        assert record.status is not Status.EXECUTING
        fates = {one.handle: one for one in await site.journal.fates(record.id)}
        assert not [one for one in fates.values() if one.ending is Ending.UNCERTAIN], "looking settles it"
        done = {
            f"L{int(one.handle.key.removeprefix('import-')) - 1}" for one in fates.values() if one.ending is Ending.DONE
        }
        assert done == set(known), "the journal explains what is there"
    again = await bring(site, tmp_path)
    assert again["status"] == "ok", again
    assert there(site) == [f"L{number}" for number in range(ITEMS)], "lost or doubled"
    await check_taken_back(site)


async def check_taken_back(site: Site) -> None:
    """P-76: however it came there, in one run or in two, all of it goes into Trash, once."""
    for record in await site.journal.recent(owner()):
        await site.ask("operations_undo", operation_id=record.id)
    assert there(site) == [], "what was put there goes"
    assert len(site.account.boxes["Trash"].mail) == ITEMS, "lost or doubled"


@pytest.mark.parametrize("fault", FAULTS, ids=str)
async def test_every_append(site: Site, tmp_path: Path, fault: Fault) -> None:
    """33 cells."""
    site.account.fault = fault
    try:
        told = await bring(site, tmp_path)
    except Killed:
        told = {"status": "killed"}
    site.account.fault = None
    assert told["status"] != "ok"
    await later(site)
    await check(site, tmp_path)


@pytest.mark.parametrize("full_at", DISK, ids=lambda one: f"{one[0]}-{one[1]}")
async def test_a_full_disk(site: Site, tmp_path: Path, full_at: tuple[str, int]) -> None:
    site.journal.full_at = full_at
    told = await bring(site, tmp_path)
    begun = {("open", 0): 0, ("begin", 0): 0, ("begin", 1): 2}.get(full_at, ITEMS)
    assert len(there(site)) == begun
    if begun == 0:
        assert (told["status"], told["code"]) == ("unavailable", "storage_unavailable")
    await later(site)
    await check(site, tmp_path)


@pytest.mark.process
@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_killed_import_goes_on_in_the_next_process_and_doubles_nothing(
    tmp_path: Path, when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A-94: SIGKILL in the middle of an append; the next process looks, waits until the server would show it, goes on."""
    monkeypatch.setattr(batches, "CHUNK", 2)
    monkeypatch.setattr(bringing, "SETTLED", 0.0)
    store = tmp_path / "state" / "store.sqlite3"
    store.parent.mkdir(mode=0o700)
    (tmp_path / "Mail").mkdir()
    log = tmp_path / "log"
    log.touch()
    mbox(tmp_path / "Mail" / "old.mbox", [letter(f"L{number}", message_id=f"<{number}@x>") for number in range(6)])
    rules = {"preset": "autonomous", "boundaries": {"import_directories": [str(tmp_path / "Mail")]}}
    command = [sys.executable, str(Path(__file__).with_name("process.py")), str(store), str(log), "0", "4"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        asked = {"ask": "imports_create", "with": {"path": str(tmp_path / "Mail" / "old.mbox"), "to": "archive"}}
        for line in ({"rules": rules}, {"hang": when, "at": 3}, asked):
            child.stdin.write(json.dumps(line) + "\n")
        child.stdin.flush()
        lines = [child.stdout.readline().strip() for _ in range(4)]
        assert "hanging" in lines
        child.send_signal(signal.SIGKILL)

    process = Process(store, log, 0, 4)
    process.house.rules(**rules)
    stored = 3 if when == "before" else 4
    for number in range(stored):  # what the dead process did to the mailbox
        process.account.add("Archive", letter(f"L{number}", message_id=f"<{number}@x>"))
    await process.house.service._recovery.all()
    for task in list(process.house.service._performing.running.values()):
        await task
    (record,) = await process.journal.recent(process.house.agent)
    assert record.status is Status.SUCCEEDED
    found = [one.mail.raw.split(b"Subject: ")[1][:2] for one in process.account.boxes["Archive"].mail.values()]
    assert sorted(found) == [f"L{number}".encode() for number in range(6)]
    await process.aclose()
