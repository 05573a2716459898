"""Taking back what can be taken back, judged like anything else (P-76)."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_proton.domain.caller import Audience, Caller, Surface
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.mail import Role

from .conftest import House, fill, held


def state(house: House) -> dict[str, list[tuple[bytes, frozenset[str]]]]:
    return {
        path: sorted((one.mail.raw, one.mail.flags) for one in box.mail.values())
        for path, box in house.personal.boxes.items()
    }


@pytest.fixture
def lived_in(house: House) -> House:
    house.personal.add_mailbox("Labels/Work", Role.LABEL)
    house.personal.add_mailbox("Folders/Trips")
    return house


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("messages_move", {"to": "archive"}),
        ("messages_trash", {}),
        ("messages_spam", {}),
        ("messages_mark_read", {}),
        ("messages_star", {}),
        ("labels_apply", {"label": "Labels/Work"}),
    ],
)
async def test_everything_is_as_it_was(lived_in: House, name: str, arguments: dict[str, Any]) -> None:
    handles = [*fill(lived_in, 3), *fill(lived_in, 2, "Sent")]
    await lived_in.ask("messages_star", messages=handles[:1])
    before = state(lived_in)
    told = await lived_in.ask(name, messages=handles, **arguments)
    assert told["status"] == "ok"
    assert state(lived_in) != before
    undone = await lived_in.ask("operations_undo", operation_id=told["operation_id"])
    assert undone["status"] == "ok"
    assert state(lived_in) == before


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("folders_rename", {"folder": "Folders/Trips", "to": "Journeys"}),
        ("labels_rename", {"label": "Labels/Work", "to": "Labels/Job"}),
        ("mailboxes_subscribe", {"mailbox": "Folders/Trips"}),
    ],
)
async def test_mailboxes_are_as_they_were(lived_in: House, name: str, arguments: dict[str, Any]) -> None:
    paths = set(lived_in.personal.boxes)
    told = await lived_in.ask(name, **arguments)
    assert told["status"] == "ok"
    assert (await lived_in.ask("operations_undo", operation_id=told["operation_id"]))["status"] == "ok"
    assert set(lived_in.personal.boxes) == paths


async def test_only_what_was_done_is_taken_back(house: House) -> None:
    handles = fill(house, 3)
    await house.ask("messages_archive", messages=handles[:1])
    told = await house.ask("messages_trash", messages=handles)
    assert told["status"] == "partly_done"
    await house.ask("operations_undo", operation_id=told["operation_id"])
    assert (held(house, "INBOX"), held(house, "Archive")) == (2, 1)


async def test_taking_back_is_judged_and_journalled(house: House) -> None:
    told = await house.ask("messages_archive", messages=fill(house, 1))
    house.rules(preset="reader", rules=[{"effect": "organize", "verdict": "ask"}])
    undone = await house.ask("operations_undo", operation_id=told["operation_id"])
    assert undone["status"] == "approval_pending"
    assert held(house, "Archive") == 1
    house.rules(preset="reader")
    assert (await house.ask("operations_undo", operation_id=told["operation_id"]))["status"] == "refused"


async def test_taking_back_twice_does_no_harm(house: House) -> None:
    told = await house.ask("messages_archive", messages=fill(house, 2))
    await house.ask("operations_undo", operation_id=told["operation_id"])
    again = await house.ask("operations_undo", operation_id=told["operation_id"])
    assert (again["status"], again["code"]) == ("stale", "stale_handle")
    assert held(house, "INBOX") == 2


async def test_what_was_not_done_cannot_be_taken_back(house: House) -> None:
    house.rules(preset="reader", rules=[{"effect": "organize", "verdict": "ask"}])
    told = await house.ask("messages_archive", messages=fill(house, 1))
    assert (await house.ask("operations_undo", operation_id=told["operation_id"]))["code"] == "nothing_done"


async def test_another_client_s_operation_cannot_be_taken_back(house: House) -> None:
    """P-31, P-41."""
    told = await house.ask("messages_archive", messages=fill(house, 1))
    other = Caller("other", Audience.AGENT, Surface.TOOL)
    assert (await house.ask("operations_undo", other, operation_id=told["operation_id"]))["status"] == "not_found"


async def test_flags_of_many_messages_are_not_taken_back_on_a_guess(house: House) -> None:
    """Nobody knows which of them had the flag before."""
    handles = fill(house, 101)
    told = await house.ask("messages_mark_read", messages=handles)
    undone = await house.ask("operations_undo", operation_id=told["operation_id"])
    assert undone["code"] == "irreversible"
    assert "seen" in house.personal.find(Handle.parse(handles[0])).mail.flags


@pytest.mark.parametrize("from_place", [False, True], ids=["the label's own handles", "handles of their places"])
async def test_a_label_that_was_taken_off_is_put_on_again_wherever_the_mail_is_by_now(
    lived_in: House, from_place: bool
) -> None:
    """P-57, P-76: its handles in the label are gone; it is found by its identity, and no other membership changes."""
    handles = [*fill(lived_in, 2), *fill(lived_in, 1, "Sent")]
    put = await lived_in.ask("labels_apply", messages=handles, label="Work")
    before = state(lived_in)["Labels/Work"]
    off = await lived_in.ask("labels_remove", messages=handles if from_place else put["handles"], label="Work")
    assert held(lived_in, "Labels/Work") == 0
    await lived_in.ask("messages_archive", messages=handles[:1])
    undone = await lived_in.ask("operations_undo", operation_id=off["operation_id"])
    assert (undone["status"], undone["done"]) == ("ok", 3)
    assert state(lived_in)["Labels/Work"] == before
    assert (held(lived_in, "INBOX"), held(lived_in, "Archive"), held(lived_in, "Sent")) == (1, 1, 1)
