"""Threads, attachments, addresses, overview, accounts: what a good answer holds (P-50, P-51, P-54, P-70, A-02…A-08)."""

from __future__ import annotations

import json

import pytest

from mcp_proton.domain.errors import Unavailable
from mcp_proton.domain.mail import Role
from mcp_proton.domain.ports import Health

from .conftest import House
from .test_reading import mixed


async def test_a_conversation_is_followed_across_mailboxes_in_both_directions_and_names_what_is_missing(
    house: House,
) -> None:
    """P-70, A-05 bettered: References and In-Reply-To, other mailboxes, the missing ids named."""
    house.receive("Plan", "one", message_id="<1@x>", hours_ago=9, mailbox="Archive")
    middle = house.receive(
        "Re: Plan", "two", message_id="<2@x>", hours_ago=8, more="In-Reply-To: <1@x>\nReferences: <1@x>\n"
    )
    house.receive("Re: Plan", "three", mailbox="Sent", message_id="<3@x>", hours_ago=7,
                  more="In-Reply-To: <2@x>\nReferences: <1@x> <2@x>\n")  # fmt: skip
    house.receive("AW: Plan", "five", message_id="<5@x>", hours_ago=5,
                  more="In-Reply-To: <4@x>\nReferences: <1@x> <2@x> <3@x> <4@x>\n")  # fmt: skip
    house.receive("Plan", "another matter", message_id="<9@x>", hours_ago=4)
    told = await house.ask("threads_get", message=str(middle))
    assert [one["text"].strip() for one in told["messages"]] == ["one", "two", "three", "five"]
    assert [one["mailbox"] for one in told["messages"]] == ["Archive", "INBOX", "Sent", "INBOX"]
    assert told["missing"] == ["<4@x>"]


async def test_the_same_subject_alone_makes_no_conversation(house: House) -> None:
    """A-65."""
    first = house.receive("Lunch on Friday", message_id="<1@x>")
    house.receive("Re: Lunch on Friday", message_id="<2@x>")
    assert len((await house.ask("threads_get", message=str(first)))["messages"]) == 1


async def test_a_conversation_leaves_out_what_the_caller_may_not_read(house: House) -> None:
    house.personal.add_mailbox("Folders/Health")
    first = house.receive("Plan", message_id="<1@x>")
    house.receive("Re: Plan", "private", mailbox="Folders/Health", message_id="<2@x>", more="In-Reply-To: <1@x>\n")
    house.rules(preset="reader", rules=[{"effect": "*", "verdict": "deny", "mailbox": "Folders/Health"}])
    assert "private" not in json.dumps(await house.ask("threads_get", message=str(first)))


async def test_a_thread_fits_its_budget_and_every_message_gets_a_share(house: House) -> None:
    for number in range(12):
        more = f"In-Reply-To: <{number - 1}@x>\n" if number else ""
        handle = house.receive("Re: Long", "word " * 1500, message_id=f"<{number}@x>", hours_ago=20 - number, more=more)
    told = await house.ask("threads_get", message=str(handle), max_tokens=2000)
    assert len(told["messages"]) == 12
    assert all(one["cut"] for one in told["messages"])
    assert all(one.get("text") for one in told["messages"])
    assert len(json.dumps(told)) < 12_000


FILES = (
    ("Report Q3.csv", "text/csv", b"name,sum\r\nAnna,12\r\n"),
    ("../../etc/passwd", "application/octet-stream", b"\0\1"),
)


async def test_attachments_are_listed_under_safe_names(house: House) -> None:
    """P-54, P-95, J-13."""
    handle = house.personal.add("INBOX", mixed("<p>x</p>", FILES))
    told = await house.ask("attachments_list", message=str(handle))
    assert [one["index"] for one in told["attachments"]] == [1, 2]
    assert told["attachments"][0]["filename"] == "Report Q3.csv"
    assert "/" not in told["attachments"][1]["filename"]


@pytest.mark.process
async def test_an_attachment_is_read_as_text_or_says_that_it_cannot_be(house: House) -> None:
    handle = str(house.personal.add("INBOX", mixed("<p>x</p>", FILES)))
    assert "Anna" in (await house.ask("attachments_text", message=handle, index=1))["text"]
    told = await house.ask("attachments_text", message=handle, index=2)
    assert (told["status"], told["code"]) == ("unsupported", "unsupported_file")
    told = await house.ask("attachments_text", message=handle, index=3)
    assert (told["status"], told["code"]) == ("not_found", "no_such_attachment")


async def test_an_attachment_is_saved_decoded_and_its_octets_never_appear_in_the_answer(house: House) -> None:
    """P-54, A-08 bettered: no base64 through the model."""
    house.rules(preset="autonomous")
    content = bytes(range(256)) * 300
    handle = str(house.personal.add("INBOX", mixed("<p>x</p>", (("a.bin", "application/octet-stream", content),))))
    told = await house.ask("attachments_save", message=handle, index=1)
    assert house.artifacts.kept[told["artifact"]][2] == content
    assert told["size"] == len(content)
    assert len(json.dumps(told)) < 500


async def test_the_assistant_asks_before_it_exports_and_the_reader_may_not(house: House) -> None:
    """P-11, P-12."""
    handle = str(house.personal.add("INBOX", mixed("<p>x</p>", FILES)))
    assert (await house.ask("attachments_save", message=handle, index=1))["status"] == "approval_pending"
    house.rules(preset="reader")
    assert (await house.ask("attachments_save", message=handle, index=1))["code"] == "policy_denied"


async def test_a_person_is_found_by_a_part_of_the_name_those_written_to_first(house: House) -> None:
    for number in range(3):
        house.receive(sender="Anna Noise <noise@shop.example>", message_id=f"<n{number}@x>")
    house.receive(mailbox="Sent", sender="me@example.org", to="Änna Keller <ak@example.org>", message_id="<s@x>")
    told = await house.ask("addresses_find", name="änna")
    assert told["addresses"][0]["address"] == "Änna Keller <ak@example.org>"
    assert told["addresses"][0]["written_to"] == 1


async def test_the_overview_ranks_people_before_machines_and_says_why(house: House) -> None:
    """P-08: plain local rules."""
    house.receive("Newsletter", sender="News <newsletter@shop.example>", message_id="<1@x>")
    house.receive("Can you come?", to="memory@example.org", message_id="<2@x>")
    house.receive("Old and read", seen=True, message_id="<3@x>")
    told = await house.ask("mailboxes_overview")
    assert [one["subject"] for one in told["messages"]] == ["Can you come?", "Newsletter"]
    assert {"unread", "from a person", "asks a question"} <= set(told["messages"][0]["why"])
    assert (told["total"], told["unread"]) == (3, 2)


async def test_mailboxes_come_with_roles_and_counts_system_ones_first(house: House) -> None:
    """P-51, J-04."""
    house.personal.add_mailbox("Folders/Zebra")
    house.personal.add_mailbox("Folders")
    house.personal.boxes["Folders"].mailbox = house.personal.add_mailbox("Folders", Role.NODE)
    house.receive()
    told = await house.ask("mailboxes_list")
    paths = [one["path"] for one in told["mailboxes"]]
    assert paths[0] == "INBOX"
    assert paths[-1] == "Folders/Zebra"
    assert "Folders" not in paths
    assert told["mailboxes"][0] | {} == {"path": "INBOX", "role": "inbox", "total": 1, "unread": 1}


async def test_a_mailbox_with_a_deceptive_name_is_shown_neutralised_with_an_id_to_use(house: House) -> None:
    house.personal.add_mailbox("Folders/a\u202egnp")
    (one,) = [one for one in (await house.ask("mailboxes_list"))["mailboxes"] if one["path"].startswith("Folders/")]
    assert "\u202e" not in one["path"]
    assert (await house.ask("messages_list", mailbox=one["id"]))["status"] == "ok"


async def test_health_tells_trouble_as_an_answer(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """P-50."""

    async def ill() -> Health:
        return Health(connected=False, code="auth_failed", why="the server refused the login", next="run doctor")

    monkeypatch.setattr(house.personal, "health", ill)
    told = await house.ask("accounts_health")
    assert told["accounts"][0] | {} == {
        "account": "personal", "connected": False, "code": "auth_failed", "why": "the server refused the login",
        "next": "run doctor",
    }  # fmt: skip
    assert told["accounts"][1]["connected"] is True


async def test_the_capability_report_tells_features_effects_and_rights_with_their_source(house: House) -> None:
    """P-09, P-13, A-01."""
    told = await house.ask("capabilities_report", account="personal")
    assert told["features"]["search"] == "available"
    assert told["effects"][0]["evidence"] == "standard"
    rights = {one["effect"]: one for one in told["rights"]}
    assert rights["send"] == {"effect": "send", "verdict": "ask", "source": "preset assistant"}


async def test_a_server_that_cannot_be_reached_is_an_ordinary_answer(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def gone(*_: object) -> None:
        raise Unavailable("the mail server does not answer")

    monkeypatch.setattr(house.personal, "search", gone)
    told = await house.ask("messages_list")
    assert (told["status"], told["why"]) == ("unavailable", "the mail server does not answer")


async def test_one_message_in_two_mailboxes_is_two_occurrences_with_a_handle_each(house: House) -> None:
    """P-91: grouping never merges targets; a conversation shows the message once, under the handle that was named."""
    first = house.receive("Twice", message_id="<t@x>")
    second = house.receive("Twice", message_id="<t@x>", mailbox="Archive")
    found = await house.ask("messages_search", query="message-id:<t@x>")
    assert {one["handle"] for one in found["messages"]} == {str(first), str(second)}
    shown = await house.ask("threads_get", message=str(second))
    assert [one["handle"] for one in shown["messages"]] == [str(second)]


async def test_a_message_id_is_searched_exactly_and_with_its_case(house: House) -> None:
    """A-64."""
    house.receive(message_id="<CaSe@x>")
    assert len((await house.ask("messages_search", query="message-id:<CaSe@x>"))["messages"]) == 1
    assert "messages" not in await house.ask("messages_search", query="message-id:<case@x>")


async def test_the_internal_reference_that_bridge_adds_makes_no_conversation(house: House) -> None:
    """B-09: every message served by Bridge refers to its own id at protonmail.internalid."""
    internal = "References: <abc@protonmail.internalid>\n"
    first = house.receive("One thing", message_id="<1@x>", more=internal)
    house.receive("Another thing", message_id="<2@x>", more=internal)
    told = await house.ask("threads_get", message=str(first))
    assert len(told["messages"]) == 1
    assert "missing" not in told


async def test_an_attachment_that_is_damaged_is_told_as_such_and_never_silently_short(house: House) -> None:
    """A-69 bettered: what can be decoded is given, and the damage is named."""
    house.rules(preset="autonomous")
    raw = mixed("<p>x</p>", (("a.bin", "application/octet-stream", b"content of the file"),))
    handle = str(house.personal.add("INBOX", raw.replace(b"Y29udGVudCB", b"Y29u!!dGVudCB")))
    told = await house.ask("attachments_save", message=handle, index=1)
    assert told["notices"] == ["transfer_encoding_damaged"]


async def test_flags_of_a_row_are_the_few_that_say_something(house: House) -> None:
    """A-70 bettered: a hundred keywords cost the reader nothing."""
    flags = frozenset({"flagged", "answered", *(f"keyword{n}" for n in range(100))})
    house.personal.add("INBOX", b"Subject: x\r\n\r\n", flags=flags)
    (one,) = (await house.ask("messages_list"))["messages"]
    assert one["flagged"] is True
    assert one["answered"] is True
    assert "keyword" not in json.dumps(one)
