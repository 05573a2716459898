"""Imports into Bridge where its API fails: nothing is lost, doubled unseen, or taken for something else (P-63, B-05, N-16)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mcp_proton.domain.handles import Handle
from mcp_proton.domain.mail import Role
from mcp_proton.simulator import GivenUser, Simulator, WoundClock
from mcp_proton.storage.folders.mail_files import FileMailFiles
from mcp_proton.testing import EPOCH
from tests.contract import worlds

from .bridge_desk import BOB, ME, Desk
from .conftest import letter
from .test_imports import mbox

ITEMS = 3


class Library(Desk):
    """A desk whose owner opened a folder."""

    def __init__(self, simulator: Simulator, backend: Any, folder: Path) -> None:
        super().__init__(simulator, backend, FileMailFiles(lambda: [folder], lambda: [folder]))
        self.rules(preset="autonomous", boundaries={"import_directories": [str(folder)]})
        letters = [letter(f"L{n}", sender="Bob <bob@x.org>", message_id=f"<{n}@x>") for n in range(ITEMS)]
        self.path = mbox(folder / "old.mbox", letters)

    async def bring(self) -> dict[str, Any]:
        return await self.ask("imports_create", path=str(self.path), to="archive")

    async def subjects(self) -> list[str]:
        handles = [Handle.parse(one) for one in await self.held(Role.ARCHIVE)]
        return sorted(row.subject for row in await self.personal.envelopes(handles))


@pytest.fixture
async def library(tmp_path: Path) -> Any:
    users = [GivenUser("alice", [ME]), GivenUser("bob", [BOB])]
    clock = WoundClock(EPOCH.timestamp())
    async with Simulator(users=users, certificate=worlds.CERTIFICATE, clock=clock) as simulator:
        backend = worlds.bridge_backend(simulator)
        try:
            yield Library(simulator, backend, tmp_path)
        finally:
            await backend.aclose()


async def items(library: Library, told: dict[str, Any]) -> list[dict[str, Any]]:
    asked = await library.ask("operations_status", operation_id=told["operation_id"], items=True)
    return list(asked["items"])


@pytest.mark.parametrize("mode", ["", "after", "drop"])
@pytest.mark.parametrize("skip", [0, 1])
async def test_one_that_fails_is_known_in_the_end_and_asking_again_brings_the_rest(
    library: Library, mode: Any, skip: int
) -> None:
    """Refused; done and then refused; broken off (Bridge tries again by itself)."""
    library.sim.faults.fail_api("/messages/import", mode=mode, status=500, skip=skip)
    told = await library.bring()
    await library.wind(120)
    first = await items(library, told)
    assert {one["fate"] for one in first} <= {"done", "failed", "skipped"}, "nothing stays uncertain"
    subjects = await library.subjects()
    assert len(subjects) == len(set(subjects)), "nothing is doubled"
    done = [one for one in first if one["fate"] == "done"]
    assert len(done) == len(subjects)
    again = await library.bring()
    await library.wind(120)
    assert again["status"] == "ok", again
    assert await library.subjects() == [f"L{number}" for number in range(ITEMS)]


async def test_what_bridge_made_two_of_by_itself_is_told_and_left_to_the_owner(library: Library) -> None:
    """B-05: done, the answer lost, done again by Bridge's own retry, and one OK."""
    library.sim.faults.fail_api("/messages/import", mode="after-drop")
    told = await library.bring()
    assert told["status"] == "ok"
    await library.wind(120)
    (doubled,) = [one for one in await items(library, told) if one.get("code") == "doubled"]
    assert "the other one is" in doubled["why"]
    assert len(await library.subjects()) == ITEMS + 1
    again = await library.bring()
    assert (again.get("done", 0), again["already"]) == (0, ITEMS)


async def test_a_text_that_equals_mail_just_sent_is_not_imported(library: Library, tmp_path: Path) -> None:
    """B-05: Bridge would move the sent mail, and throw the text away."""
    library.rules(
        preset="autonomous", boundaries={"import_directories": [str(tmp_path)], "recipients": ["@proton.local"]}
    )
    sent = await library.ask("mail_send", **{"from": ME, "to": [BOB], "subject": "Report", "text": "Here it is."})
    assert sent["status"] == "ok", sent
    await library.wind(40)
    (handle,) = await library.held(Role.SENT)
    same = (
        f"From: <{ME}>\r\nTo: <{BOB}>\r\nSubject: Report\r\nMessage-ID: <other@x>\r\n"
        "Date: Mon, 30 Nov 2026 10:00:00 +0000\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nHere it is.\r\n"
    )
    (tmp_path / "sent.eml").write_bytes(same.encode())
    told = await library.ask("imports_create", path=str(tmp_path / "sent.eml"), to="archive")
    assert (told["status"], told["not_done"][0]["code"]) == ("not_done", "already_there"), told
    await library.wind(120)
    assert await library.held(Role.SENT) == [handle]
    assert await library.held(Role.ARCHIVE) == []
