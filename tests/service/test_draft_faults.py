"""The fault matrix of drafting: every step × every fault, full disks and SIGKILL (P-59, N-16, A-93).

Whatever goes wrong: one whole draft at least is there, the journal says which, two are there only where it names both, and
nothing is done twice.
"""

from __future__ import annotations

import itertools
import json
import signal
import subprocess
import sys
from email import message_from_bytes, policy
from pathlib import Path
from typing import Any

import pytest

from mcp_proton.domain.caller import owner
from mcp_proton.domain.outcome import Ending, Status

from .faults import Fault, Killed
from .process import Process
from .test_faults import Site, settle

FAULTS = [
    Fault(kind, when, step)
    for kind, when in (
        *itertools.product(("no", "lost", "bye", "killed", "fault"), ("before", "after")),
        ("timeout", "after"),
    )
    for step in (0, 1)
]
DISK = [("open", 0), ("begin", 0), ("note", 0), ("advance", 0)]
LETTER = {"to": ["anna@example.org"], "subject": "Lunch", "text": "At noon?", "html": "<p>At noon?</p>"}


@pytest.fixture
def site() -> Site:
    return Site()


def drafts(site: Site) -> dict[str, str]:
    """Return subjects by handle; every one must be whole."""
    found = {}
    box = site.account.boxes["Drafts"]
    for uid, one in box.mail.items():
        mail = message_from_bytes(one.mail.raw, policy=policy.default)
        page = mail.get_body(("html",))
        assert page is not None
        assert "At noon?" in page.get_content()
        found[f"personal.{box.mailbox.tag}.{box.generation}-{uid}"] = mail["Subject"]
    return found


async def later(site: Site) -> None:
    site.clock.wind(minutes=3)
    await settle(site)
    site.clock.wind(minutes=3)
    for record in await site.journal.recent(owner()):
        await site.service.settled(record)


async def check(site: Site, told: dict[str, Any], draft: dict[str, Any] | None) -> None:
    """The laws."""
    found = drafts(site)
    records = [one for one in await site.journal.recent(owner()) if one.operation != "drafts_create" or draft is None]
    named: set[str] = set()
    for record in records:
        assert record.status is not Status.EXECUTING
        for fate in await site.journal.fates(record.id):
            assert fate.ending is not Ending.UNCERTAIN, "looking settles it"
            if fate.now is not None:
                named.add(str(fate.now))
            if fate.ending is Ending.DONE:
                assert str(fate.now) in found
            elif draft is not None:
                assert draft["draft"] in found, "what failed left the draft as it was"
    if draft is None:
        assert len(found) <= 1
        assert set(found) <= named | ({told["draft"]} if told.get("draft") else set())
    else:
        assert found, "one whole draft at least"
        assert len(found) <= 2
        assert set(found) - {draft["draft"]} <= named | ({told["draft"]} if told.get("draft") else set()), (
            "both are named"
        )
        if told["status"] == "ok":
            assert list(found.values()) == ["Dinner"]
    assert site.account.acted["append"] <= 1


@pytest.mark.parametrize("fault", FAULTS, ids=str)
@pytest.mark.parametrize("changing", [False, True], ids=["create", "update"])
async def test_every_step(site: Site, fault: Fault, changing: bool) -> None:
    """44 cells: step 0 stores the new version, step 1 removes the old one."""
    draft = await site.ask("drafts_create", **LETTER) if changing else None
    site.account.acted.clear()
    site.account.chunks, site.account.fault = 0, fault
    try:
        if draft is None:
            told = await site.ask("drafts_create", **LETTER)
        else:
            told = await site.ask("drafts_update", draft=draft["draft"], digest=draft["digest"], subject="Dinner")
    except Killed:
        told = {"status": "killed"}
    site.account.fault = None
    assert (told["status"] == "ok") == (draft is None and fault.chunk == 1), "the fault struck"
    await later(site)
    await check(site, told, draft)


@pytest.mark.parametrize("full_at", DISK, ids=lambda one: f"{one[0]}-{one[1]}")
async def test_a_full_disk(site: Site, full_at: tuple[str, int]) -> None:
    draft = await site.ask("drafts_create", **LETTER)
    site.account.acted.clear()
    site.journal.calls.clear()
    site.journal.full_at = full_at
    told = await site.ask("drafts_update", draft=draft["draft"], digest=draft["digest"], subject="Dinner")
    if full_at[0] in ("open", "begin"):
        assert (told["status"], told["code"]) == ("unavailable", "storage_unavailable")
        assert drafts(site) == {draft["draft"]: "Lunch"}
    await later(site)
    await check(site, told, draft)


@pytest.mark.process
@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_process_killed_while_it_stores_a_version_leaves_a_whole_draft_and_says_which(
    tmp_path: Path, when: str
) -> None:
    """A-94: SIGKILL in the middle of the append; the next process looks."""
    store = tmp_path / "state" / "store.sqlite3"
    store.parent.mkdir(mode=0o700)
    log = tmp_path / "log"
    log.touch()
    command = [sys.executable, str(Path(__file__).with_name("process.py")), str(store), str(log), "0"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdin is not None
        assert child.stdout is not None

        def send(**command: Any) -> None:
            assert child.stdin is not None
            child.stdin.write(json.dumps(command) + "\n")
            child.stdin.flush()

        def line() -> str:
            assert child.stdout is not None
            return child.stdout.readline().strip()

        send(ask="drafts_create", **{"with": LETTER})
        told = json.loads(line())
        send(hang=when, at=1)
        line()
        send(ask="drafts_update", **{"with": {"draft": told["draft"], "digest": told["digest"], "subject": "Dinner"}})
        assert line() == "hanging"
        child.send_signal(signal.SIGKILL)

    process = Process(store, log, 0)
    (record, _) = await process.journal.recent(process.house.agent)
    (fate,) = await process.journal.fates(record.id)
    assert fate.identity is not None
    old = letter_of("Lunch", "<old@example.org>")
    process.account.add("Drafts", old, flags=frozenset({"draft"}))
    if when == "after":
        process.account.add("Drafts", letter_of("Dinner", fate.identity), flags=frozenset({"draft"}))
    process.house.clock.wind(minutes=3)
    status = {}
    for _ in range(2):
        asked = {"operation_id": record.id, "items": True}
        status = await process.do({"ask": "operations_status", "with": asked})
        process.house.clock.wind(minutes=3)
    (item,) = status["items"]
    assert (status["state"], item["code"]) == ("failed", "not_done" if when == "before" else "old_kept")
    assert ("now" in item) == (when == "after")
    await process.aclose()


def letter_of(subject: str, message_id: str) -> bytes:
    return (
        f"From: personal@example.org\r\nTo: anna@example.org\r\nSubject: {subject}\r\nMessage-ID: {message_id}\r\n"
        "Content-Type: text/html\r\n\r\n<p>At noon?</p>\r\n"
    ).encode()
