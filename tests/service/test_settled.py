"""While the server's own view is not settled, nothing goes for good and nothing in bulk; then it goes on by itself (N-9)."""

from __future__ import annotations

import pytest

from mcp_proton.domain.mail import Role
from mcp_proton.services.acting import batches
from mcp_proton.testing import MemoryAccount

from .conftest import House, fill, held

UNREST = "Bridge has built its mailboxes anew"


@pytest.fixture
def house() -> House:
    house = House()
    house.personal.add_mailbox("Old")
    house.personal.add_mailbox("Labels/Old", Role.LABEL)
    house.rules(preset="autonomous")
    return house


@pytest.mark.parametrize(
    ("operation", "arguments"),
    [
        ("messages_destroy", None),
        ("mailboxes_empty", {"mailbox": "trash"}),
        ("folders_delete", {"folder": "Old"}),
        ("labels_delete", {"label": "Labels/Old"}),
    ],
)
async def test_every_way_to_delete_waits_and_then_goes_through(
    house: House, operation: str, arguments: dict[str, str] | None
) -> None:
    """N-9: an ordinary refusal that says why and what to do, journalled as such, and nothing was done."""
    handles = fill(house, 1, mailbox="Trash")
    house.personal.unrest = UNREST
    told = await house.ask(operation, **(arguments or {"messages": handles}))
    assert (told["status"], told["code"]) == ("unavailable", "not_synced")
    assert UNREST in told["why"]
    assert "ask again in a minute or two" in told["next"]
    assert held(house, "Trash") == 1
    assert {"Old", "Labels/Old"} <= house.personal.boxes.keys()
    house.personal.unrest = None
    assert (await house.ask(operation, **(arguments or {"messages": handles})))["status"] in ("ok", "approval_pending")


async def test_the_owner_is_not_asked_about_what_cannot_be_done_now_and_what_was_approved_stays_so(
    house: House,
) -> None:
    """N-9: no question while it must wait; an approval that meets unrest is not used up."""
    house.rules(preset="assistant")
    handles = fill(house, 1, mailbox="Trash")
    house.personal.unrest = UNREST
    assert (await house.ask("messages_destroy", messages=handles))["code"] == "not_synced"
    house.personal.unrest = None
    told = await house.ask("messages_destroy", messages=handles)
    await house.owner_asks("approvals_approve", operation_id=told["operation_id"])
    house.personal.unrest = UNREST
    assert (await house.ask("operations_resume", operation_id=told["operation_id"]))["code"] == "not_synced"
    assert held(house, "Trash") == 1
    house.personal.unrest = None
    assert (await house.ask("operations_resume", operation_id=told["operation_id"]))["status"] == "ok"
    assert held(house, "Trash") == 0


async def test_the_owner_too_waits(house: House) -> None:
    """N-9: what is shown is not what there is, whoever looks."""
    house.personal.unrest = UNREST
    assert (await house.owner_asks("folders_delete", folder="Old"))["code"] == "not_synced"


async def test_what_can_be_taken_back_and_reading_go_on(house: House) -> None:
    """N-9: only destructive families and bulk freeze."""
    house.personal.unrest = UNREST
    assert (await house.ask("messages_archive", messages=fill(house, 100)))["done"] == 100
    assert (await house.ask("messages_list"))["status"] == "ok"
    assert (await house.ask("messages_star", messages=fill(house, 1, mailbox="Sent")))["status"] == "ok"


async def test_another_account_that_is_settled_is_not_held_up(house: House) -> None:
    """N-9."""
    house.work.unrest = UNREST
    assert (await house.ask("messages_destroy", messages=fill(house, 1, mailbox="Trash"))).get("code") != "not_synced"


async def test_unrest_in_the_middle_stops_between_chunks(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """N-9: what was not begun is told as such."""
    monkeypatch.setattr(batches, "CHUNK", 60)
    original = MemoryAccount.move

    async def move(self: MemoryAccount, *arguments: object) -> object:
        self.unrest = UNREST
        return await original(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(MemoryAccount, "move", move)
    told = await house.ask("messages_archive", messages=fill(house, 150))
    assert told["status"] == "partly_done"
    assert held(house, "Archive") == 60
    status = await house.ask("operations_status", operation_id=told["operation_id"])
    assert status["done"] == 60


async def test_accounts_health_says_why_and_that_it_passes(house: House) -> None:
    """N-9."""
    house.personal.unrest = UNREST
    told = (await house.ask("accounts_health", account="personal"))["accounts"][0]
    assert told["syncing"] is True
    assert told["why"] == UNREST
