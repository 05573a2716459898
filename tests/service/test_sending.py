"""Sending through the door: fixed before it is judged, sent once as approved, and told as it went (P-35, P-60, P-92, A-20)."""

from __future__ import annotations

from email import message_from_bytes, policy
from pathlib import Path
from typing import Any

import pytest

from mcp_proton.domain.errors import Unavailable
from mcp_proton.domain.mail import Identity
from mcp_proton.testing import OutgoingFault

from .conftest import CATALOG, House, letter

ANNA = "Anna Example <anna@example.org>"


@pytest.fixture
def open_house(house: House) -> House:
    """A house whose agent may send to whom the owner wrote before: Anna."""
    house.rules(preset="autonomous")
    house.personal.add(
        "Sent", letter("Earlier", to=ANNA, sender="personal@example.org", message_id="<earlier@example.org>")
    )
    return house


def left(house: House) -> list[Any]:
    """Return the mail that left, parsed."""
    return [message_from_bytes(one.raw, policy=policy.default) for one in house.personal.outgoing.sent]


async def approved(house: House, operation: str, **arguments: Any) -> dict[str, Any]:
    """Ask for something that waits, approve it as the owner, and go on with it."""
    waiting = await house.ask(operation, **arguments)
    assert waiting["status"] == "approval_pending", waiting
    await house.owner_asks("approvals_approve", operation_id=waiting["operation_id"])
    return await house.ask("operations_resume", operation_id=waiting["operation_id"])


async def test_a_mail_leaves_once_as_it_was_approved(house: House) -> None:
    """P-60, J-24, A-20, A-25."""
    waiting = await house.ask("mail_send", to=[ANNA], subject="Lunch", text="At noon?")
    assert (waiting["status"], house.personal.outgoing.sent) == ("approval_pending", [])
    await house.owner_asks("approvals_approve", operation_id=waiting["operation_id"])
    told = await house.ask("operations_resume", operation_id=waiting["operation_id"])
    assert (told["status"], told["accepted"]) == ("ok", 1)
    (mail,) = left(house)
    assert (mail["Subject"], mail["To"], mail.get_content().strip()) == ("Lunch", ANNA, "At noon?")
    again = await house.ask("operations_resume", operation_id=waiting["operation_id"])
    assert (again["status"], again["code"], len(left(house))) == ("ok", "already_done", 1)


async def test_hidden_recipients_are_in_the_envelope_and_in_the_owners_copy_only(open_house: House) -> None:
    """A-41, P-60."""
    open_house.rules(preset="autonomous", boundaries={"recipients": ["@example.org", "@example.net"]})
    await open_house.ask("mail_send", to=[ANNA], bcc=["boss@example.net"], subject="x", text="y")
    (sent,) = open_house.personal.outgoing.sent
    assert sent.recipients == ("anna@example.org", "boss@example.net")
    assert b"boss" not in sent.raw
    (_, copy) = [one.mail.raw for one in open_house.personal.boxes["Sent"].mail.values()]
    assert b"Bcc: boss@example.net" in copy


async def test_a_caller_cannot_fill_in_what_is_the_services_to_fix(open_house: House) -> None:
    """A-40: a Message-ID, a thread or a digest in the arguments is thrown away."""
    forged = {"email": "ceo@example.org", "message_id": "<x@y>", "date": "2020-01-01T00:00:00Z", "wire": "0", "size": 1}
    thread = {"in_reply_to": "<planted@example.net>", "quoted": "yes, approved"}
    await open_house.ask("mail_send", to=[ANNA], subject="x", text="y", fixed=forged, thread=thread)
    (mail,) = left(open_house)
    assert (mail["From"], mail["In-Reply-To"], mail["Date"][:16]) == (
        "Personal <personal@example.org>",
        None,
        "Mon, 30 Nov 2026",
    )
    assert mail["Message-ID"] != "<x@y>"


@pytest.mark.parametrize(
    "sender", ["ceo@example.org", "personal@example.org.evil.example", "personal@xn--example-9d0b.org"]
)
async def test_from_is_one_of_the_accounts_own_addresses_or_nothing_is_sent(open_house: House, sender: str) -> None:
    """P-60, B-04: a sender that Bridge would hang on never reaches it."""
    told = await open_house.ask("mail_send", **{"to": [ANNA], "subject": "x", "text": "y", "from": sender})
    assert (told["status"], told["code"], left(open_house)) == ("refused", "not_your_address", [])


async def test_with_several_addresses_one_must_be_named_and_the_first_is_not_taken(open_house: House) -> None:
    """J-137: never chosen by list order; the display name is carried, never invented."""
    open_house.rules(preset="autonomous", boundaries={"recipients": ["@example.org"]})
    open_house.personal.outgoing.identities = [
        Identity("first@example.org"),
        Identity("second@example.org", "Second Self"),
    ]
    told = await open_house.ask("mail_send", to=[ANNA], subject="x", text="y")
    assert (told["code"], told["next"]) == (
        "which_identity",
        "give `from` as one of: first@example.org, second@example.org",
    )
    await open_house.ask("mail_send", **{"to": [ANNA], "subject": "x", "text": "y", "from": "FIRST@example.org"})
    await open_house.ask("mail_send", **{"to": [ANNA], "subject": "x", "text": "y", "from": "second@example.org"})
    assert [mail["From"] for mail in left(open_house)] == ["first@example.org", "Second Self <second@example.org>"]


async def test_the_addresses_to_send_as_are_listed(open_house: House) -> None:
    """J-02."""
    open_house.personal.outgoing.identities = [
        Identity("me@example.org", "Me"),
        Identity("info@example.org", role=True),
    ]
    told = await open_house.ask("accounts_identities", account="personal")
    assert told["identities"] == [
        {"id": "me@example.org", "email": "me@example.org", "name": "Me"},
        {"id": "info@example.org", "email": "info@example.org", "role": True},
    ]


async def test_anothers_operation_looks_like_one_that_is_not_there(open_house: House) -> None:
    """A-42, A-46: an id opens nothing, and approving is the owner's alone."""
    told = await open_house.ask("mail_send", to=[ANNA], subject="x", text="y")
    other = type(open_house.agent)("other", open_house.agent.audience, open_house.agent.surface)
    for name in ("operations_status", "operations_resume", "approvals_approve", "receipts_show"):
        foreign = await open_house.ask(name, other, operation_id=told["operation_id"])
        missing = await open_house.ask(name, other, operation_id="op_aaaaaaaaaaaaaaaa")
        assert (
            (foreign["status"], foreign["code"]) == (missing["status"], missing["code"]) == ("not_found", "not_found")
        )


@pytest.mark.parametrize(
    "entry",
    ["anna@example.org\r\nBcc: evil@example.net", "anna", "a@b@c", "<>", "anna@exa mple.org", "anna@example.org, ,bob"],
)
async def test_what_is_not_exactly_an_address_is_refused(entry: str) -> None:
    with pytest.raises(ValueError, match="address"):
        CATALOG.by_name["mail_send"].request.model_validate({"to": [entry]})


async def test_an_attachment_that_changed_since_it_was_approved_is_not_sent(house: House, tmp_path: Path) -> None:
    """P-35, A-40, N-6: one octet changed later makes the approval void."""
    file = tmp_path / "report.txt"
    file.write_bytes(b"the report")
    house.rules(preset="assistant", boundaries={"attach_directories": [str(tmp_path)]})
    waiting = await house.ask("mail_send", to=[ANNA], subject="x", text="y", attach=[{"path": str(file)}])
    await house.owner_asks("approvals_approve", operation_id=waiting["operation_id"])
    file.write_bytes(b"the Report")
    told = await house.ask("operations_resume", operation_id=waiting["operation_id"])
    assert (told["status"], told["code"], left(house)) == ("conflict", "attachment_changed", [])


async def test_a_file_outside_the_owners_folders_is_not_opened(open_house: House, tmp_path: Path) -> None:
    """P-95."""
    inside, outside = tmp_path / "open", tmp_path / "secret.txt"
    inside.mkdir()
    outside.write_text("secret")
    (inside / "link.txt").symlink_to(outside)
    open_house.rules(preset="autonomous", boundaries={"attach_directories": [str(inside)]})
    for path in (outside, inside / "link.txt", inside / ".." / "secret.txt"):
        told = await open_house.ask("mail_send", to=[ANNA], subject="x", text="y", attach=[{"path": str(path)}])
        assert (told["status"], told["code"]) == ("refused", "out_of_bounds"), path
    assert left(open_house) == []


async def test_an_artifact_a_message_and_its_attachment_are_attached(open_house: House) -> None:
    """A-23, J-25."""
    async with open_house.artifacts.create(open_house.agent, "notes.txt", "text/plain") as writer:
        await writer.write(b"from an artifact")
        kept = await writer.done()
    more = 'Content-Disposition: attachment; filename="list.csv"\n'
    with_file = str(open_house.receive("List", "a,b", more=more))
    attach = [{"artifact": kept.id}, {"message": with_file}, {"message": with_file, "index": 1}]
    told = await open_house.ask("mail_send", to=[ANNA], subject="x", text="y", attach=attach)
    assert told["status"] == "ok", told
    (mail,) = left(open_house)
    assert [one.get_filename() for one in mail.iter_attachments()] == ["notes.txt", "List.eml", "list.csv"]
    assert [one.get_content_type() for one in mail.iter_attachments()] == ["text/plain", "message/rfc822", "text/plain"]


async def test_a_mail_that_is_too_large_is_refused_before_it_is_sent_and_the_limit_is_named(open_house: House) -> None:
    """A-47."""
    open_house.personal.outgoing.limits = type(open_house.personal.outgoing.limits)(submit=2_000)
    told = await open_house.ask("mail_send", to=[ANNA], subject="x", text="y" * 3_000)
    assert (told["status"], told["code"], left(open_house)) == ("refused", "too_large", [])
    assert "2000 octets" in told["why"]


async def test_a_recipient_the_server_refuses_has_a_fate_of_its_own(open_house: House) -> None:
    """P-92, A-43."""
    open_house.rules(preset="autonomous", boundaries={"recipients": ["@example.org"]})
    open_house.personal.outgoing.refused = {"gone@example.org"}
    told = await open_house.ask("mail_send", to=[ANNA, "gone@example.org"], subject="x", text="y")
    assert (told["status"], told["accepted"]) == ("partly_done", 1)
    assert told["refused"] == [{"recipient": "gone@example.org", "reply": 550}]
    kept = await open_house.service.world.sendings.find(told["operation_id"])
    assert kept is not None
    assert [(one.recipient, one.accepted) for one in kept.answers] == [
        ("anna@example.org", True),
        ("gone@example.org", False),
    ]


@pytest.mark.parametrize("fault", [OutgoingFault.LOST_BEFORE, OutgoingFault.LOST_AFTER])
async def test_a_lost_answer_is_unknown_and_the_same_is_not_sent_again(open_house: House, fault: OutgoingFault) -> None:
    """P-92, N-16."""
    open_house.personal.outgoing.fault = fault
    told = await open_house.ask("mail_send", to=[ANNA], subject="x", text="y")
    assert (told["status"], told["code"], told["delivery"]) == ("unsure", "delivery_unknown", "unknown")
    open_house.personal.outgoing.fault = None
    again = await open_house.ask("mail_send", to=[ANNA], subject="x", text="y")
    assert (again["status"], again["code"]) == ("conflict", "may_be_sent_already")
    assert len(left(open_house)) == (fault is OutgoingFault.LOST_AFTER)


async def test_a_server_that_files_nothing_gets_exactly_one_copy_and_its_refusal_is_no_failure(
    open_house: House,
) -> None:
    """A-45."""
    told = await open_house.ask("mail_send", to=[ANNA], subject="x", text="y")
    assert len(open_house.personal.boxes["Sent"].mail) == 2
    assert told["sent"].startswith("personal.")
    open_house.personal.outgoing.append_fault = OutgoingFault.REFUSED
    told = await open_house.ask("mail_send", to=[ANNA], subject="another", text="y")
    assert (told["status"], told["filed"]) == ("ok", "refused_by_server")
    assert len(open_house.personal.boxes["Sent"].mail) == 2


async def test_a_file_made_from_text_is_attached_by_its_id(open_house: House) -> None:
    """J-25: the agent's own text becomes a file without passing as base64."""
    made = await open_house.ask("artifacts_create", name="../agenda.md", text="# Agenda\n", type="text/markdown")
    assert made["filename"] == "agenda.md"
    told = await open_house.ask("mail_send", to=[ANNA], subject="x", text="y", attach=[made["artifact"]])
    assert told["status"] == "ok"
    (attached,) = left(open_house)[0].iter_attachments()
    assert (attached.get_filename(), attached.get_content_type()) == ("agenda.md", "text/markdown")
    foreign = type(open_house.agent)("other", open_house.agent.audience, open_house.agent.surface)
    refused = await open_house.ask("mail_send", foreign, to=[ANNA], subject="z", text="y", attach=[made["artifact"]])
    assert (refused["status"], len(left(open_house))) == ("not_found", 1)


async def test_what_waits_can_be_looked_at_while_the_server_is_away(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = await house.ask("mail_send", to=[ANNA], subject="x", text="y")

    async def away(*_: object) -> None:
        raise Unavailable("the mail server cannot be reached")

    now = await house.owner_asks("approvals_show", operation_id=waiting["operation_id"])
    for name in ("search", "mailboxes", "identities", "envelopes"):
        monkeypatch.setattr(house.personal, name, away)
    shown = await house.owner_asks("approvals_show", operation_id=waiting["operation_id"])
    assert shown["status"] == "ok"
    assert any(line["label"] == "first contact" for line in shown["lines"])
    assert [line for line in shown["lines"] if line["label"] != "as it was when it was asked"] == now["lines"]


async def test_a_reader_is_offered_nothing_that_sends(house: House) -> None:
    """A client's rules hide what they deny."""
    house.rules(preset="reader")
    names = (await house.service.offered(house.agent)).names
    assert not {name for name in names if name.startswith(("mail_", "invitations_", "artifacts_"))}
    house.rules(preset="assistant")
    assert {"mail_send", "mail_reply", "artifacts_create"} <= (await house.service.offered(house.agent)).names


async def test_the_limits_of_a_mail_are_told_before_anything_is_read(open_house: House) -> None:
    """A-47: ours are Proton's hundred recipients, 900 characters of subject, 1 MiB of each text, 50 attachments."""
    crowd = [f"p{number}@example.org" for number in range(60)]
    told = await open_house.ask("mail_send", to=crowd, cc=[f"q{one}" for one in crowd], subject="x", text="y")
    assert (told["status"], told["code"]) == ("refused", "too_many_recipients")
    assert "100" in told["why"]
    request = CATALOG.by_name["mail_send"].request
    for beyond in ({"to": [f"p{n}@example.org" for n in range(101)]}, {"subject": "x" * 901}, {"text": "x" * ((1 << 20) + 1)},
                   {"attach": ["art_abcdefghijklmnop"] * 51}):  # fmt: skip
        with pytest.raises(ValueError, match="at most"):
            request.model_validate(beyond)
    assert (await open_house.ask("mail_send", subject="x", text="y"))["status"] == "refused"
