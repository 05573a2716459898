"""What a server's version was never seen to do is asked about; what it was seen to do otherwise is refused (N-8, P-20)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mcp_proton.domain.consequences import EffectTable, Evidence
from mcp_proton.services.acting import batches
from mcp_proton.testing import MemoryAccount

from .conftest import House, fill, held

HOW = "a trial showed that this version of Bridge does something else"


class Doubtful(MemoryAccount):
    """An account whose table is not proved for some verbs, and disproved for others."""

    unproved: frozenset[str] = frozenset()
    disproved: frozenset[str] = frozenset()

    def consequences(self) -> EffectTable:
        rows = [
            replace(row, evidence=(Evidence.UNVERIFIED,)) if row.verb in self.unproved else row
            for row in super().consequences().rows
        ]
        return EffectTable(
            replace(row, refused=True, result=HOW) if row.verb in self.disproved else row for row in rows
        )


@pytest.fixture
def doubtful() -> tuple[House, Doubtful]:
    account = Doubtful("personal")
    house = House(personal=account)
    house.rules(preset="autonomous")
    return house, account


async def test_an_unproved_family_is_asked_about_where_the_rules_would_allow_it(
    doubtful: tuple[House, Doubtful],
) -> None:
    """N-8: with the reason, and what proves it; the owner sees the risk; approved it is done."""
    house, account = doubtful
    account.unproved = frozenset({"move"})
    told = await house.ask("messages_archive", messages=fill(house, 1))
    assert told["status"] == "approval_pending"
    assert "what `move` does in `personal` is not proved" in told["why"]
    assert "doctor --prove" in told["why"]
    shown = await house.owner_asks("approvals_show", operation_id=told["operation_id"])
    assert any(line["label"] == "not proved: move in personal" and line["risk"] for line in shown["lines"])
    await house.owner_asks("approvals_approve", operation_id=told["operation_id"])
    assert (await house.ask("operations_resume", operation_id=told["operation_id"]))["status"] == "ok"
    assert held(house, "Archive") == 1


async def test_a_family_that_is_proved_is_not_asked_about_for_the_sake_of_another(
    doubtful: tuple[House, Doubtful],
) -> None:
    """N-8."""
    house, account = doubtful
    account.unproved = frozenset({"destroy", "label", "set_flags"})
    assert (await house.ask("messages_archive", messages=fill(house, 1)))["status"] == "ok"


async def test_what_is_denied_stays_denied_and_the_owner_is_not_asked_twice(doubtful: tuple[House, Doubtful]) -> None:
    """N-8: a doubt makes nothing wider; at the owner's own surface there is nobody else to ask."""
    house, account = doubtful
    account.unproved = frozenset({"move", "create"})
    house.rules(preset="reader")
    assert (await house.ask("messages_archive", messages=fill(house, 1)))["status"] == "refused"
    assert (await house.owner_asks("messages_archive", messages=fill(house, 1)))["status"] == "ok"


@pytest.mark.parametrize(
    ("verb", "operation", "arguments"),
    [
        ("create", "folders_create", {"folder": "New"}),
        ("set_flags", "messages_star", {}),
        ("set_flags", "messages_get", {"mark_read": True}),
        ("destroy", "messages_destroy", {}),
    ],
)
async def test_every_way_to_a_verb_is_asked_about(
    verb: str, operation: str, arguments: dict[str, object], doubtful: tuple[House, Doubtful]
) -> None:
    """N-8: making mailboxes and marking read by reading too."""
    house, account = doubtful
    account.unproved = frozenset({verb})
    (handle,) = fill(house, 1, mailbox="Trash")
    named = {"messages_get": {"message": handle}, "folders_create": {}}.get(operation, {"messages": [handle]})
    told = await house.ask(operation, **named, **arguments)
    assert told["status"] == "approval_pending", told
    assert f"`{verb}`" in told["why"]


async def test_a_preview_says_why_it_would_be_asked(doubtful: tuple[House, Doubtful]) -> None:
    """N-8, P-91."""
    house, account = doubtful
    account.unproved = frozenset({"move"})
    fill(house, 1)
    told = await house.ask("messages_move_matching", query="subject:Letter", to="Archive", preview=True)
    assert told["verdict"] == "ask"
    assert "not proved" in told["why"]


async def test_a_disproved_family_is_refused_to_everybody(doubtful: tuple[House, Doubtful]) -> None:
    """N-8, P-20: under every rule, to the owner too, and nothing is done."""
    house, account = doubtful
    account.disproved = frozenset({"move"})
    for told in (
        await house.ask("messages_archive", messages=fill(house, 1)),
        await house.owner_asks("messages_archive", messages=fill(house, 1)),
    ):
        assert (told["status"], told["code"]) == ("unsupported", "unsupported_semantics")
        assert HOW in told["why"]
    assert held(house, "Archive") == 0


async def test_an_approval_given_before_a_family_was_disproved_does_nothing(doubtful: tuple[House, Doubtful]) -> None:
    """N-8, P-21."""
    house, account = doubtful
    account.unproved = frozenset({"move"})
    told = await house.ask("messages_archive", messages=fill(house, 1))
    await house.owner_asks("approvals_approve", operation_id=told["operation_id"])
    account.disproved = frozenset({"move"})
    assert (await house.ask("operations_resume", operation_id=told["operation_id"]))["status"] == "unsupported"
    assert held(house, "Archive") == 0


async def test_a_batch_stops_when_its_family_is_disproved_in_the_middle(
    doubtful: tuple[House, Doubtful], monkeypatch: pytest.MonkeyPatch
) -> None:
    """N-8: at once, between chunks."""
    monkeypatch.setattr(batches, "CHUNK", 2)
    house, _ = doubtful
    original = MemoryAccount.move

    async def move(self: Doubtful, *arguments: object) -> object:
        self.disproved = frozenset({"move"})
        return await original(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Doubtful, "move", move, raising=False)
    told = await house.ask("messages_archive", messages=fill(house, 5))
    assert told["status"] == "partly_done"
    assert held(house, "Archive") == 2
