"""Filing by its everyday names: what is moved, what comes back, what is said (P-16, P-56, P-90)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from mcp_proton.domain.consequences import Consequence, EffectTable, Evidence
from mcp_proton.domain.effects import Effect
from mcp_proton.domain.mail import Role
from mcp_proton.domain.outcome import Ending, Fate
from mcp_proton.testing import MemoryAccount

from .conftest import House, fill, held, letter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_proton.domain.handles import Handle
    from mcp_proton.domain.mail import Mailbox


async def test_a_move_returns_the_new_handles_in_the_order_asked(house: House) -> None:
    """P-90, J-22, A-17: old handles go stale, replacements come back."""
    asked = fill(house, 3)
    told = await house.ask("messages_move", messages=asked[::-1], to="archive")
    assert (told["status"], told["done"], len(told["handles"])) == ("ok", 3, 3)
    shown = [await house.ask("messages_get", message=one, view="headers") for one in told["handles"]]
    assert [one["subject"] for one in shown] == ["Letter 2", "Letter 1", "Letter 0"]
    assert (await house.ask("messages_get", message=asked[0]))["status"] == "stale"


@pytest.mark.parametrize(
    ("name", "source", "target"),
    [
        ("messages_archive", "INBOX", "Archive"),
        ("messages_trash", "INBOX", "Trash"),
        ("messages_spam", "INBOX", "Spam"),
        ("messages_restore", "Trash", "INBOX"),
        ("messages_not_spam", "Spam", "INBOX"),
    ],
)
async def test_everyday_names_move_to_where_they_say(house: House, name: str, source: str, target: str) -> None:
    """J-32, J-36, J-37, A-18."""
    handle = house.receive(mailbox=source)
    told = await house.ask(name, messages=[str(handle)])
    assert (told["status"], told["done"]) == ("ok", 1)
    assert (held(house, source), held(house, target)) == (0, 1)


async def test_sent_mail_is_restored_to_sent(house: House) -> None:
    sent = str(house.receive(sender="personal <personal@example.org>", mailbox="Trash"))
    await house.ask("messages_restore", messages=[sent])
    assert (held(house, "Sent"), held(house, "INBOX")) == (1, 0)


async def test_a_copy_is_a_second_occurrence_where_copies_exist(house: House) -> None:
    """J-23, A-12."""
    told = await house.ask("messages_copy", messages=fill(house, 1), to="archive")
    assert told["status"] == "ok"
    assert (held(house, "INBOX"), held(house, "Archive")) == (1, 1)


async def test_a_copy_is_refused_where_the_table_has_no_row_for_it(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P-20."""
    house.rules(preset="autonomous")
    rows = [one for one in house.personal.consequences().rows if one.verb != "copy"]
    monkeypatch.setattr(house.personal, "consequences", lambda: EffectTable(rows))
    told = await house.ask("messages_copy", messages=fill(house, 1), to="archive")
    assert (told["status"], told["code"]) == ("unsupported", "unsupported_semantics")
    assert "copy" not in house.personal.calls


async def test_effects_come_from_the_table_and_not_from_the_verb(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """P-20: where moving into Trash destroys, it is judged as destroying."""
    rows = list(house.personal.consequences().rows)
    grave = Consequence("move", None, Role.TRASH, frozenset({Effect.DESTROY}), "gone for good", (Evidence.LIVE,))
    monkeypatch.setattr(house.personal, "consequences", lambda: EffectTable([*rows, grave]))
    handles = fill(house, 2)
    assert (await house.ask("messages_trash", messages=handles[:1]))["status"] == "approval_pending"
    assert (await house.ask("messages_archive", messages=handles[1:]))["status"] == "ok"
    assert "move" in house.personal.calls


@pytest.mark.parametrize("mailbox", ["INBOX", "Archive"])
async def test_source_and_destination_must_both_pass(house: House, mailbox: str) -> None:
    """P-16."""
    house.rules(preset="assistant", rules=[{"effect": "organize", "verdict": "deny", "mailbox": mailbox}])
    told = await house.ask("messages_archive", messages=fill(house, 1))
    assert told["status"] == "refused"
    assert "move" not in house.personal.calls


async def test_of_a_source_that_asks_and_one_that_is_allowed_the_whole_asks(house: House) -> None:
    """P-16."""
    house.rules(preset="assistant", rules=[{"effect": "organize", "verdict": "ask", "mailbox": "Sent"}])
    told = await house.ask("messages_archive", messages=[*fill(house, 1), *fill(house, 1, "Sent")])
    assert told["status"] == "approval_pending"


async def test_a_role_word_means_each_account_s_own_mailbox(house: House) -> None:
    handle = house.work.add("INBOX", letter())
    told = await house.ask("messages_archive", messages=[*fill(house, 1), str(handle)])
    assert (told["status"], told["done"]) == ("ok", 2)
    assert len(house.work.boxes["Archive"].mail) == 1


async def test_one_bad_handle_does_not_hold_the_others_back(house: House) -> None:
    """P-62, A-66: which became which is said when not all were done; each of many messages has an end of its own."""
    asked = fill(house, 3)
    await house.ask("messages_archive", messages=asked[1:2])
    told = await house.ask("messages_trash", messages=asked)
    assert (told["status"], told["done"], told["state"]) == ("partly_done", 2, "partially_succeeded")
    assert set(told["moved"]) == {asked[0], asked[2]}
    assert told["not_done"] == [
        {"handle": asked[1], "code": "stale_handle", "why": "this handle no longer points at a message"}
    ]


@pytest.mark.parametrize("name", ["move", "copy"])
async def test_what_a_server_took_without_naming_new_handles_is_told_with_a_warning(
    house: House, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A-71: it is done, the old handles are no promise of new ones, and the answer says how to find them."""
    asked, placed = fill(house, 2), getattr(house.personal, name)
    whole = await house.ask(f"messages_{name}", messages=fill(house, 1, "Spam"), to="archive")
    assert "warning" not in whole

    async def unnamed(handles: Sequence[Handle], to: Mailbox) -> Sequence[Fate]:
        return [replace(fate, now=None, proof=None) for fate in await placed(handles, to)]

    monkeypatch.setattr(house.personal, name, unnamed)
    told = await house.ask(f"messages_{name}", messages=asked, to="archive")
    assert (told["status"], told["done"], "handles" in told, "proof" in told) == ("ok", 2, False, False)
    assert "list or search again" in told["warning"]


async def test_a_stale_handle_alone_is_told_as_stale_with_what_to_do(house: House) -> None:
    asked = fill(house, 1)
    await house.ask("messages_archive", messages=asked)
    told = await house.ask("messages_trash", messages=asked)
    assert (told["status"], told["code"]) == ("stale", "stale_handle")
    assert "list or search again" in told["next"]


async def test_what_is_there_already_is_not_moved_and_not_called_a_fault(house: House) -> None:
    asked = fill(house, 2, "Archive")
    told = await house.ask("messages_archive", messages=asked)
    assert (told["status"], told["already"]) == ("ok", 2)
    assert held(house, "Archive") == 2


async def test_a_handle_named_twice_is_moved_once(house: House) -> None:
    asked = fill(house, 1) * 3
    told = await house.ask("messages_archive", messages=asked)
    assert (told["done"], len(told["handles"])) == (1, 1)


async def test_a_mailbox_is_found_by_its_last_name_where_only_one_is_called_so(house: House) -> None:
    house.personal.add_mailbox("Folders/Taxes")
    told = await house.ask("messages_move", messages=fill(house, 1), to="taxes")
    assert told["status"] == "ok"
    house.personal.add_mailbox("Folders/Old/Taxes")
    assert (await house.ask("messages_move", messages=fill(house, 1), to="taxes"))["status"] == "not_found"


async def test_a_mailbox_that_is_not_there_is_told_before_anything_is_done(house: House) -> None:
    told = await house.ask("messages_move", messages=fill(house, 1), to="Folders/Nowhere")
    assert told["status"] == "not_found"
    assert "move" not in house.personal.calls


class Everything(MemoryAccount):
    """An account with a mailbox that shows everything, and a message that is in no other."""

    def consequences(self) -> EffectTable:
        organize = frozenset({Effect.ORGANIZE})
        back = Consequence("reattach", Role.ALL, None, organize, "back in a mailbox", (Evidence.RECORDED,))
        return EffectTable([*super().consequences().rows, back])

    async def move(self, handles: Any, to: Any) -> Any:
        told = await super().move(handles, to)
        return [replace(one, code="orphaned") if one.ending is Ending.FAILED else one for one in told]

    async def reattach(self, handles: Any, to: Any) -> Any:
        self.calls.append("reattach")
        return [Fate.done(one, self.put(self.boxes["INBOX"], self.find(one).mail)) for one in handles]


async def test_a_message_that_is_in_no_mailbox_is_brought_back_from_all_mail() -> None:
    """P-56: restoring reaches orphans too."""
    house = House(personal=Everything("personal"))
    house.personal.add_mailbox("All Mail", Role.ALL)
    told = await house.ask("messages_restore", messages=fill(house, 1, "All Mail"))
    assert (told["status"], told["done"]) == ("ok", 1)
    assert held(house, "INBOX") == 1
    assert house.personal.calls.count("reattach") == 1
