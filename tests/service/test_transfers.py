"""Transfers between accounts: proved before anything is removed, nothing doubled, every loss told (N-13)."""

from __future__ import annotations

import asyncio
import json
import tracemalloc
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from mcp_proton.domain.caller import owner
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.mail import Mailbox, Role
from mcp_proton.domain.outcome import Status
from mcp_proton.domain.outgoing import Capacity, Octets
from mcp_proton.domain.ports import Standing
from mcp_proton.services.door.service import MailService
from mcp_proton.services.operations import transfers
from mcp_proton.testing import MemoryAccount

from .conftest import House, letter


@pytest.fixture
def house() -> House:
    made = House()
    made.rules(preset="autonomous")
    return made


async def carry(house: House, *handles: Any, **more: Any) -> dict[str, Any]:
    asked = {"messages": [str(one) for one in handles], "account": "work", "to": "archive"} | more
    return await house.ask("messages_transfer", **asked)


def there(house: House, path: str = "Archive") -> list[bytes]:
    return [one.mail.raw for one in house.work.boxes[path].mail.values()]


def here(house: House, path: str = "INBOX") -> list[bytes]:
    return [one.mail.raw for one in house.personal.boxes[path].mail.values()]


async def test_a_copy_is_the_same_to_the_octet_with_its_date_and_flags(house: House) -> None:
    """N-13."""
    received = datetime(2020, 1, 2, 3, 4, 5, tzinfo=UTC)
    raw = letter("One", "€ café")
    handle = house.personal.add("INBOX", raw, received=received, flags=frozenset({"seen", "flagged", "$Todo"}))
    told = await carry(house, handle)
    assert (told["status"], told["done"]) == ("ok", 1), told
    assert "lost" not in told
    stored = house.work.find(Handle.parse(told["handles"][0]))
    assert (stored.mail.raw, stored.mail.received) == (raw, received)
    assert stored.mail.flags == {"seen", "flagged", "$Todo"}
    assert here(house) == [raw]


async def test_a_move_trashes_the_original_once_its_copy_is_proved(house: House) -> None:
    handles = [house.receive(f"L{n}", message_id=f"<{n}@x>") for n in range(3)]
    told = await carry(house, *handles, move=True)
    assert (told["status"], told["done"]) == ("ok", 3), told
    assert len(there(house)) == 3
    assert here(house) == []
    assert sorted(here(house, "Trash")) == sorted(there(house))
    assert "destroy" not in house.personal.calls


async def test_what_is_there_already_is_compared_and_not_doubled(house: House) -> None:
    """N-13: the same message is told as there, another one with its Message-ID is left alone and nothing is trashed."""
    house.work.add("Archive", letter("One", message_id="<1@x>"))
    house.work.add("Archive", letter("Two", "quite another text", message_id="<2@x>"))
    one = house.receive("One", message_id="<1@x>")
    two = house.receive("Two", message_id="<2@x>")
    copied = await carry(house, one, two)
    assert (copied["status"], copied["already"]) == ("partly_done", 1)
    assert [(each["handle"], each["code"]) for each in copied["not_done"]] == [(str(two), "same_message_id")]
    moved = await carry(house, one, two, move=True)
    assert moved["done"] == 1
    assert [each["code"] for each in moved["not_done"]] == ["same_message_id"]
    assert len(there(house)) == 2
    assert here(house) == [letter("Two", message_id="<2@x>")]
    assert here(house, "Trash") == [letter("One", message_id="<1@x>")]


async def test_a_message_that_is_elsewhere_in_that_account_is_not_brought_a_second_time(house: House) -> None:
    """In an account that shows all mail in one place; the original is not trashed for a copy that may be in Trash there."""
    house.work.add_mailbox("All Mail", Role.ALL)
    house.work.add("All Mail", letter("One", message_id="<1@x>"))
    handle = house.receive("One", message_id="<1@x>")
    told = await carry(house, handle, move=True)
    assert [each["code"] for each in told["not_done"]] == ["already_elsewhere"]
    assert (there(house), len(here(house))) == ([], 1)


async def test_the_same_message_in_two_mailboxes_becomes_one_copy(house: House) -> None:
    one = house.receive("One", message_id="<1@x>")
    other = house.receive("One", mailbox="Archive", message_id="<1@x>")
    told = await carry(house, one, other)
    assert (told["done"], told["already"]) == (1, 1)
    assert len(there(house)) == 1


async def test_two_messages_of_one_message_id_are_not_taken_for_one(house: House) -> None:
    one = house.receive("One", message_id="<1@x>")
    other = house.receive("Other", message_id="<1@x>")
    told = await carry(house, one, other, move=True)
    assert told["done"] == 1
    assert [each["code"] for each in told["not_done"]] == ["same_message_id"]
    assert len(here(house)) == 1


async def test_a_message_without_a_message_id_gets_one_made_of_its_content_and_is_known_again(house: House) -> None:
    raw = letter("One").replace(b"Message-ID: <a@example.org>\r\n", b"")
    handle = house.personal.add("INBOX", raw)
    told = await carry(house, handle)
    assert told["lost"] == {"Message-ID (it had none and got one)": told["handles"]}
    (stored,) = there(house)
    assert stored.endswith(raw)
    again = await carry(house, handle, move=True)
    assert (again["status"], again["done"]) == ("ok", 1)
    assert len(there(house)) == 1


async def test_lines_that_name_an_occurrence_of_another_server_are_not_given_on(house: House) -> None:
    """B-05: given to a Bridge, they would name another message."""
    raw = letter("One").replace(b"Subject:", b"X-Pm-Gluon-Id: 5\r\nx-pm-internal-id: a\r\n folded\r\nSubject:")
    handle = house.personal.add("INBOX", raw)
    await carry(house, handle)
    assert there(house) == [letter("One")]


class Rebuilding(MemoryAccount):
    """Stores something else than it was given."""

    change: Callable[[bytes], bytes] = bytes

    def add(self, path: str, raw: bytes, **more: Any) -> Handle:
        return super().add(path, self.change(raw), **more)


@pytest.mark.parametrize(
    "change",
    [
        lambda raw: raw.replace(b"How are you?", b"How are they?"),
        lambda raw: raw.replace(b"To: me@", b"To: you@"),
        lambda raw: raw.replace(b"Subject: One", b"Subject: Two"),
        lambda raw: raw.partition(b"\r\n\r\n")[0] + b"\r\n\r\n",
    ],
)
async def test_nothing_is_trashed_for_a_copy_that_is_not_the_same(change: Callable[[bytes], bytes]) -> None:
    """N-13: where it cannot be proved, the original stays, and both are named."""
    work = Rebuilding("work")
    work.change = change
    house = House(work=work)
    house.rules(preset="autonomous")
    handle = house.receive("One")
    told = await carry(house, handle, move=True)
    assert told["status"] == "not_done"
    assert [(each["handle"], each["code"]) for each in told["not_done"]] == [(str(handle), "not_verified")]
    assert Handle.parse(told["not_done"][0]["now"]).account == "work"
    assert here(house) == [letter("One")]


async def test_a_copy_that_the_server_encodes_anew_is_the_same_and_that_is_told() -> None:
    """B-06."""
    work = Rebuilding("work")
    work.change = lambda raw: raw.replace(b"\r\n\r\nHow are you?", b"\r\nX-More: 1\r\n\r\nHow  are\r\nyou?")
    house = House(work=work)
    house.rules(preset="autonomous")
    told = await carry(house, house.receive("One"), move=True)
    assert (told["status"], told["lost"]) == ("ok", {"its octets (the server rebuilds mail)": told["handles"]})
    assert here(house) == []


class Forgetful(MemoryAccount):
    """Keeps neither dates nor keywords."""

    def features(self) -> Mapping[str, Standing]:
        return {**super().features(), "append_dates": Standing.UNAVAILABLE, "keywords": Standing.UNAVAILABLE}

    async def append(self, to: Mailbox, mail: Octets, **more: Any) -> Handle:
        return await super().append(to, mail, flags=more["flags"] & {"seen"})


async def test_what_is_not_kept_is_said_before_and_of_each_afterwards() -> None:
    """N-13: dates, flags and labels."""
    house = House(work=Forgetful("work"))
    house.rules(preset="autonomous")
    label = house.personal.add_mailbox("Labels/Tax", Role.LABEL)
    old = datetime(2020, 1, 2, tzinfo=UTC)
    plain = house.personal.add(
        "INBOX", letter("Plain", message_id="<1@x>"), received=datetime(2026, 11, 30, 10, tzinfo=UTC)
    )
    rich = house.personal.add(
        "INBOX", letter("Rich", message_id="<2@x>"), received=old, flags=frozenset({"seen", "$Todo"})
    )
    await house.personal.label([rich], label)
    asked = {"messages": [str(plain), str(rich)], "account": "work", "to": "archive"}
    would = (await house.ask("messages_transfer", **asked, preview=True))["would"]
    foreseen = [line for line in would if line.startswith("not kept")]
    assert foreseen == [
        "not kept: date of receipt, of 1: it will be that of the Date header",
        "not kept: flags, where the server does not keep them: $Todo of 1",
        "not kept: labels: Tax of 1",
    ]
    assert there(house) == []
    told = await house.ask("messages_transfer", **asked)
    moved = told["handles"][1]
    assert told["lost"]["flags $Todo"] == [moved]
    assert told["lost"]["labels Tax"] == [moved]
    items = (await house.ask("operations_status", operation_id=told["operation_id"], items=True))["items"]
    assert [one.get("code") for one in items][1] == "not_all_kept"
    assert items[1]["why"] == "not kept: date of receipt; flags $Todo; labels Tax"


async def test_both_accounts_are_judged(house: House) -> None:
    """P-14, P-20: what leaves one account, what is trashed there and what comes into the other, each by its own rule."""
    handle = house.receive("One")
    for effect, account, move in (
        ("read", "personal", False),
        ("export", "personal", False),
        ("import", "work", False),
        ("organize", "personal", True),
    ):
        house.rules(preset="autonomous", rules=[{"effect": effect, "account": account, "verdict": "deny"}])
        told = await carry(house, handle, move=move)
        assert (told["status"], told["code"]) == ("refused", "policy_denied"), effect
        if effect != "read":
            house.rules(preset="autonomous", rules=[{"effect": effect, "account": account, "verdict": "ask"}])
            assert (await carry(house, handle, move=move))["status"] == "approval_pending", effect
    house.rules(preset="autonomous", rules=[{"effect": "organize", "account": "personal", "verdict": "deny"}])
    assert (await carry(house, handle))["status"] == "ok", "a copy changes nothing where it comes from"
    assert there(house) == [letter("One")]


async def test_a_limit_of_the_account_that_mail_comes_into_counts_every_message(house: House) -> None:
    house.rules(preset="autonomous", boundaries={"rates": {"import": "2/day"}})
    told = await carry(house, *(house.receive(f"L{n}", message_id=f"<{n}@x>") for n in range(3)))
    assert (told["status"], told["code"]) == ("refused", "over_limit")
    assert there(house) == []


async def test_the_owner_approves_exactly_what_is_done(house: House) -> None:
    house.rules(preset="assistant")
    handle = house.receive("One")
    told = await carry(house, handle, move=True)
    assert told["status"] == "approval_pending"
    assert there(house) == []
    shown = await house.owner_asks("approvals_show", operation_id=told["operation_id"])
    assert "personal/INBOX to work/Archive" in json.dumps(shown), shown
    await house.owner_asks("approvals_approve", operation_id=told["operation_id"])
    done = await house.ask("operations_resume", operation_id=told["operation_id"])
    assert (done["status"], len(there(house)), here(house)) == ("ok", 1, [])


async def test_within_one_account_it_is_refused_with_what_is_for_that(house: House) -> None:
    told = await house.ask("messages_transfer", messages=[str(house.receive("One"))], account="personal", to="archive")
    assert (told["status"], told["code"]) == ("refused", "invalid_arguments")
    assert "messages_move" in told["next"]


async def test_a_transfer_is_taken_back(house: House) -> None:
    """P-76: originals return to where they were, copies go into Trash; what was there before stays."""
    house.work.add("Archive", letter("Old", message_id="<0@x>"))
    old = house.receive("Old", message_id="<0@x>")
    new = house.receive("New", message_id="<1@x>")
    told = await carry(house, old, new, move=True)
    assert told["done"] == 2
    back = await house.ask("operations_undo", operation_id=told["operation_id"])
    assert back["status"] == "ok", back
    assert sorted(here(house)) == sorted([letter("Old", message_id="<0@x>"), letter("New", message_id="<1@x>")])
    assert there(house) == [letter("Old", message_id="<0@x>")]
    assert there(house, "Trash") == [letter("New", message_id="<1@x>")]


async def test_an_original_in_trash_stays_there(house: House) -> None:
    told = await carry(house, house.receive("One", mailbox="Trash"), move=True)
    assert (told["status"], told["done"]) == ("ok", 1)
    assert (len(there(house)), len(here(house, "Trash"))) == (1, 1)


async def test_a_large_message_passes_in_bounded_memory_and_few_words(house: House) -> None:
    """N-13."""
    raw = letter("Big", "0123456789abcdef" * 500_000)
    handle = house.personal.add("INBOX", raw)
    tracemalloc.start()
    told = await carry(house, handle)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert told["status"] == "ok"
    assert there(house) == [raw]
    assert len(json.dumps(told)) < 600
    assert peak < len(raw) * 2.6, "the accounts in memory hold it twice; nobody else does"


async def test_what_is_too_large_for_the_other_account_is_refused_with_the_limit(house: House) -> None:
    """J-104: the limit is named, and the original stays."""
    house.work.outgoing.limits = Capacity(append=100)
    handle = house.receive("One")
    told = await carry(house, handle, move=True)
    assert told["not_done"][0]["code"] == "too_large"
    assert "100" in told["not_done"][0]["why"]
    assert len(here(house)) == 1


async def test_a_transfer_in_the_background_goes_on_after_its_process_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """N-13: the journal is the manifest."""
    monkeypatch.setattr(transfers, "STEP", 2)
    house = House()
    house.rules(preset="autonomous")
    house.service.world = replace(
        house.service.world, settings=replace(house.service.world.settings, background_from=1)
    )
    house.service = MailService(house.service.world)
    handles = [house.receive(f"L{n}", message_id=f"<{n}@x>") for n in range(6)]
    stopped = asyncio.Event()
    appended = house.work.append

    async def append(*arguments: Any, **more: Any) -> Handle:
        if len(there(house)) == 3:
            house.service._performing.closing = True
            stopped.set()
        return await appended(*arguments, **more)

    house.work.append = append  # type: ignore[method-assign]
    asking = asyncio.ensure_future(carry(house, *handles, move=True))
    await stopped.wait()
    told = await asking
    assert told["code"] == "in_progress", told
    await house.service.aclose()
    assert len(there(house)) == 4
    assert len(here(house)) == 2
    (record,) = await house.journal.recent(owner())
    house.journal.gone.add(record.id)
    house.service = MailService(house.service.world)
    await house.service._recovery.all()
    for task in list(house.service._performing.running.values()):
        await task
    (record,) = await house.journal.recent(owner())
    assert (record.status, record.counts) == (Status.SUCCEEDED, {"done": 6})
    assert (len(there(house)), here(house), len(here(house, "Trash"))) == (6, [], 6)
