"""The fault matrix of exporting: every write to the disk × full disk, killed; the account failing (P-63, N-16).

Whatever goes wrong: the manifest names only what is there, asking again completes the export, and nothing is in it twice.
"""

from __future__ import annotations

import errno
import json
import mailbox
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcp_proton.domain.caller import owner
from mcp_proton.domain.errors import Unavailable
from mcp_proton.domain.outcome import Ending, Status
from mcp_proton.domain.ports import Page
from mcp_proton.domain.query import All
from mcp_proton.services.operations import exports
from mcp_proton.storage.folders import mail_writing
from mcp_proton.storage.folders.mail_files import FileMailFiles

from .conftest import House
from .faults import Killed
from .process import Process
from .test_exports import allow, manifest, raw, tree
from .test_faults import Site, settle

CALLS = ("write", "fsync", "replace", "link", "unlink", "ftruncate", "mkdir")
ITEMS = 5


class Disk:
    """The system's calls that write: the so-manieth fails, or is the last thing the process does."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, kind: str, at: int, die: Callable[[], None]) -> None:
        self.kind, self.at, self.count, self.dead, self.die = kind, at, 0, False, die
        for name in CALLS:
            monkeypatch.setattr(os, name, self.failing(getattr(os, name)))

    def failing(self, real: Any) -> Any:
        def call(*args: Any, **more: Any) -> Any:
            if self.dead:
                raise Killed
            self.count += 1
            if self.count == self.at:
                if self.kind == "killed":
                    self.dead = True
                    self.die()
                    raise Killed
                if self.kind == "half" and real.__name__ == "write":
                    real(args[0], bytes(args[1])[: len(args[1]) // 2])
                raise OSError(errno.ENOSPC, "No space left on device")
            return real(*args, **more)

        return call


def furnish(tmp_path: Path, form: str) -> tuple[Site, Path, dict[str, Any]]:
    folder = tmp_path / "Mail"
    folder.mkdir()
    house = Site(files=FileMailFiles(exports=lambda: [folder]))
    allow(house, folder)
    handles = [str(house.receive(f"L{number}", "text\nFrom me", message_id=f"<{number}@x>")) for number in range(ITEMS)]
    return house, folder, {"messages": handles, "folder": str(folder), "name": "all", "format": form}


def check(house: House, folder: Path, asked: dict[str, Any]) -> None:
    """What the manifest names is there, whole."""
    path = folder / "all.manifest.jsonl"
    if not path.exists():
        return
    head, *lines = path.read_bytes().split(b"\n")
    assert not head or head.startswith(b'{"manifest":1')
    for line in manifest_lines(lines):
        if asked["format"] == "eml":
            assert (folder / "all" / line["file"]).read_bytes() == raw(house, line["handle"])
        else:
            name = "all.mbox" if (folder / "all.mbox").exists() else "all.mbox.part"
            assert (folder / name).stat().st_size >= line.get("at", 0) + line["length"]


def manifest_lines(lines: list[bytes]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines[:-1] if line]


@pytest.mark.parametrize("kind", ["full", "half", "killed"])
@pytest.mark.parametrize("form", ["eml", "mbox"])
async def test_every_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, kind: str) -> None:
    """Some 250 cells."""
    monkeypatch.setattr(exports, "STEP", 2)
    for at in range(1, 200):
        place = tmp_path / str(at)
        place.mkdir()
        house, folder, asked = furnish(place, form)
        with monkeypatch.context() as patching:
            disk = Disk(patching, kind, at, house.journal.die)
            try:
                told = await house.ask("exports_create", **asked)
            except Killed:
                told = {"status": "killed"}
        check(house, folder, asked)
        if disk.count < at:
            assert told["status"] == "ok"
            return
        assert told["status"] != "ok" or kind != "killed"
        await settle(house)
        for record in await house.journal.recent(owner()):
            assert record.status is not Status.EXECUTING
            ends = await house.journal.fates(record.id)
            assert not [one for one in ends if one.ending is Ending.UNCERTAIN]
        again = await house.ask("exports_create", **asked)
        assert again["status"] == "ok", again
        assert again.get("done", 0) + again.get("already", 0) == ITEMS
        complete(house, folder, again, asked)
    pytest.fail("there is no end to the writes")


@pytest.mark.parametrize("form", ["eml", "mbox"])
async def test_a_disk_that_fails_between_two_groups_of_one_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """Some 100 cells: what was written and not noted is cut back before anything follows it."""
    monkeypatch.setattr(exports, "STEP", 3)
    monkeypatch.setattr(mail_writing, "MOST_TOGETHER", 1)
    for at in range(1, 200):
        place = tmp_path / str(at)
        place.mkdir()
        house, folder, asked = furnish(place, form)
        with monkeypatch.context() as patching:
            disk = Disk(patching, "full", at, house.journal.die)
            told = await house.ask("exports_create", **asked)
        check(house, folder, asked)
        if disk.count < at:
            return
        if told.get("done"):
            assert told["done"] == len(manifest_lines((folder / "all.manifest.jsonl").read_bytes().split(b"\n")[1:]))
        again = await house.ask("exports_create", **asked)
        assert again["status"] == "ok", (at, again)
        assert again.get("already", 0) >= told.get("done", 0), (at, told, again)
        complete(house, folder, again, asked)
    pytest.fail("there is no end to the writes")


def complete(house: House, folder: Path, told: dict[str, Any], asked: dict[str, Any]) -> None:
    """Everything once, nothing else."""
    assert sorted(line["handle"] for line in manifest(told)) == sorted(asked["messages"])
    if asked["format"] == "eml":
        found = sorted(content for name, content in tree(folder).items() if name.endswith(".eml"))
        assert found == sorted(raw(house, one) for one in asked["messages"])
        assert not [name for name in tree(folder) if name.endswith(".part")]
    else:
        box = mailbox.mbox(told["path"])
        assert sorted(message["Subject"] for message in box) == [f"L{number}" for number in range(ITEMS)]
        box.close()
        assert sorted(tree(folder)) == ["all.manifest.jsonl", "all.mbox"]


@pytest.mark.parametrize("form", ["eml", "mbox"])
@pytest.mark.parametrize("at", range(ITEMS + 1))
async def test_a_connection_that_is_lost_after_so_many_messages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, at: int
) -> None:
    house, folder, asked = furnish(tmp_path, form)
    whole = house.personal.whole

    async def losing(handles: Any) -> Any:
        count = 0
        async for one in whole(handles):
            if count == at:
                raise Unavailable("the connection was lost")
            count += 1
            yield one

    with monkeypatch.context() as patching:
        patching.setattr(house.personal, "whole", losing)
        told = await house.ask("exports_create", **asked)
    assert told.get("done", 0) == at
    if 0 < at < ITEMS:
        assert {one["code"] for one in told["not_done"]} == {"service_unavailable"}
        assert told["status"] == "partly_done"
    again = await house.ask("exports_create", **asked)
    assert (again["status"], again.get("already", 0)) == ("ok", at)
    complete(house, folder, again, asked)


@pytest.mark.process
async def test_a_killed_export_goes_on_in_the_next_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A-94, P-62: SIGKILL in the third of four steps; nothing is missing, nothing is written twice."""
    monkeypatch.setattr(exports, "STEP", 2)
    store = tmp_path / "state" / "store.sqlite3"
    store.parent.mkdir(mode=0o700)
    folder = tmp_path / "Mail"
    folder.mkdir()
    log = tmp_path / "log"
    log.touch()
    rules = {"preset": "autonomous", "boundaries": {"export_directories": [str(folder)]}}
    process = Process(store, log, 8, 4)
    handles = [str(one.handle) for one in await everything_in(process)]
    command = [sys.executable, str(Path(__file__).with_name("process.py")), str(store), str(log), "8", "4"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        asked = {"messages": handles, "folder": str(folder), "name": "all", "format": "mbox"}
        for line in ({"rules": rules}, {"hang": "whole", "at": 2}, {"ask": "exports_create", "with": asked}):
            child.stdin.write(json.dumps(line) + "\n")
        child.stdin.flush()
        lines = [child.stdout.readline().strip() for _ in range(4)]
        assert "hanging" in lines
        child.send_signal(signal.SIGKILL)
    assert (folder / "all.mbox.part").exists()

    process.house.rules(**rules)
    await process.house.service._recovery.all()
    for task in list(process.house.service._performing.running.values()):
        await task
    (record,) = await process.journal.recent(process.house.agent)
    assert record.status is Status.SUCCEEDED
    box = mailbox.mbox(folder / "all.mbox")
    assert sorted(str(message["Subject"]) for message in box) == [f"Letter {number}" for number in range(8)]
    box.close()
    assert sorted(one.name for one in folder.iterdir()) == ["all.manifest.jsonl", "all.mbox"]
    await process.aclose()


async def everything_in(process: Process) -> Any:
    box = process.account.boxes["INBOX"].mailbox
    return (await process.account.search([box], All(), Page(100))).rows
