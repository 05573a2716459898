"""Deleting for good: exactly what was named (P-61, P-93, J-33…J-35, A-19)."""

from __future__ import annotations

import pytest

from mcp_proton.domain.consequences import EffectTable
from mcp_proton.domain.mail import Role

from .conftest import House, fill, held


async def approved(house: House, told: dict[str, object]) -> dict[str, object]:
    assert told["status"] == "approval_pending"
    await house.owner_asks("approvals_approve", operation_id=told["operation_id"])
    return await house.ask("operations_resume", operation_id=told["operation_id"])


async def test_deleting_for_good_waits_and_then_deletes_exactly_that_message(house: House) -> None:
    """J-33, A-19, P-12."""
    handles = fill(house, 3, "Trash")
    told = await house.ask("messages_destroy", messages=handles[:1])
    assert held(house, "Trash") == 3
    done = await approved(house, told)
    assert (done["status"], done["done"]) == ("ok", 1)
    assert held(house, "Trash") == 2
    assert (await house.ask("messages_get", message=handles[0]))["status"] == "stale"
    assert (await house.ask("messages_get", message=handles[1]))["status"] == "ok"


@pytest.mark.parametrize("mailbox", ["trash", "spam"])
async def test_emptying_deletes_what_was_there_when_it_was_asked(house: House, mailbox: str) -> None:
    """P-93, J-34, J-35: what arrives between the question and the answer stays."""
    path = mailbox.title()
    fill(house, 5, path)
    told = await house.ask("mailboxes_empty", mailbox=mailbox)
    later = str(house.receive("Later", mailbox=path))
    done = await approved(house, told)
    assert (done["status"], done["done"]) == ("ok", 5)
    assert held(house, path) == 1
    assert (await house.ask("messages_get", message=later))["status"] == "ok"


async def test_an_empty_trash_says_so(house: House) -> None:
    told = await house.ask("mailboxes_empty", mailbox="trash")
    assert (told["status"], told["code"]) == ("not_found", "nothing_matches")


async def test_what_a_label_holds_is_left_and_named(house: House) -> None:
    """P-61: survivors are named with what holds them."""
    house.rules(preset="autonomous")
    house.personal.add_mailbox("Labels/Keep", Role.LABEL)
    handles = fill(house, 2, "Trash")
    await house.ask("labels_apply", messages=handles[:1], label="keep")
    told = await house.ask("messages_destroy", messages=handles)
    assert (told["status"], told["done"]) == ("partly_done", 1)
    assert told["not_done"][0]["code"] == "held"
    assert "Labels/Keep" in told["not_done"][0]["why"]
    assert held(house, "Trash") == 1


async def test_deleting_where_it_would_not_delete_is_refused_under_every_preset(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P-20, A-19."""
    house.rules(preset="autonomous")
    rows = [one for one in house.personal.consequences().rows if one.verb != "destroy"]
    monkeypatch.setattr(house.personal, "consequences", lambda: EffectTable(rows))
    told = await house.ask("messages_destroy", messages=fill(house, 1))
    assert told["code"] == "unsupported_semantics"
    assert "destroy" not in house.personal.calls


async def test_marking_as_deleted_asks_and_clearing_does_not(house: House) -> None:
    """P-61: any mail program may delete what is marked."""
    handles = fill(house, 1)
    done = await approved(house, await house.ask("messages_mark_deleted", messages=handles))
    assert done["status"] == "ok"
    assert (await house.ask("messages_mark_deleted", messages=handles, clear=True))["status"] == "ok"
    assert held(house, "INBOX") == 1
    stored = next(iter(house.personal.boxes["INBOX"].mail.values()))
    assert "deleted" not in stored.mail.flags


async def test_marking_as_deleted_is_refused_where_it_means_nothing(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.rules(preset="autonomous")
    rows = [one for one in house.personal.consequences().rows if one.verb != "mark_deleted"]
    monkeypatch.setattr(house.personal, "consequences", lambda: EffectTable(rows))
    told = await house.ask("messages_mark_deleted", messages=fill(house, 1))
    assert told["status"] == "unsupported"
    assert "set_flags" not in house.personal.calls


async def test_a_destroyed_message_cannot_be_brought_back_and_the_answer_says_so(house: House) -> None:
    """P-76."""
    house.rules(preset="autonomous")
    told = await house.ask("messages_destroy", messages=fill(house, 1, "Trash"))
    undone = await house.ask("operations_undo", operation_id=told["operation_id"])
    assert (undone["status"], undone["code"]) == ("unsupported", "irreversible")
    shown = await house.ask("messages_destroy", messages=fill(house, 1, "Trash"), preview=True)
    assert shown["undo"] == "it cannot be taken back"
