"""What six mail servers for agents did wrong when they sent through Bridge, asked of the whole of ours (scenarios 5 and 6).

The door, the rules and the journal in front; the simulator behind. Truth is what left and what the account holds.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from mcp_proton.domain.handles import Handle
from mcp_proton.domain.mail import Role

from .bridge_desk import ANNA, BOB, ME, Desk, on_bridge
from .conftest import letter

MAIL: dict[str, Any] = {"from": ME, "to": [BOB], "subject": "Report", "text": "Here it is."}
SENDING_CALL = "/messages/[0-9a-f-]+$"


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    async with on_bridge() as made:
        yield made


async def sent(desk: Desk, operation: str, **arguments: Any) -> dict[str, Any]:
    """Send, and wait until it shows."""
    told = await desk.ask(operation, **arguments)
    assert told["status"] == "ok", told
    await desk.wind(40)
    return told


async def test_one_copy_is_in_sent_and_none_is_appended(desk: Desk) -> None:
    """P-92: no Sent append on Proton."""
    told = await sent(desk, "mail_send", **MAIL)
    assert (told["repeat"], told.get("sent")) == ("no_sign_of_a_repeat", None)
    assert len(await desk.held(Role.SENT)) == 1
    mail = (await desk.now(told))["mail"]
    (row,) = await desk.personal.envelopes([Handle.parse(mail["sent"])])
    assert (mail["delivery"], row.message_id, desk.left) == ("found", told["message_id"], [("Report", BOB)])


async def test_hidden_recipients_get_it_and_nobody_sees_them(desk: Desk) -> None:
    """A-41."""
    await sent(desk, "mail_send", **MAIL | {"bcc": [ANNA]})
    assert sorted(one.recipient for one in desk.sim.sent) == [ANNA, BOB]
    assert all(ANNA.encode() not in one.text for one in desk.sim.sent)


async def test_the_same_again_within_half_an_hour_is_told_and_not_swallowed(desk: Desk) -> None:
    """N-2, B-04: five of five told their caller that it was sent."""
    first = await sent(desk, "mail_send", **MAIL)
    await desk.wind(29 * 60 - 40)
    again = await desk.ask("mail_send", **MAIL)
    assert (again["status"], again["code"]) == ("conflict", "would_be_suppressed")
    assert first["operation_id"] in again["why"]
    assert len(desk.left) == 1


async def test_what_another_program_sent_a_moment_ago_is_seen_in_sent(desk: Desk) -> None:
    """N-2."""
    other = Desk(desk.sim, desk.personal)
    await sent(other, "mail_send", **MAIL)
    told = await desk.ask("mail_send", **MAIL)
    assert (told["code"], len(desk.left)) == ("would_be_suppressed", 1)
    assert "in Sent" in told["why"]


async def test_a_mail_that_was_sent_and_answered_with_an_error_is_unsure_then_found_and_never_doubled(
    desk: Desk,
) -> None:
    """P-92, N-16: all told "failed", and the second call sent a second one."""
    desk.sim.faults.fail_api(SENDING_CALL, method="POST", mode="after", status=500)
    told = await desk.ask("mail_send", **MAIL)
    assert (told["status"], told["code"]) == ("unsure", "delivery_unknown")
    again = await desk.ask("mail_send", **MAIL)
    assert (again["code"], len(desk.left)) == ("may_be_sent_already", 1)
    await desk.wind(120)
    now = await desk.now(told)
    assert (now["status"], now["mail"]["delivery"], len(desk.left)) == ("ok", "found", 1)


async def test_a_refused_mail_is_told_and_the_draft_it_left_behind_is_removed(desk: Desk) -> None:
    """N-16: all left it there, and none told."""
    desk.sim.faults.fail_api("/core/v4/keys", status=422, message="no such address")
    told = await desk.ask("mail_send", **MAIL | {"to": [ANNA]})
    assert (told["status"], told["code"], desk.left) == ("not_done", "recipients_refused", [])
    desk.sim.release_events()
    assert len(await desk.held(Role.DRAFTS)) == 1
    await desk.wind(120)
    await desk.now(told)
    assert await desk.held(Role.DRAFTS) == []


async def test_an_answer_lost_on_the_way_is_settled_by_looking(desk: Desk) -> None:
    """A-43."""
    desk.sim.faults.at("after acceptance", action="drop")
    told = await desk.ask("mail_send", **MAIL)
    assert told["status"] == "unsure"
    await desk.wind(120)
    assert (await desk.now(told))["state"] == "succeeded"
    assert len(desk.left) == 1


async def test_a_connection_lost_before_the_mail_was_taken_is_unsure_and_then_known_not_to_have_left(
    desk: Desk,
) -> None:
    desk.sim.faults.at("after DATA", action="drop")
    told = await desk.ask("mail_send", **MAIL)
    assert told["status"] == "unsure"
    await desk.now(told)
    await desk.wind(120)
    assert (await desk.now(told))["state"] == "failed"
    assert (desk.left, (await sent(desk, "mail_send", **MAIL))["status"]) == ([], "ok")


async def test_a_sender_that_is_not_owned_never_reaches_bridge(desk: Desk) -> None:
    """B-04: it would hang for 90 s, and poison the half hour after."""
    told = await desk.ask("mail_send", **MAIL | {"from": "ceo@proton.local"})
    assert (told["status"], told["code"]) == ("refused", "not_your_address")
    assert (desk.left, desk.sim.state(), desk.sim.smtp_sessions) == ([], {}, set())


async def test_a_reply_finds_its_thread_and_marks_what_it_answers(desk: Desk) -> None:
    """P-60, A-21."""
    handle = await desk.receive_one(letter("Lunch", "At noon?", to=ME, more="References: <first@example.org>\n"))
    await sent(desk, "mail_reply", message=handle, text="Gladly.", **{"from": ME})
    (gone,) = desk.sim.sent
    assert (gone.recipient, gone.header["In-Reply-To"]) == (ANNA, "<a@example.org>")
    (row,) = await desk.personal.envelopes([Handle.parse(handle)])
    assert "answered" in row.flags


async def test_reply_to_is_honoured(desk: Desk) -> None:
    """A-21: one of five went to From."""
    handle = await desk.receive_one(letter("Lunch", to=ME, more="Reply-To: other@example.net\n"))
    await sent(desk, "mail_reply", message=handle, text="Gladly.", **{"from": ME})
    assert [one.recipient for one in desk.sim.sent] == ["other@example.net"]


async def test_a_reply_to_ones_own_mail_goes_to_the_other(desk: Desk) -> None:
    """A-22: two of two wrote to oneself."""
    await sent(desk, "mail_send", **MAIL)
    (own,) = await desk.held(Role.SENT)
    await sent(desk, "mail_reply_all", message=own, text="And one more thing.", **{"from": ME})
    assert [one.recipient for one in desk.sim.sent] == [BOB, BOB]


async def test_a_forward_carries_the_file(desk: Desk) -> None:
    """A-23: four of five dropped it without a word."""
    more = 'Content-Disposition: attachment; filename="list.csv"\n'
    handle = await desk.receive_one(letter("List", "a,b,c", to=ME, more=more))
    await sent(desk, "mail_forward", message=handle, to=[BOB], text="For you.", **{"from": ME})
    (gone,) = desk.sim.sent
    assert [one.name for one in gone.attachments] == ["list.csv"]
    (row,) = await desk.personal.envelopes([Handle.parse(handle)])
    assert "forwarded" in row.flags or "$forwarded" in {flag.lower() for flag in row.flags}


async def test_two_at_once_are_sent_one_after_the_other_and_a_double_is_refused(desk: Desk) -> None:
    """B-04: sends of one account are serial."""
    told = await asyncio.gather(*(desk.ask("mail_send", **MAIL) for _ in range(3)))
    assert sorted(one["status"] for one in told) == ["conflict", "conflict", "ok"]
    assert len(desk.left) == 1


async def test_a_bridge_that_was_cut_off_has_heard_of_nothing_yet_and_nothing_is_concluded_from_that(
    desk: Desk,
) -> None:
    """N-16: a mail that left, a Bridge that lost the network: what its Sent does not show means nothing for a while."""
    desk.sim.faults.at("after acceptance", action="drop")
    told = await desk.ask("mail_send", **MAIL)
    await desk.sim.go_offline()
    desk.clock.wind(seconds=600)
    assert (await desk.now(told))["status"] == "unsure"
    await desk.sim.go_online()
    assert (await desk.now(told))["status"] == "unsure"  # ten minutes are over, but Bridge is back for a moment only
    again = await desk.ask("mail_send", **MAIL)
    assert (again["code"], len(desk.left)) == ("may_be_sent_already", 1)
    await desk.wind(40)
    for _ in range(300):  # connecting again after a loss takes the backend some patience
        if (now := await desk.now(told))["state"] == "succeeded":
            break
        await asyncio.sleep(0.1)
    assert (now["state"], len(desk.left)) == ("succeeded", 1)
