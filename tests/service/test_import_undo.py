"""An import is taken back on every kind of account, by the recipe of its server (P-76, N-16)."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mcp_proton.domain.mail import Role
from mcp_proton.domain.ports import MailBackend, Page
from mcp_proton.domain.query import All
from mcp_proton.services.door.service import MailService
from mcp_proton.storage.folders.mail_files import FileMailFiles
from tests.contract import worlds

from .bridge_desk import on_bridge
from .conftest import House, letter
from .jmap_house import jmap_house
from .test_imports import mbox, undone

if TYPE_CHECKING:
    from tests.servers.account import Account

ITEMS = 3


async def subjects(backend: MailBackend, role: Role) -> list[str]:
    box = next(one for one in await backend.mailboxes() if one.role is role)
    return sorted(row.subject for row in (await backend.search([box], All(), Page(100))).rows)


async def imported_and_taken_back(house: House, folder: Path, to: Role) -> dict[str, Any]:
    """Import into a mailbox that holds one of the messages already, and take that back."""
    files = FileMailFiles(exports=lambda: [folder], imports=lambda: [folder])
    house.service = MailService(dataclasses.replace(house.service.world, files=files))
    house.rules(preset="autonomous", boundaries={"import_directories": [str(folder)]})
    letters = [letter(f"L{number}", message_id=f"<{number}@x>") for number in range(ITEMS)]
    before = await house.ask("imports_create", path=str(mbox(folder / "before.mbox", letters[:1])), to=to.value)
    assert before["done"] == 1, before
    told = await house.ask("imports_create", path=str(mbox(folder / "old.mbox", letters)), to=to.value)
    assert (told["done"], told["already"]) == (ITEMS - 1, 1), told
    back = await undone(house, told)
    assert (back["status"], back["done"]) == ("ok", ITEMS - 1), back
    assert await subjects(house.personal, to) == ["L0"]
    assert await subjects(house.personal, Role.TRASH) == ["L1", "L2"]
    return back


@pytest.mark.parametrize("to", [Role.ARCHIVE, Role.INBOX])
async def test_on_bridge(tmp_path: Path, to: Role) -> None:
    async with on_bridge() as desk:
        back = await imported_and_taken_back(desk, tmp_path, to)
        await desk.wind(120)
        standing = await desk.now(back)
        assert (standing["state"], standing["proof"]) == ("succeeded", "seen")


@pytest.mark.parametrize("fault", ["", "after", "drop"])
async def test_on_bridge_a_step_that_fails_is_known_in_the_end_and_never_done_twice(tmp_path: Path, fault: Any) -> None:
    async with on_bridge() as desk:
        files = FileMailFiles(exports=lambda: [tmp_path], imports=lambda: [tmp_path])
        desk.service = MailService(dataclasses.replace(desk.service.world, files=files))
        desk.rules(preset="autonomous", boundaries={"import_directories": [str(tmp_path)]})
        letters = [letter(f"L{number}", message_id=f"<{number}@x>") for number in range(ITEMS)]
        told = await desk.ask("imports_create", path=str(mbox(tmp_path / "old.mbox", letters)), to="archive")
        await desk.wind(120)
        made = desk.sim.faults.fail_api("/messages/label", mode=fault, status=500)
        await undone(desk, told)
        assert made.count == 0, "it was met"
        await desk.wind(120)
        await undone(desk, told)
        await desk.wind(120)
        where = [await subjects(desk.personal, role) for role in (Role.ARCHIVE, Role.TRASH)]
        assert sorted(where[0] + where[1]) == ["L0", "L1", "L2"], "nothing is lost or doubled"
        assert where[0] == [], "what was not taken back the first time is, the second"


@pytest.mark.server
async def test_on_dovecot(tmp_path: Path, dovecot: Account) -> None:
    async with worlds.server(dovecot) as world:
        house = House(personal=world.backend)  # type: ignore[arg-type]
        try:
            await imported_and_taken_back(house, tmp_path, Role.INBOX)
        finally:
            await house.service.aclose()


async def test_on_jmap(tmp_path: Path) -> None:
    async with jmap_house() as (_, house):
        await imported_and_taken_back(house, tmp_path, Role.ARCHIVE)
