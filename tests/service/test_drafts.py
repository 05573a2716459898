"""Drafts through the door: nothing of one is lost, doubled or changed unseen (P-59, J-30, J-31, A-13, A-14, A-24)."""

from __future__ import annotations

from email import message_from_bytes, policy
from typing import Any

import pytest

from mcp_proton.domain.handles import Handle
from mcp_proton.testing.outgoing import OutgoingFault

from .conftest import House, held, letter
from .test_sending import ANNA, approved, left

LETTER = {"to": [ANNA], "subject": "Lunch", "text": "At noon?"}


def stored(house: House, handle: str) -> Any:
    return message_from_bytes(house.personal.find(Handle.parse(handle)).mail.raw, policy=policy.default)


async def file(house: House, name: str = "menu.txt", octets: bytes = b"soup\r\n") -> str:
    async with house.artifacts.create(house.agent, name, "text/plain") as writer:
        await writer.write(octets)
        return (await writer.done()).id


async def written(house: House, **more: Any) -> dict[str, Any]:
    told = await house.ask("drafts_create", **{**LETTER, **more})
    assert told["status"] == "ok", told
    return told


async def test_a_draft_is_stored_as_it_was_written(house: House) -> None:
    """P-59, A-13, J-30: files and hidden recipients too; it is in Drafts, read, and nothing leaves."""
    told = await written(house, bcc=["boss@example.net"], html="<p>At <b>noon</b>?</p>", attach=[await file(house)])
    draft = stored(house, told["draft"])
    assert (draft["Subject"], draft["To"], draft["Bcc"]) == ("Lunch", ANNA, "boss@example.net")
    assert draft.get_body(("plain",)).get_content().strip() == "At noon?"
    assert "<b>noon</b>" in draft.get_body(("html",)).get_content()
    assert [one.get_filename() for one in draft.iter_attachments()] == ["menu.txt"]
    assert house.personal.find(Handle.parse(told["draft"])).mail.flags == {"draft", "seen"}
    assert (held(house, "Drafts"), house.personal.outgoing.sent) == (1, [])


async def test_the_same_draft_asked_for_twice_is_written_once(house: House) -> None:
    """Scenario 6: another wrote two. One that differs in a word is another draft."""
    told = await written(house, attach=[await file(house)])
    again = await house.ask("drafts_create", **LETTER, attach=[await file(house)])
    assert (again["status"], again["code"]) == ("conflict", "already_there")
    assert told["draft"] in again["next"]
    await written(house)
    await written(house, text="At one?", attach=[await file(house)])
    assert held(house, "Drafts") == 3


async def test_a_draft_reads_back_as_it_was_written(house: House) -> None:
    """P-59."""
    told = await written(house, cc=["c@example.org"], bcc=["b@example.net"], attach=[await file(house)])
    read = await house.ask("drafts_get", draft=told["draft"])
    assert (read["to"], read["cc"], read["bcc"]) == ([ANNA], ["c@example.org"], ["b@example.net"])
    assert (read["subject"], read["text"].strip(), read["digest"]) == ("Lunch", "At noon?", told["digest"])
    assert [one["filename"] for one in read["attachments"]] == ["menu.txt"]
    (row,) = (await house.ask("drafts_list"))["drafts"]
    assert (row["handle"], row["subject"]) == (told["draft"], "Lunch")


async def test_what_is_not_given_stays_when_a_draft_is_changed(house: House) -> None:
    """P-59, J-31, A-14, scenario 6: HTML, file and Bcc survive a change of the subject; one version is left."""
    told = await written(house, bcc=["boss@example.net"], html="<p>At <b>noon</b>?</p>", attach=[await file(house)])
    changed = await house.ask("drafts_update", draft=told["draft"], digest=told["digest"], subject="Dinner")
    assert changed["status"] == "ok", changed
    assert changed["draft"] != told["draft"]
    draft = stored(house, changed["draft"])
    assert (draft["Subject"], draft["To"], draft["Bcc"]) == ("Dinner", ANNA, "boss@example.net")
    assert "<b>noon</b>" in draft.get_body(("html",)).get_content()
    assert draft.get_body(("plain",)).get_content().strip() == "At noon?"
    (attached,) = draft.iter_attachments()
    assert (attached.get_filename(), attached.get_payload(decode=True)) == ("menu.txt", b"soup\r\n")
    assert held(house, "Drafts") == 1


async def test_a_draft_can_be_changed_again_and_again(house: House) -> None:
    told = await written(house, attach=[await file(house)])
    for change in (
        {"to": ["b@example.net"]},
        {"text": "Later."},
        {"attach": [await file(house, "b.txt")]},
        {"detach": [1]},
    ):
        told = await house.ask("drafts_update", draft=told["draft"], digest=told["digest"], **change)
        assert told["status"] == "ok", told
    draft = stored(house, told["draft"])
    assert (draft["To"], [one.get_filename() for one in draft.iter_attachments()]) == ("b@example.net", ["b.txt"])
    assert draft.get_body(("plain",)).get_content().strip() == "Later."
    assert held(house, "Drafts") == 1


async def test_a_draft_that_was_changed_elsewhere_is_left_alone(house: House) -> None:
    """P-59, A-14: by its digest, or since it is not where it was."""
    told = await written(house)
    wrong = await house.ask("drafts_update", draft=told["draft"], digest="0" * 32, subject="x")
    assert (wrong["status"], wrong["code"]) == ("conflict", "changed_elsewhere")
    box = house.personal.boxes["Drafts"]
    ((uid, one),) = box.mail.items()
    del box.mail[uid]
    house.personal.add("Drafts", one.mail.raw.replace(b"noon", b"one"), flags=one.mail.flags)
    gone = await house.ask("drafts_update", draft=told["draft"], digest=told["digest"], subject="x")
    assert (gone["status"], gone["code"]) == ("conflict", "changed_elsewhere")
    assert held(house, "Drafts") == 1
    sent = await house.ask("drafts_send", draft=told["draft"], digest=told["digest"])
    assert sent["status"] == "conflict"
    assert house.personal.outgoing.sent == []


async def test_an_approval_of_a_change_is_void_when_the_draft_changes(house: House) -> None:
    """P-35."""
    told = await written(house)
    house.rules(preset="assistant", rules=[{"effect": "draft", "verdict": "ask"}])
    waiting = await house.ask("drafts_update", draft=told["draft"], digest=told["digest"], subject="x")
    assert waiting["status"] == "approval_pending"
    planned = await house.service.review(waiting["operation_id"])
    assert any(line.label == "replaces" for line in planned.review)
    assert any("stored as" in line.label for line in planned.review)
    await house.owner_asks("approvals_approve", operation_id=waiting["operation_id"])
    box = house.personal.boxes["Drafts"]
    box.mail.clear()
    done = await house.ask("operations_resume", operation_id=waiting["operation_id"])
    assert done["status"] == "conflict"


@pytest.mark.parametrize("fault", list(OutgoingFault))
async def test_a_change_that_goes_wrong_leaves_the_draft_as_it_was(house: House, fault: OutgoingFault) -> None:
    """P-59, N-16: and says so; what nobody knows is looked for, never repeated."""
    told = await written(house)
    house.personal.outgoing.append_fault = fault
    changed = await house.ask("drafts_update", draft=told["draft"], digest=told["digest"], subject="Dinner")
    assert changed["status"] != "ok"
    assert stored(house, told["draft"])["Subject"] == "Lunch"
    house.personal.outgoing.append_fault = None
    house.clock.wind(minutes=3)
    looked = await house.ask("operations_status", operation_id=changed["operation_id"], items=True)
    there = fault is OutgoingFault.LOST_AFTER
    assert held(house, "Drafts") == 1 + there
    if fault in (OutgoingFault.LOST_BEFORE, OutgoingFault.LOST_AFTER):
        assert looked["state"] == "failed"
        assert looked["items"][0]["code"] == ("old_kept" if there else "not_done")


async def test_a_new_version_that_came_out_incomplete_removes_nothing(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P-59: a failed upload on Proton leaves a draft without its file."""
    told = await written(house, attach=[await file(house)])
    append = house.personal.append

    async def losing(to: Any, mail: Any, **more: Any) -> Any:
        head, _, _ = b"".join([chunk async for chunk in mail.chunks()]).partition(b"Content-Type: multipart")
        return await append(to, Octets(head + b"Content-Type: text/plain\r\n\r\nAt noon?\r\n"), **more)

    monkeypatch.setattr(house.personal, "append", losing)
    changed = await house.ask("drafts_update", draft=told["draft"], digest=told["digest"], subject="Dinner")
    assert (changed["status"], changed["not_done"][0]["code"]) == ("not_done", "incomplete")
    assert [one.get_filename() for one in stored(house, told["draft"]).iter_attachments()] == ["menu.txt"]


async def test_a_reply_draft_has_the_thread_and_so_has_the_mail(house: House) -> None:
    """J-30, A-24, scenario 6: the reply draft's thread."""
    source = house.receive("Plans", "Shall we?", message_id="<plan@example.org>")
    told = await house.ask("drafts_create", message=str(source), text="Gladly.")
    assert told["status"] == "ok", told
    draft = stored(house, told["draft"])
    assert (draft["Subject"], draft["To"], draft["In-Reply-To"]) == ("Re: Plans", ANNA, "<plan@example.org>")
    assert "> Shall we?" in draft.get_body(("plain",)).get_content()
    read = await house.ask("drafts_get", draft=told["draft"])
    assert (read["answers"], read["in_thread"]) == (str(source), True)
    changed = await house.ask("drafts_update", draft=told["draft"], digest=told["digest"], cc=["c@example.org"])
    sent = await approved(house, "drafts_send", draft=changed["draft"], digest=changed["digest"])
    assert sent["status"] == "ok", sent
    (mail,) = left(house)
    assert (mail["In-Reply-To"], mail["References"], mail["Cc"]) == ("<plan@example.org>",) * 2 + ("c@example.org",)
    assert held(house, "Drafts") == 0
    assert "answered" in house.personal.find(source).mail.flags


async def test_what_a_server_drops_of_a_draft_is_told_and_restored_when_it_is_sent(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P-59: threading headers and the plain text beside HTML, as Bridge drops them."""
    forgetful(house, monkeypatch)
    source = house.receive("Plans", "Shall we?", message_id="<plan@example.org>")
    told = await house.ask(
        "drafts_create", message=str(source), text="My own words.", html="<p>Gladly.</p>", quote=False
    )
    assert told["not_on_the_server"] == ["what it answers", "the plain text beside the HTML"]
    assert stored(house, told["draft"])["In-Reply-To"] is None
    read = await house.ask("drafts_get", draft=told["draft"], html=True)
    assert (read["text"].strip(), read["answers"], "Gladly" in read["html"]) == ("My own words.", str(source), True)
    changed = await house.ask("drafts_update", draft=told["draft"], digest=told["digest"], subject="Re: Plans!")
    await approved(house, "drafts_send", draft=changed["draft"], digest=changed["digest"])
    (mail,) = left(house)
    assert (mail["In-Reply-To"], mail["Subject"]) == ("<plan@example.org>", "Re: Plans!")
    assert mail.get_body(("plain",)).get_content().strip() == "My own words."
    assert held(house, "Drafts") == 0


async def test_a_text_beside_html_that_was_changed_elsewhere_is_not_put_back(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P-59: told as lost; the thread stays."""
    forgetful(house, monkeypatch)
    source = house.receive("Plans", message_id="<plan@example.org>")
    told = await house.ask("drafts_create", message=str(source), text="Own.", html="<p>Gladly.</p>", quote=False)
    ((uid, one),) = house.personal.boxes["Drafts"].mail.items()
    del house.personal.boxes["Drafts"].mail[uid]
    changed = house.personal.add("Drafts", one.mail.raw.replace(b"Gladly", b"Sadly"), flags=one.mail.flags)
    read = await house.ask("drafts_get", draft=str(changed))
    assert told["digest"] != read["digest"]
    assert read["lost"]
    assert "Own." not in read.get("text", "")
    assert read["answers"] == str(source)


def forgetful(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the server keep of a draft what Bridge keeps: no threading headers, one text."""
    append = house.personal.append

    async def dropping(to: Any, mail: Any, **more: Any) -> Any:
        raw = b"".join([chunk async for chunk in mail.chunks()])
        parsed = message_from_bytes(raw, policy=policy.SMTP)
        for name in ("In-Reply-To", "References"):
            del parsed[name]
        page = parsed.get_body(("html",))
        if page is not None:
            text = page.get_content()
            for name in [one for one in parsed if one.lower().startswith("content-")]:
                del parsed[name]
            parsed.set_payload(None)
            parsed.set_content(text, subtype="html")
        return (
            await append(to, Octets(parsed.as_bytes()), **more)
            if to.path == "Drafts"
            else await append(to, mail, **more)
        )

    monkeypatch.setattr(house.personal, "append", dropping)


class Octets:
    """Octets in memory."""

    def __init__(self, raw: bytes) -> None:
        self.raw, self.size = raw, len(raw)

    async def chunks(self) -> Any:
        yield self.raw


async def test_a_draft_with_hidden_recipients_and_a_file_is_sent_whole(house: House) -> None:
    """Scenario 6: no file, HTML or hidden recipient is dropped; it leaves once, and the draft is gone."""
    told = await written(house, bcc=["boss@example.net"], html="<p>At <b>noon</b>?</p>", attach=[await file(house)])
    sent = await approved(house, "drafts_send", draft=told["draft"], digest=told["digest"])
    assert sent["status"] == "ok", sent
    (out,) = house.personal.outgoing.sent
    assert out.recipients == ("anna@example.org", "boss@example.net")
    (mail,) = left(house)
    assert mail["Bcc"] is None
    assert "<b>noon</b>" in mail.get_body(("html",)).get_content()
    assert [one.get_filename() for one in mail.iter_attachments()] == ["menu.txt"]
    assert (held(house, "Drafts"), held(house, "Sent")) == (0, 1)


@pytest.mark.parametrize("fault", [OutgoingFault.REFUSED, OutgoingFault.UNAVAILABLE, OutgoingFault.LOST_AFTER])
async def test_a_draft_whose_sending_fails_is_still_there_once(house: House, fault: OutgoingFault) -> None:
    """Scenario 6: another server left two."""
    told = await written(house)
    waiting = await house.ask("drafts_send", draft=told["draft"], digest=told["digest"])
    await house.owner_asks("approvals_approve", operation_id=waiting["operation_id"])
    house.personal.outgoing.fault = fault
    done = await house.ask("operations_resume", operation_id=waiting["operation_id"])
    assert done["status"] != "ok"
    assert held(house, "Drafts") == 1


async def test_unfinished_recipients_are_shown_kept_and_never_sent_without_a_word(house: House) -> None:
    """P-59: half-typed ones."""
    raw = letter("Half", "text", sender="personal@example.org", to="bob, Anna <anna@example.org>", message_id="<h@x>")
    handle = str(house.personal.add("Drafts", raw, flags=frozenset({"draft"})))
    read = await house.ask("drafts_get", draft=handle)
    assert (read["to"], read["unfinished"]) == ([ANNA.replace("Anna Example", "Anna")], ["bob"])
    sent = await house.ask("drafts_send", draft=handle, digest=read["digest"])
    assert (sent["status"], sent["code"]) == ("refused", "unfinished_recipients")
    changed = await house.ask("drafts_update", draft=handle, digest=read["digest"], subject="Half done")
    assert changed["status"] == "ok", changed
    assert (await house.ask("drafts_get", draft=changed["draft"]))["unfinished"] == ["bob"]


async def test_only_drafts_are_drafts(house: House) -> None:
    """A message elsewhere is neither read as one, changed, sent nor discarded."""
    other = str(house.receive())
    for name, more in (
        ("drafts_get", {"draft": other}),
        ("drafts_update", {"draft": other, "digest": "0" * 32, "subject": "x"}),
        ("drafts_send", {"draft": other, "digest": "0" * 32}),
        ("drafts_discard", {"messages": [other]}),
    ):
        told = await house.ask(name, **more)
        assert (told["status"], told["code"]) == ("refused", "not_a_draft"), name
    assert held(house, "INBOX") == 1


async def test_discarding_deletes_for_good_as_drafting_and_says_so(house: House) -> None:
    """P-59: judged DRAFT, permanent, told before."""
    told = await written(house)
    house.rules(
        preset="assistant", rules=[{"effect": "draft", "verdict": "ask"}, {"effect": "destroy", "verdict": "deny"}]
    )
    waiting = await house.ask("drafts_discard", messages=[told["draft"]])
    planned = await house.service.review(waiting["operation_id"])
    assert any("for good" in line.value and line.risk for line in planned.review)
    await house.owner_asks("approvals_approve", operation_id=waiting["operation_id"])
    done = await house.ask("operations_resume", operation_id=waiting["operation_id"])
    assert (done["status"], done["done"], held(house, "Drafts")) == ("ok", 1, 0)


async def test_no_record_holds_content(house: House) -> None:
    """P-33: not in its outline, its summary, its fates."""
    told = await written(house, subject="Secret plan", text="Hidden words")
    await house.ask("drafts_update", draft=told["draft"], digest=told["digest"], text="More hidden words")
    for record in await house.journal.recent(house.agent):
        fates = await house.journal.fates(record.id)
        assert "ecret" not in repr((record, fates))
        assert "idden" not in repr((record, fates))
        assert "anna" not in repr((record, fates)).lower()


async def test_a_reader_writes_no_draft(house: House) -> None:
    house.rules(preset="reader")
    told = await house.ask("drafts_create", **LETTER)
    assert told["status"] == "refused"
    assert held(house, "Drafts") == 0
