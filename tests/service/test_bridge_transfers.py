"""Transfers into Bridge where its API fails, and out of it: nothing lost, nothing doubled unseen, nothing trashed unproved
(N-13, N-16, B-05, B-06)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mcp_proton.domain.handles import Handle
from mcp_proton.domain.mail import Role
from mcp_proton.services.door.service import MailService
from mcp_proton.storage.folders.mail_files import FileMailFiles

from .bridge_desk import BOB, ME, Desk, on_bridge
from .conftest import letter

ITEMS = 3


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    async with on_bridge() as made:
        for number in range(ITEMS):
            made.work.add("INBOX", letter(f"L{number}", sender="Bob <bob@x.org>", message_id=f"<{number}@x>"))
        yield made


async def bring(desk: Desk, **more: Any) -> dict[str, Any]:
    tag = desk.work.boxes["INBOX"].mailbox.tag
    handles = [f"work.{tag}.1-{number + 1}" for number in range(ITEMS)]
    return await desk.ask("messages_transfer", messages=handles, account="me", to="archive", move=True, **more)


async def subjects(desk: Desk, role: Role = Role.ARCHIVE) -> list[str]:
    handles = [Handle.parse(one) for one in await desk.held(role)]
    return sorted(row.subject for row in await desk.personal.envelopes(handles))


async def items(desk: Desk, told: dict[str, Any]) -> list[dict[str, Any]]:
    asked = await desk.ask("operations_status", operation_id=told["operation_id"], items=True)
    return list(asked["items"])


@pytest.mark.parametrize("mode", ["", "after", "drop"])
@pytest.mark.parametrize("skip", [0, 1])
async def test_one_whose_import_fails_keeps_its_original_and_asking_again_brings_it(
    desk: Desk, mode: Any, skip: int
) -> None:
    """Refused; done and then refused; broken off, which Bridge tries again by itself."""
    desk.sim.faults.fail_api("/messages/import", mode=mode, status=500, skip=skip)
    told = await bring(desk)
    await desk.wind(120)
    first = await items(desk, told)
    assert {one["fate"] for one in first} <= {"done", "failed"}, "nothing stays uncertain"
    there, trashed = await subjects(desk), len(desk.work.boxes["Trash"].mail)
    assert len(there) == len(set(there)), "nothing is doubled"
    assert trashed == sum(one["fate"] == "done" for one in first) <= len(there)
    assert len(desk.work.boxes["INBOX"].mail) + trashed == ITEMS, "nothing is lost"
    again = await bring(desk)
    await desk.wind(120)
    assert again.get("done", 0) + trashed == ITEMS, again
    assert await subjects(desk) == [f"L{number}" for number in range(ITEMS)]
    assert len(desk.work.boxes["Trash"].mail) == ITEMS


async def test_what_bridge_made_two_of_by_itself_is_told(desk: Desk) -> None:
    """B-05: done, the answer lost, done again by Bridge's own retry, and one OK."""
    desk.sim.faults.fail_api("/messages/import", mode="after-drop")
    told = await bring(desk)
    assert told["status"] == "ok"
    await desk.wind(120)
    (doubled,) = [one for one in await items(desk, told) if one.get("code") == "doubled"]
    assert "the other one is" in doubled["why"]


async def test_a_text_that_equals_mail_just_sent_is_not_brought_and_its_original_stays(desk: Desk) -> None:
    """B-05: Bridge would move the sent mail, and throw the text away."""
    sent = await desk.ask("mail_send", **{"from": ME, "to": [BOB], "subject": "Report", "text": "Here it is."})
    assert sent["status"] == "ok", sent
    await desk.wind(40)
    (kept,) = await desk.held(Role.SENT)
    same = (
        f"From: <{ME}>\r\nTo: <{BOB}>\r\nSubject: Report\r\nMessage-ID: <other@x>\r\n"
        "Date: Mon, 30 Nov 2026 10:00:00 +0000\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nHere it is.\r\n"
    )
    handle = desk.work.add("Sent", same.encode())
    told = await desk.ask("messages_transfer", messages=[str(handle)], account="me", to="archive", move=True)
    assert (told["status"], told["not_done"][0]["code"]) == ("not_done", "already_there"), told
    await desk.wind(120)
    assert await desk.held(Role.SENT) == [kept]
    assert len(desk.work.boxes["Sent"].mail) == 1


FROM_LINES = 'lines of a text that begin with "From "'


@pytest.mark.parametrize("move", [False, True])
async def test_what_bridge_does_not_give_out_is_said_before_and_after(desk: Desk, move: bool) -> None:
    """N-13, B-06: a copy that is proved to be what Bridge served lacks lines all the same; the original has them."""
    handle = await desk.receive_one(letter("Out", "First\nFrom here\nLast", message_id="<out@x>"), to=ME)
    asked = {"messages": [handle], "account": "work", "to": "archive", "move": move}
    shown = await desk.ask("messages_transfer", preview=True, **asked)
    assert [line for line in shown["would"] if line.startswith(f"not kept: {FROM_LINES}")], shown
    told = await desk.ask("messages_transfer", **asked)
    assert told["status"] == "ok"
    assert told["withheld"][0].startswith(FROM_LINES)
    (copy,) = desk.work.boxes["Archive"].mail.values()
    assert b"First" in copy.mail.raw
    assert b"From here" not in copy.mail.raw, "where Bridge gives them out, nobody need be warned"


async def test_into_bridge_nothing_is_said_of_what_comes_from_elsewhere(desk: Desk) -> None:
    assert "withheld" not in await bring(desk)


async def test_an_export_of_bridge_says_what_its_files_lack(desk: Desk, tmp_path: Path) -> None:
    """P-63: to the owner, who is asked, and in the answer."""
    files = FileMailFiles(exports=lambda: [tmp_path], imports=lambda: [tmp_path])
    desk.service = MailService(replace(desk.service.world, files=files))
    rules = {"boundaries": {"export_directories": [str(tmp_path)]}, "rules": [{"effect": "export", "verdict": "ask"}]}
    desk.rules(preset="autonomous", **rules)
    handle = await desk.receive_one(letter("Out", message_id="<out@x>"), to=ME)
    asked = await desk.ask("exports_create", messages=[handle], folder=str(tmp_path))
    shown = await desk.owner_asks("approvals_show", operation_id=asked["operation_id"])
    (said,) = [line["value"] for line in shown["lines"] if line["label"] == "not in the files"]
    assert said.startswith(FROM_LINES)
    await desk.owner_asks("approvals_approve", operation_id=asked["operation_id"])
    told = await desk.ask("operations_resume", operation_id=asked["operation_id"])
    assert (told["status"], told["done"]) == ("ok", 1)
    assert told["withheld"][0].startswith(FROM_LINES)


async def test_out_of_bridge_the_original_is_trashed_by_its_own_recipe_and_seen_there(desk: Desk) -> None:
    handle = await desk.receive_one(letter("Out", message_id="<out@x>"), to=ME)
    told = await desk.ask("messages_transfer", messages=[handle], account="work", to="archive", move=True)
    assert (told["status"], told["done"], told["proof"]) == ("ok", 1, "copyuid")
    await desk.wind(120)
    (item,) = await items(desk, told)
    assert (item["fate"], item["proof"]) == ("done", "seen")
    assert await subjects(desk, Role.TRASH) == ["Out"]
    (copy,) = desk.work.boxes["Archive"].mail.values()
    assert b"X-Pm-" not in copy.mail.raw
