"""Answers and forwards: to whom, from whom, with what: everything the original decides, and nothing it must not (A-21…A-23)."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_proton.domain.mail import Identity

from .conftest import House, letter
from .test_sending import left, open_house

__all__ = ["open_house"]
ME = "personal@example.org"
INVITATION = """From: Anna Example <anna@example.org>
To: personal@example.org
Subject: Lunch
Message-ID: <invitation@example.org>
Date: Mon, 30 Nov 2026 10:00:00 +0000
MIME-Version: 1.0
Content-Type: text/calendar; charset=utf-8; method=REQUEST

BEGIN:VCALENDAR
VERSION:2.0
PRODID:-//x//y//EN
METHOD:REQUEST
BEGIN:VEVENT
UID:lunch-1
DTSTAMP:20261130T100000Z
DTSTART:20261201T120000Z
DTEND:20261201T130000Z
SUMMARY:Lunch
ORGANIZER;CN=Anna Example:mailto:anna@example.org
ATTENDEE;PARTSTAT=NEEDS-ACTION:mailto:personal@example.org
END:VEVENT
END:VCALENDAR
"""


async def one(house: House, operation: str, **arguments: Any) -> Any:
    """Do it, and return the one mail that left by it."""
    before = len(left(house))
    told = await house.ask(operation, **arguments)
    assert told["status"] == "ok", told
    assert len(left(house)) == before + 1
    return left(house)[-1]


async def test_a_reply_goes_to_the_sender_with_both_threading_fields_and_the_original_quoted(open_house: House) -> None:
    """A-21, J-28, P-60."""
    message = str(open_house.receive("Lunch", "At noon?", to=ME, more="References: <first@example.org>\n"))
    mail = await one(open_house, "mail_reply", message=message, text="Gladly.")
    assert (mail["To"], mail["Subject"], mail["From"]) == (
        "Anna Example <anna@example.org>",
        "Re: Lunch",
        "Personal <personal@example.org>",
    )
    assert (mail["In-Reply-To"], mail["References"]) == ("<a@example.org>", "<first@example.org> <a@example.org>")
    assert mail.get_content().splitlines()[0] == "Gladly."
    assert "> At noon?" in mail.get_content()


async def test_a_reply_without_quoting_holds_ones_own_words_only(open_house: House) -> None:
    message = str(open_house.receive("Lunch", "At noon?", to=ME))
    mail = await one(open_house, "mail_reply", message=message, text="Gladly.", quote=False)
    assert mail.get_content().strip() == "Gladly."


async def test_a_message_that_was_answered_is_marked_so_where_the_server_does_not(open_house: House) -> None:
    handle = open_house.receive("Lunch", "At noon?", to=ME)
    await one(open_house, "mail_reply", message=str(handle), text="Gladly.")
    await one(open_house, "mail_forward", message=str(handle), to=["anna@example.org"])
    (row,) = await open_house.personal.envelopes([handle])
    assert {"answered", "forwarded"} <= row.flags


async def test_reply_to_is_honoured_and_a_stranger_there_is_asked_about(open_house: House) -> None:
    """A-21, N-7: an address that only a received mail names is not written to unasked, even where sending is allowed."""
    message = str(open_house.receive("Lunch", to=ME, more="Reply-To: other@elsewhere.example\n"))
    told = await open_house.ask("mail_reply", message=message, text="Gladly.")
    assert told["status"] == "approval_pending"
    assert "other@elsewhere.example" in told["why"]
    shown = await open_house.owner_asks("approvals_show", operation_id=told["operation_id"])
    assert any(line["label"] == "first contact" and line["risk"] for line in shown["lines"])
    assert left(open_house) == []


async def test_the_sender_of_the_message_answered_is_no_first_contact_but_for_any_other_mail_still_one(
    open_house: House,
) -> None:
    """N-7."""
    message = str(open_house.receive("Hello", sender="New <new@example.net>", to=ME))
    assert (await open_house.ask("mail_send", to=["new@example.net"], subject="x", text="y"))[
        "status"
    ] == "approval_pending"
    assert (await open_house.ask("mail_forward", message=message, to=["new@example.net"]))[
        "status"
    ] == "approval_pending"
    mail = await one(open_house, "mail_reply", message=message, text="Hello.")
    assert mail["To"] == "New <new@example.net>"
    assert (await open_house.ask("mail_send", to=["new@example.net"], subject="x", text="y"))["status"] == "ok"


async def test_a_recipient_the_owner_named_in_a_boundary_is_known(open_house: House) -> None:
    """N-7, P-15."""
    open_house.rules(preset="autonomous", boundaries={"recipients": ["@example.net"]})
    assert (await open_house.ask("mail_send", to=["new@example.net"], subject="x", text="y"))["status"] == "ok"


async def test_reply_all_leaves_out_oneself_and_doubles_and_answers_that_take_none(open_house: House) -> None:
    """A-22."""
    open_house.rules(preset="autonomous", boundaries={"recipients": ["@example.org", "@example.net"]})
    to = f"{ME}, Bob <bob@example.net>, ANNA@example.org"
    message = str(open_house.receive("Lunch", to=to, more=f"Cc: no-reply@example.net, Personal <{ME.upper()}>\n"))
    mail = await one(open_house, "mail_reply_all", message=message, text="Gladly.")
    assert (mail["To"], mail["Cc"]) == ("Anna Example <anna@example.org>", "Bob <bob@example.net>")
    assert {one.lower() for one in open_house.personal.outgoing.sent[-1].recipients} == {
        "anna@example.org",
        "bob@example.net",
    }


async def test_a_reply_to_ones_own_sent_mail_goes_to_whom_it_went(open_house: House) -> None:
    """Scenario 5 of what other servers did: to oneself."""
    open_house.rules(preset="autonomous", boundaries={"recipients": ["@example.net"]})
    message = str(
        open_house.receive(
            "Plan", to="bob@example.net", sender=f"Me <{ME}>", mailbox="Sent", message_id="<own@example.org>"
        )
    )
    for operation in ("mail_reply", "mail_reply_all"):
        mail = await one(open_house, operation, message=message, text=f"More, by {operation}.")
        assert (mail["To"], mail["Cc"]) == ("bob@example.net", None)


async def test_an_address_that_takes_no_answers_is_written_to_only_when_asked_for(open_house: House) -> None:
    message = str(open_house.receive("News", sender="no-reply@example.org", to=ME))
    told = await open_house.ask("mail_reply", message=message, text="Hello?")
    assert (told["status"], told["code"]) == ("refused", "nobody_to_answer")
    assert (await one(open_house, "mail_reply", message=message, text="Hello?", no_reply=True))[
        "To"
    ] == "no-reply@example.org"


async def test_a_forward_carries_the_files_along(open_house: House) -> None:
    """A-23, J-29: five servers dropped them without a word."""
    more = 'Content-Disposition: attachment; filename="list.csv"\n'
    message = str(open_house.receive("List", "a,b", to=ME, more=more))
    mail = await one(open_house, "mail_forward", message=message, to=["anna@example.org"], text="For you.")
    assert mail["Subject"] == "Fwd: List"
    assert [part.get_filename() for part in mail.iter_attachments()] == ["list.csv"]
    assert "Forwarded message" in mail.get_body().get_content()
    bare = await one(open_house, "mail_forward", message=message, to=["anna@example.org"], attachments=False)
    assert list(bare.iter_attachments()) == []


async def test_a_forward_as_a_file_is_the_message_itself(open_house: House) -> None:
    """A-23, P-60."""
    handle = open_house.receive("List", "a,b", to=ME)
    mail = await one(open_house, "mail_forward", message=str(handle), to=["anna@example.org"], mode="attached")
    (attached,) = mail.iter_attachments()
    assert attached.get_content_type() == "message/rfc822"
    assert attached.get_content()["Message-ID"] == "<a@example.org>"


@pytest.mark.parametrize("response", ["accepted", "tentative", "declined"])
async def test_an_invitation_is_answered_to_its_organizer(open_house: House, response: str) -> None:
    message = str(open_house.personal.add("INBOX", INVITATION.replace("\n", "\r\n").encode()))
    mail = await one(open_house, "invitations_answer", message=message, response=response)
    assert mail["To"] == "Anna Example <anna@example.org>"
    (calendar,) = [part for part in mail.walk() if part.get_content_type() == "text/calendar"]
    assert calendar.get_param("method") == "REPLY"
    assert f"PARTSTAT={response.upper()}" in calendar.get_content()


async def test_an_answer_comes_from_the_address_that_was_written_to(open_house: House) -> None:
    """J-137."""
    open_house.personal.outgoing.identities = [
        Identity("first@example.org"),
        Identity("second@example.org", "Second", signature="S."),
    ]
    message = str(open_house.receive("Lunch", "At noon?", to="second@example.org"))
    mail = await one(open_house, "mail_reply", message=message, text="Gladly.")
    assert mail["From"] == "Second <second@example.org>"
    assert mail.get_content().splitlines()[:5] == ["Gladly.", "", "-- ", "S.", ""]


async def test_an_answer_waits_shows_what_is_new_in_it_and_is_void_when_its_message_is_gone(house: House) -> None:
    """N-6, P-38."""
    handle = house.receive("Lunch", "At noon?", to=ME)
    waiting = await house.ask("mail_reply", message=str(handle), text="Gladly.")
    shown = await house.owner_asks("approvals_show", operation_id=waiting["operation_id"])
    lines = {line["label"]: line["value"] for line in shown["lines"]}
    assert lines["new text"] == "Gladly.\n\n[…]"
    assert lines["answers"] == str(handle)
    await house.owner_asks("approvals_approve", operation_id=waiting["operation_id"])
    house.personal.rebuild("INBOX")
    told = await house.ask("operations_resume", operation_id=waiting["operation_id"])
    assert (told["status"], len(left(house))) == ("ok", 1)  # everything of it was fixed before


async def test_mail_of_others_that_was_put_into_sent_makes_nobody_known(open_house: House) -> None:
    """N-7: only what the owner wrote says whom the owner wrote to."""
    open_house.receive("Planted", to="evil@attacker.example", mailbox="Sent", message_id="<planted@example.net>")
    told = await open_house.ask("mail_send", to=["evil@attacker.example"], subject="x", text="y")
    assert told["status"] == "approval_pending"


async def test_a_forward_of_html_keeps_it_made_safe(open_house: House) -> None:
    """P-95."""
    raw = letter("Offer", "<p>Now <b>cheap</b></p><script>x()</script><img src='https://track.example/p'>").replace(
        b"text/plain", b"text/html"
    )
    message = str(open_house.personal.add("INBOX", raw))
    mail = await one(open_house, "mail_forward", message=message, to=["anna@example.org"], text="Look < here")
    page = mail.get_body(("html",)).get_content()
    assert "<b>cheap</b>" in page
    assert "Look &lt; here" in page
    assert "script" not in page
    assert "track.example" not in page


async def test_a_reply_in_html_alone_says_the_same_in_plain_text(open_house: House) -> None:
    message = str(open_house.receive("Lunch", "At noon?", to=ME))
    mail = await one(open_house, "mail_reply", message=message, text="", html="<p>Gladly</p>")
    assert mail.get_body(("plain",)).get_content().startswith("Gladly")
    assert "Gladly" in mail.get_body(("html",)).get_content()


@pytest.mark.parametrize("way", ["mail_reply", "mail_reply_all", "mail_forward"])
@pytest.mark.parametrize(
    "hostile",
    [
        {"subject": "x" * 50_000},
        {"sender": "Jean\u00a0Dupont <anna@example.org>"},
        {"sender": '"a, b <c>; \\"d\\"" <anna@example.org>'},
        {"sender": "=?utf-8?q?a=0Ab=00c?= <anna@example.org>"},
        {"sender": "<anna@example.org>, <second@example.org>"},
        {"sender": "nobody"},
        {"sender": "<anna@example.org\x00>"},
        {"text": "y" * 3_000_000},
        {"more": "References: " + " ".join(f"<{n}@example.org>" for n in range(5_000)) + "\n"},
        {"more": "Cc: " + ", ".join(f"p{n}@example.org" for n in range(500)) + "\n"},
        {"message_id": "<a b\x01@x>"},
        {"more": "Reply-To: undisclosed-recipients:;\n"},
    ],
    ids=[
        "subject",
        "nbsp",
        "quoted name",
        "controls",
        "two",
        "no address",
        "nul",
        "long",
        "references",
        "crowd",
        "id",
        "group",
    ],
)
async def test_whatever_is_answered_the_answer_is_ordinary(
    open_house: House, way: str, hostile: dict[str, str]
) -> None:
    """A hostile original makes an answer that can be sent, or a refusal that says why; never a fault."""
    open_house.rules(preset="autonomous", boundaries={"recipients": ["@example.org"]})
    message = str(open_house.receive(**{"to": ME} | hostile))
    arguments = {"to": ["anna@example.org"]} if way == "mail_forward" else {}
    told = await open_house.ask(way, message=message, text="Hello.", **arguments)
    assert told["status"] in {"ok", "refused"}, told
    assert told.get("code") != "internal"
    if told["status"] == "ok":
        (mail,) = left(open_house)
        assert mail["From"] == "Personal <personal@example.org>"
        assert max(map(len, open_house.personal.outgoing.sent[0].raw.split(b"\r\n"))) <= 998
