"""Labels: put on and taken off without disturbing another membership (P-57)."""

from __future__ import annotations

import pytest

from mcp_proton.domain.mail import Role

from .conftest import House, fill, held


@pytest.fixture
def labelled(house: House) -> House:
    house.personal.add_mailbox("Labels", Role.NODE)
    for name in ("Work", "Home"):
        house.personal.add_mailbox(f"Labels/{name}", Role.LABEL)
    return house


async def test_a_label_is_put_on_and_the_message_stays(labelled: House) -> None:
    """P-57."""
    handles = fill(labelled, 2)
    told = await labelled.ask("labels_apply", messages=handles, label="Labels/Work")
    assert (told["status"], told["done"]) == ("ok", 2)
    assert (held(labelled, "INBOX"), held(labelled, "Labels/Work")) == (2, 2)
    again = await labelled.ask("labels_apply", messages=handles, label="work")
    assert (again["status"], again["already"]) == ("ok", 2)


@pytest.mark.parametrize("own", [True, False], ids=["the label's own handle", "a handle of another mailbox"])
async def test_a_label_is_taken_off_and_no_other_membership_changes(labelled: House, own: bool) -> None:
    """P-57, P-90: found in the label by the server's identity; the Message-ID only narrows it."""
    (handle,) = fill(labelled, 1)
    put = await labelled.ask("labels_apply", messages=[handle], label="work")
    await labelled.ask("labels_apply", messages=[handle], label="home")
    told = await labelled.ask("labels_remove", messages=put["handles"] if own else [handle], label="work")
    assert (told["status"], told["done"]) == ("ok", 1)
    assert [held(labelled, one) for one in ("INBOX", "Labels/Work", "Labels/Home")] == [1, 0, 1]


async def test_a_message_with_the_same_message_id_is_not_taken_for_the_one_meant(labelled: House) -> None:
    """P-90: Message-ID is never a mutation locator."""
    meant = labelled.receive("Meant", message_id="<same@example.org>")
    other = labelled.receive("Other", message_id="<same@example.org>")
    await labelled.ask("labels_apply", messages=[str(other)], label="work")
    told = await labelled.ask("labels_remove", messages=[str(meant)], label="work")
    assert (told["status"], told["code"]) == ("unsupported", "not_labelled")
    assert held(labelled, "Labels/Work") == 1


async def test_labels_are_listed_made_renamed_and_deleted(labelled: House) -> None:
    made = await labelled.ask("labels_create", label="Bills")
    assert (made["status"], made["label"]) == ("ok", "Labels/Bills")
    assert (await labelled.ask("labels_create", label="Labels/Bills"))["code"] == "name_taken"
    renamed = await labelled.ask("labels_rename", label="Bills", to="Receipts")
    assert renamed["label"] == "Labels/Receipts"
    listed = await labelled.ask("labels_list")
    assert [one["label"] for one in listed["labels"]] == ["Labels/Home", "Labels/Receipts", "Labels/Work"]
    labelled.rules(preset="autonomous")
    assert (await labelled.ask("labels_delete", label="Receipts"))["status"] == "ok"
    assert "Labels/Receipts" not in labelled.personal.boxes


async def test_deleting_a_label_asks_and_says_how_many_messages_lose_it(labelled: House) -> None:
    handles = fill(labelled, 3)
    await labelled.ask("labels_apply", messages=handles, label="work")
    told = await labelled.ask("labels_delete", label="work")
    assert told["status"] == "approval_pending"
    shown = await labelled.owner_asks("approvals_show", operation_id=told["operation_id"])
    assert any("3 messages lose it and stay" in line["value"] and line["risk"] for line in shown["lines"])
    await labelled.owner_asks("approvals_approve", operation_id=told["operation_id"])
    assert (await labelled.ask("operations_resume", operation_id=told["operation_id"]))["status"] == "ok"
    assert held(labelled, "INBOX") == 3


@pytest.mark.parametrize("name", ["labels_delete", "labels_rename"])
async def test_a_folder_is_not_a_label(labelled: House, name: str) -> None:
    labelled.personal.add_mailbox("Folders/Work2")
    labelled.rules(preset="autonomous")
    more = {"to": "Other"} if name == "labels_rename" else {}
    told = await labelled.ask(name, label="Folders/Work2", **more)
    assert (told["status"], told["code"]) == ("refused", "not_a_label")


async def test_a_rule_about_a_label_holds_for_making_it_too(labelled: House) -> None:
    """P-15: a path that does not exist yet is a scope like any other."""
    open_labels = {"effect": "organize", "verdict": "allow", "mailbox": "label"}
    secret = {"effect": "organize", "verdict": "deny", "mailbox": "Labels/Secret"}
    labelled.rules(preset="assistant", rules=[open_labels, secret])
    assert (await labelled.ask("labels_create", label="Secret"))["status"] == "refused"
    assert (await labelled.ask("labels_rename", label="work", to="Secret"))["status"] == "refused"
    assert (await labelled.ask("labels_create", label="Open"))["status"] == "ok"
