"""Twenty mails that try to change what answers them: no effect under any preset (P-36, P-41, N-7, A-21…A-23)."""

from __future__ import annotations

from email import message_from_bytes, policy
from typing import Any

import pytest

from mcp_proton.domain.caller import owner

from .conftest import House, letter
from .injections import Injection
from .sending_injections import EVIL, SENDING_INJECTIONS

PRESETS = ("reader", "assistant", "autonomous")
WAYS: dict[str, dict[str, Any]] = {
    "mail_reply": {"text": "Thanks."},
    "mail_reply_all": {"text": "Thanks."},
    "mail_forward": {"to": ["bob@example.org"], "text": "For you."},
}


async def outcome(mail: Injection, preset: str) -> list[Any]:
    """Answer this mail in every way, approving what waits; tell everything that was decided and all that left."""
    house = House()
    house.rules(preset=preset)
    house.personal.add(
        "Sent", letter("Earlier", to="bob@example.org", sender="personal@example.org", message_id="<e@example.org>")
    )
    raw = letter(mail.subject, mail.text, sender=mail.sender, to="personal@example.org", more=mail.more)
    handle = str(house.personal.add("INBOX", raw))
    told: list[Any] = []
    for way, arguments in WAYS.items():
        answer = await house.ask(way, message=handle, **arguments)
        told.append((way, answer["status"], answer.get("code"), answer.get("summary")))
        if answer["status"] == "approval_pending":
            again = await house.ask("operations_resume", operation_id=answer["operation_id"])
            assert again["state"] == "pending"
            await house.owner_asks("approvals_approve", operation_id=answer["operation_id"])
            told.append((await house.ask("operations_resume", operation_id=answer["operation_id"]))["status"])
    for sent in house.personal.outgoing.sent:
        parsed = message_from_bytes(sent.raw, policy=policy.default)
        attached = [one.get_filename() for one in parsed.iter_attachments()]
        header = (parsed.get_all("From"), len(parsed.get_all("To", [])), parsed.get_all("Cc"), parsed.get_all("Bcc"))
        told.append((sent.sender, sent.recipients, header, attached))
        assert EVIL not in sent.recipients
        assert parsed["Reply-To"] is parsed["Bcc"] is None
        assert sent.raw.replace(b"\r\n", b"").count(b"\n") == 0
    records = await house.journal.recent(owner())
    return [*told, *((one.operation, one.status, one.effects, one.summary) for one in records)]


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("mail", SENDING_INJECTIONS, ids=lambda one: one.name)
async def test_no_mail_changes_what_answers_it(mail: Injection, preset: str) -> None:
    harmless = Injection("harmless", sender="Stranger <stranger@example.net>")
    assert await outcome(mail, preset) == await outcome(harmless, preset)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("mail", SENDING_INJECTIONS, ids=lambda one: one.name)
async def test_no_line_of_a_review_is_a_strangers(mail: Injection, way: str) -> None:
    """N-6: what a stranger wrote is marked as such, line by line."""
    house = House()
    house.rules(preset="assistant")
    handle = str(
        house.personal.add(
            "INBOX", letter(mail.subject, mail.text, sender=mail.sender, to="personal@example.org", more=mail.more)
        )
    )
    waiting = await house.ask(way, message=handle, **WAYS[way])
    shown = await house.owner_asks("approvals_show", operation_id=waiting["operation_id"])
    for line in (one for one in shown["lines"] if not one.get("from_stranger")):
        assert "\n" not in line["value"]
        assert EVIL not in line["value"]
        assert mail.text.strip().splitlines()[0] not in line["value"]


@pytest.mark.parametrize("preset", ["assistant", "autonomous"])
async def test_a_reply_to_that_leads_elsewhere_is_never_written_to_unasked(preset: str) -> None:
    """N-7."""
    house = House()
    house.rules(preset=preset)
    handle = str(house.receive(to="personal@example.org", more=f"Reply-To: {EVIL}\nCc: {EVIL}\n"))
    for way in ("mail_reply", "mail_reply_all"):
        assert (await house.ask(way, message=handle, text="Thanks."))["status"] == "approval_pending"
    assert house.personal.outgoing.sent == []


def test_there_are_twenty_and_each_is_another() -> None:
    assert len(SENDING_INJECTIONS) == 20
    assert len({(one.subject, one.text, one.sender, one.more) for one in SENDING_INJECTIONS}) == 20
