"""Folders: nested, and honest about their contents (P-58, J-38…J-42, A-11, A-16)."""

from __future__ import annotations

import pytest

from mcp_proton.domain.mail import Role

from .conftest import House, fill


@pytest.fixture
def foldered(house: House) -> House:
    house.personal.add_mailbox("Folders", Role.NODE)
    house.personal.add_mailbox("Folders/Trips")
    house.personal.add_mailbox("Folders/Trips/2026")
    return house


async def test_a_folder_is_made_below_the_node_with_its_parents(foldered: House) -> None:
    """J-38, A-11."""
    told = await foldered.ask("folders_create", folder="Taxes/2026")
    assert (told["status"], told["folder"]) == ("ok", "Folders/Taxes/2026")
    assert "Folders/Taxes" in foldered.personal.boxes


async def test_without_a_node_a_path_is_taken_as_it_is(house: House) -> None:
    assert (await house.ask("folders_create", folder="Taxes/2026"))["folder"] == "Taxes/2026"


async def test_a_bare_name_renames_in_place_and_a_path_moves(foldered: House) -> None:
    """J-39, A-16: what is inside follows."""
    told = await foldered.ask("folders_rename", folder="Folders/Trips/2026", to="This year")
    assert told["folder"] == "Folders/Trips/This year"
    told = await foldered.ask("folders_rename", folder="Folders/Trips", to="Old/Trips")
    assert told["folder"] == "Folders/Old/Trips"
    assert "Folders/Old/Trips/This year" in foldered.personal.boxes


async def test_a_folder_is_moved_into_another(foldered: House) -> None:
    await foldered.ask("folders_create", folder="Old")
    told = await foldered.ask("folders_move", folder="Trips", into="Old")
    assert told["folder"] == "Folders/Old/Trips"


async def test_a_rule_about_an_inner_folder_is_not_got_around_by_renaming_the_outer_one(foldered: House) -> None:
    rule = {"effect": "organize", "verdict": "deny", "mailbox": "Folders/Trips/2026"}
    foldered.rules(preset="assistant", rules=[rule])
    told = await foldered.ask("folders_rename", folder="Folders/Trips", to="Elsewhere")
    assert told["status"] == "refused"
    assert "Folders/Trips/2026" in foldered.personal.boxes


@pytest.mark.parametrize("name", ["inbox", "trash", "sent"])
async def test_the_owner_s_system_mailboxes_stay_as_they_are(foldered: House, name: str) -> None:
    """A-16: not INBOX."""
    foldered.rules(preset="autonomous")
    assert (await foldered.ask("folders_rename", folder=name, to="Other"))["code"] == "not_a_folder"
    assert (await foldered.ask("folders_delete", folder=name))["code"] == "not_a_folder"


async def test_a_folder_that_holds_something_is_not_deleted_and_the_answer_counts_it(foldered: House) -> None:
    """P-58, J-40."""
    foldered.rules(preset="autonomous")
    fill(foldered, 4, "Folders/Trips/2026")
    told = await foldered.ask("folders_delete", folder="Folders/Trips/2026")
    assert (told["status"], told["code"]) == ("conflict", "not_empty")
    assert "4 messages" in told["why"]
    assert (await foldered.ask("folders_delete", folder="Folders/Trips"))["code"] == "not_empty"
    assert "remove" not in foldered.personal.calls


async def test_an_empty_folder_is_deleted_after_the_owner_said_so(foldered: House) -> None:
    told = await foldered.ask("folders_delete", folder="Folders/Trips/2026")
    assert told["status"] == "approval_pending"
    await foldered.owner_asks("approvals_approve", operation_id=told["operation_id"])
    assert (await foldered.ask("operations_resume", operation_id=told["operation_id"]))["status"] == "ok"
    assert "Folders/Trips/2026" not in foldered.personal.boxes


async def test_mail_that_arrived_since_the_approval_keeps_the_folder(foldered: House) -> None:
    """P-21, P-38."""
    told = await foldered.ask("folders_delete", folder="Folders/Trips/2026")
    await foldered.owner_asks("approvals_approve", operation_id=told["operation_id"])
    fill(foldered, 1, "Folders/Trips/2026")
    again = await foldered.ask("operations_resume", operation_id=told["operation_id"])
    assert (again["status"], again["code"]) == ("conflict", "not_empty")
    assert "Folders/Trips/2026" in foldered.personal.boxes


@pytest.mark.parametrize("shown", [True, False])
async def test_a_mailbox_is_shown_or_hidden_in_other_programs(foldered: House, shown: bool) -> None:
    """J-41, J-42."""
    told = await foldered.ask("mailboxes_subscribe", mailbox="Trips", subscribed=shown)
    assert told["status"] == "ok"
    assert foldered.personal.boxes["Folders/Trips"].mailbox.subscribed is shown
