"""Drafts on Bridge: what six servers lost of them (scenario 6), and every step of changing one that can go wrong there.

Truth is what the account holds and what left. Bridge keeps of a draft one text and no threading headers (P-59).
"""

from __future__ import annotations

from email import message_from_bytes, policy
from typing import Any

import pytest

from mcp_proton.domain.handles import Handle
from mcp_proton.domain.mail import Role

from .bridge_desk import ANNA, BOB, ME, Desk
from .conftest import letter
from .test_bridge_sending import desk, sent

__all__ = ["desk"]
DRAFT: dict[str, Any] = {"from": ME, "to": [BOB], "subject": "Report", "text": "Here it is."}


async def file(desk: Desk) -> str:
    async with desk.artifacts.create(desk.agent, "menu.txt", "text/plain") as writer:
        await writer.write(b"soup\r\n")
        return (await writer.done()).id


async def written(desk: Desk, **more: Any) -> dict[str, Any]:
    told = await desk.ask("drafts_create", **{**DRAFT, **more})
    assert told["status"] == "ok", told
    await desk.wind(40)
    return told


async def whole(desk: Desk, handle: str) -> Any:
    raw = b"".join([piece async for piece in desk.personal.fetch(Handle.parse(handle))])
    return message_from_bytes(raw, policy=policy.default)


async def test_a_draft_with_html_file_and_hidden_recipient_survives_a_change(desk: Desk) -> None:
    """P-59, A-14, scenario 6: one lost HTML and file and told ok."""
    told = await written(desk, bcc=[ANNA], html="<p>Here <b>it</b> is.</p>", attach=[await file(desk)])
    assert told["not_on_the_server"] == ["the plain text beside the HTML"]
    changed = await desk.ask("drafts_update", draft=told["draft"], digest=told["digest"], subject="Report 2")
    assert changed["status"] == "ok", changed
    await desk.wind(40)
    assert await desk.held(Role.DRAFTS) == [changed["draft"]]
    draft = await whole(desk, changed["draft"])
    assert (draft["Subject"], draft["To"], draft["Bcc"]) == ("Report 2", BOB, ANNA)
    assert "<b>it</b>" in draft.get_body(("html",)).get_content()
    assert [one.get_filename() for one in draft.iter_attachments()] == ["menu.txt"]
    assert await desk.held(Role.TRASH) == []


async def test_a_draft_with_html_file_and_hidden_recipient_is_sent_whole_and_once(desk: Desk) -> None:
    """A-24, scenario 6: one sent it as plain text, dropped file and Bcc, and told sent."""
    told = await written(desk, bcc=[ANNA], html="<p>Here <b>it</b> is.</p>", attach=[await file(desk)])
    await sent(desk, "drafts_send", draft=told["draft"], digest=told["digest"])
    assert sorted(one.recipient for one in desk.sim.sent) == [ANNA, BOB]
    assert all("<b>it</b>" in one.text.decode() for one in desk.sim.sent)
    assert all([each.name for each in one.attachments] == ["menu.txt"] for one in desk.sim.sent)
    assert (await desk.held(Role.DRAFTS), len(await desk.held(Role.SENT))) == ([], 1)


async def test_a_reply_drafts_thread_is_lost_on_bridge_told_and_restored_when_it_is_sent(desk: Desk) -> None:
    """P-59, J-30, scenario 6: lost by all, without a word by five."""
    handle = await desk.receive_one(letter("Lunch", "At noon?", to=ME, more="References: <first@example.org>\n"))
    told = await desk.ask("drafts_create", message=handle, text="Gladly.", **{"from": ME})
    assert told["status"] == "ok", told
    assert told["not_on_the_server"] == ["what it answers"]
    await desk.wind(40)
    assert (await whole(desk, told["draft"]))["In-Reply-To"] is None
    changed = await desk.ask("drafts_update", draft=told["draft"], digest=told["digest"], text="Very gladly.")
    await desk.wind(40)
    await sent(desk, "drafts_send", draft=changed["draft"], digest=changed["digest"])
    (gone,) = desk.sim.sent
    assert (gone.recipient, gone.header["In-Reply-To"]) == (ANNA, "<a@example.org>")
    (row,) = await desk.personal.envelopes([Handle.parse(handle)])
    assert "answered" in row.flags
    assert await desk.held(Role.DRAFTS) == []


async def test_a_digest_is_the_same_after_bridge_has_heard_of_the_draft(desk: Desk) -> None:
    told = await written(desk)
    assert (await desk.ask("drafts_get", draft=told["draft"]))["digest"] == told["digest"]


async def test_a_sending_that_is_refused_leaves_the_draft_once(desk: Desk) -> None:
    """Scenario 6: another left two; Bridge's own stray is removed when it is known for one."""
    told = await written(desk, to=[ANNA])
    desk.sim.faults.fail_api("/core/v4/keys", status=422, message="no such address")
    refused = await desk.ask("drafts_send", draft=told["draft"], digest=told["digest"])
    assert (refused["status"], desk.left) == ("not_done", [])
    await desk.wind(120)
    await desk.now(refused)
    assert await desk.held(Role.DRAFTS) == [told["draft"]]


@pytest.mark.parametrize("mode", ["", "after", "drop", "after-drop"])
async def test_a_change_whose_storing_goes_wrong_loses_nothing(desk: Desk, mode: Any) -> None:
    """P-59, N-16: refused, done and refused, broken off, done twice by Bridge itself."""
    told = await written(desk, html="<p>Here <b>it</b> is.</p>", attach=[await file(desk)])
    desk.sim.faults.fail_api("/mail/v4/messages$", method="POST", mode=mode, status=500, skip=0)
    changed = await desk.ask("drafts_update", draft=told["draft"], digest=told["digest"], subject="Report 2")
    await desk.wind(120)
    (item,) = (await desk.ask("operations_status", operation_id=changed["operation_id"], items=True))["items"]
    drafts = await desk.held(Role.DRAFTS)
    kept = changed["draft"] if changed["status"] == "ok" else told["draft"]
    assert kept in drafts, "one whole draft is there, and it is said which"
    draft = await whole(desk, kept)
    assert draft["Subject"] == ("Report 2" if changed["status"] == "ok" else "Report")
    assert [each.get_filename() for each in draft.iter_attachments()] == ["menu.txt"]
    assert "<b>it</b>" in draft.get_body(("html",)).get_content()
    assert set(drafts) <= {kept, item.get("now")}, "whatever else is there is named"
    if mode == "after-drop":
        assert (drafts, item["code"]) == ([kept], "stray_removed")


async def test_an_attachment_that_cannot_be_uploaded_leaves_the_draft_before_it(desk: Desk) -> None:
    """P-59, scenario 6."""
    told = await written(desk, attach=[await file(desk)])
    desk.sim.faults.fail_api("attachments", method="POST", status=422)
    changed = await desk.ask("drafts_update", draft=told["draft"], digest=told["digest"], subject="Report 2")
    assert changed["status"] != "ok"
    await desk.wind(120)
    assert (await desk.now(changed))["status"] != "ok"
    draft = await whole(desk, told["draft"])
    assert (draft["Subject"], [one.get_filename() for one in draft.iter_attachments()]) == ("Report", ["menu.txt"])


async def test_a_discarded_draft_is_gone_for_good_and_nothing_else_is(desk: Desk) -> None:
    """P-59: permanent on Bridge, told before."""
    first, second = await written(desk), await written(desk, subject="Other")
    desk.rules(preset="assistant", rules=[{"effect": "draft", "verdict": "ask"}])
    waiting = await desk.ask("drafts_discard", messages=[first["draft"]])
    planned = await desk.service.review(waiting["operation_id"])
    assert any("for good" in line.value for line in planned.review)
    await desk.owner_asks("approvals_approve", operation_id=waiting["operation_id"])
    assert (await desk.ask("operations_resume", operation_id=waiting["operation_id"]))["done"] == 1
    await desk.wind(40)
    assert await desk.held(Role.DRAFTS) == [second["draft"]]
    assert await desk.held(Role.TRASH) == []
