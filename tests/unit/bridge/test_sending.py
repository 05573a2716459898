"""Each surprise of sending through Bridge: a naive client loses, doubles or destroys mail, ours does not (B-04, B-05, P-92)."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from mcp_proton.domain.errors import Ambiguous, Conflict, Invalid, OverLimit, Unavailable, Unsupported
from mcp_proton.domain.mail import Role
from mcp_proton.domain.outgoing import Delivery
from mcp_proton.simulator import GivenLabel, GivenUser, Simulator
from mcp_proton.testing import MemoryOctets
from tests.contract import worlds
from tests.contract.letters_out import mail, own_id, with_file
from tests.simulator.client import Client
from tests.simulator.smtp_client import SmtpClient

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mcp_proton.bridge.backend import BridgeBackend
    from mcp_proton.domain.mail import Mailbox
    from mcp_proton.domain.outgoing import Octets, Submission, Submits

ME, ALIAS, TO = "alice@proton.local", "alias@proton.local", "bob@example.net"
BOB = "bob@proton.local"
QUEUED = "250 2.0.0 OK: queued"


class Desk:
    """A Bridge and our backend on it."""

    def __init__(self, simulator: Simulator, backend: BridgeBackend) -> None:
        self.sim, self.backend = simulator, backend

    @property
    def out(self) -> Submits:
        assert self.backend.submits is not None
        return self.backend.submits

    async def send(self, text: Octets, *to: str, sender: str = ME) -> Submission:
        return await self.out.submit(sender, to or (TO,), text)

    async def box(self, role: Role) -> Mailbox:
        return next(one for one in await self.backend.mailboxes() if one.role is role)

    def places(self) -> list[tuple[str, str]]:
        hidden = {"All Mail", "AllSent", "AllDrafts"}
        return sorted((str(one["subject"]), *sorted(set(one["in"]) - hidden)) for one in self.sim.state().values())


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    users = [
        GivenUser("alice", [ME, ALIAS], [GivenLabel.from_path("Folders/Work"), GivenLabel.from_path("Labels/Blue")]),
        GivenUser("bob", [BOB]),
    ]
    async with Simulator(users=users, certificate=worlds.CERTIFICATE) as simulator:
        backend = worlds.bridge_backend(simulator)
        try:
            yield Desk(simulator, backend)
        finally:
            await backend.aclose()


def ago(seconds: float) -> datetime:
    return datetime.now(UTC) - timedelta(seconds=seconds)


async def naive(desk: Desk, text: MemoryOctets, *to: str, sender: str = ME) -> str:
    """Hand it over as most clients do; the reply."""
    async with SmtpClient(desk.sim) as client:
        return await client.mail(text.raw, *(to or (TO,)), sender=sender)


# --- what is sent, and where it is found -------------------------------------------------------------------------------


async def test_a_mail_is_sent_once_and_found_in_sent_after_the_event(desk: Desk) -> None:
    text = mail(ME, TO)
    assert (await desk.send(text)).delivery is Delivery.ACCEPTED
    named = own_id()
    text = mail(ME, TO, message_id=named, subject="second")
    before = await desk.out.trace(named, ago(0))
    assert (before.sent, before.settled) == (None, False)
    assert (await desk.send(text)).delivery is Delivery.ACCEPTED
    desk.sim.release_events()
    found = await desk.out.trace(named, ago(5))
    assert found.sent is not None
    assert [one.subject for one in await desk.backend.envelopes([found.sent])] == ["second"]
    assert [one.subject for one in desk.sim.sent] == ["Outgoing", "second"]
    assert desk.out.files_sent


async def test_what_sent_does_not_show_means_something_after_two_polls_only(desk: Desk) -> None:
    assert not (await desk.out.trace("<none@x>", ago(60))).settled
    assert (await desk.out.trace("<none@x>", ago(120))).settled


async def test_a_mail_is_sent_from_any_enabled_address_of_the_account(desk: Desk) -> None:
    assert (await desk.send(mail(f"Al <{ALIAS}>"), sender=ALIAS)).delivery is Delivery.ACCEPTED
    assert desk.sim.sent[0].sender == ALIAS


async def test_a_large_mail_goes_whole(desk: Desk) -> None:
    text = with_file(ME, 3_000_000)
    assert (await desk.send(text)).delivery is Delivery.ACCEPTED
    assert len(desk.sim.sent[0].attachments[0].content) == 3_000_000


# --- 554 that was sent -------------------------------------------------------------------------------------------------


async def test_a_554_of_a_mail_that_is_out_is_unknown_and_the_look_into_sent_settles_it(desk: Desk) -> None:
    """The naive client sends twice: Bridge forgets a mail that it believes to have failed."""
    fault = "/messages/[0-9a-f-]+$"
    text = mail(ME, TO, subject="naive")
    desk.sim.faults.fail_api(fault, method="POST", mode="after", status=500)
    assert (await naive(desk, text)).startswith("554")
    assert await naive(desk, text) == QUEUED
    assert [one.subject for one in desk.sim.sent] == ["naive", "naive"]

    desk.sim.faults.fail_api(fault, method="POST", mode="after", status=500)
    named = own_id()
    began = ago(100)
    told = await desk.send(mail(ME, TO, subject="ours", message_id=named))
    assert told.delivery is Delivery.UNKNOWN
    desk.sim.release_events()
    found = await desk.out.trace(named, began)
    assert found.sent is not None
    assert [one.subject for one in desk.sim.sent].count("ours") == 1


async def test_a_554_whose_sending_call_was_repeated_by_bridge_is_unknown_too(desk: Desk) -> None:
    desk.sim.settings.accepts_a_second_sending = False
    desk.sim.faults.fail_api("/messages/[0-9a-f-]+$", method="POST", mode="after-drop")
    assert (await desk.send(mail(ME, BOB), BOB)).delivery is Delivery.UNKNOWN
    assert len(desk.sim.sent) == 1


async def test_what_bridge_doubles_by_itself_is_told_as_one_mail_and_not_repeated(desk: Desk) -> None:
    desk.sim.faults.fail_api("/messages/[0-9a-f-]+$", method="POST", mode="after-drop")
    assert (await desk.send(mail(ME, BOB), BOB)).delivery is Delivery.ACCEPTED
    assert len(desk.sim.sent) == 2


@pytest.mark.parametrize(
    ("path", "how", "delivery", "stray", "drafts"),
    [
        ("/messages$", {"status": 422}, Delivery.NOT_SENT, False, 0),
        ("/messages$", {"status": 500}, Delivery.UNKNOWN, True, 0),
        ("/attachments$", {"status": 422}, Delivery.NOT_SENT, True, 1),
        ("/core/v4/keys", {"status": 422}, Delivery.NOT_SENT, True, 1),
        ("/messages/[0-9a-f-]+$", {"status": 422}, Delivery.UNKNOWN, True, 1),
        ("/settings$", {"status": 500}, Delivery.NOT_SENT, False, 0),
    ],
    ids=["draft refused", "draft failed", "attachment", "keys", "sending refused", "settings"],
)
async def test_a_refusal_is_a_no_only_where_nothing_can_have_left(
    path: str, how: dict[str, int], delivery: Delivery, stray: bool, drafts: int, desk: Desk
) -> None:
    desk.sim.faults.fail_api(path, method="GET" if "keys" in path or "settings" in path else "POST", **how)
    named = own_id()
    told = await desk.send(with_file(ME, 100, message_id=named))
    assert (told.delivery, told.stray) == (delivery, stray)
    assert desk.sim.sent == []
    desk.sim.release_events()
    trace = await desk.out.trace(named, ago(100))
    assert (trace.sent, len(trace.drafts), trace.settled) == (None, drafts, True)


async def test_an_answer_that_never_comes_is_unknown(desk: Desk) -> None:
    for step in ("after DATA", "after acceptance"):
        desk.sim.faults.at(step, action="drop")
        assert (await desk.send(mail(ME, TO, subject=step))).delivery is Delivery.UNKNOWN
    desk.sim.faults.at("after acceptance", action="cut")
    assert (await desk.send(mail(ME, TO, subject="cut"))).delivery is Delivery.UNKNOWN
    assert [one.subject for one in desk.sim.sent] == ["after acceptance", "cut"]


async def test_a_connection_lost_before_the_text_sends_nothing_and_says_so(desk: Desk) -> None:
    for step in ("before MAIL", "before RCPT", "before DATA"):
        desk.sim.faults.at(step, action="drop")
        with pytest.raises(Unavailable):
            await desk.send(mail(ME, TO))
    assert desk.sim.sent == []


async def test_a_network_lost_during_a_send_is_unknown(desk: Desk) -> None:
    desk.sim.settings.repeats_broken_calls = False
    desk.sim.faults.fail_api("/messages/[0-9a-f-]+$", method="POST", mode="after-drop")
    assert (await desk.send(mail(ME, BOB), BOB)).delivery is Delivery.UNKNOWN
    assert len(desk.sim.sent) == 1


# --- 250 without a mail: the rule of half an hour -----------------------------------------------------------------------


async def test_a_repeat_that_bridge_would_swallow_is_known_before_by_its_key(desk: Desk) -> None:
    """B-04, N-2: the naive client is told 250 twice and one mail leaves."""
    first, again = mail(ME, TO), mail(ME, TO)
    assert [await naive(desk, first), await naive(desk, again)] == [QUEUED, QUEUED]
    assert len(desk.sim.sent) == 1
    other = mail(ME, TO, body="another text\r\n")
    keys = [await desk.out.repetition([TO], one) for one in (first, again, other)]
    assert keys[0] == keys[1] != keys[2]
    assert keys[0] is not None
    assert keys[0].within == timedelta(minutes=30)
    assert await desk.out.repetition([TO, "c@example.net"], first) != keys[0]


async def test_a_swallowed_mail_is_not_found_in_sent_and_that_is_settled(desk: Desk) -> None:
    """A 250 without a Sent copy."""
    await desk.send(mail(ME, TO))
    named = own_id()
    told = await desk.send(mail(ME, TO, message_id=named))
    assert told.delivery is Delivery.ACCEPTED
    desk.sim.release_events()
    found = await desk.out.trace(named, ago(100))
    assert (found.sent, found.drafts, found.settled) == (None, (), True)
    assert len(desk.sim.sent) == 1


# --- senders that poison ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sender", ["eve@example.com", "alias@proton.local"])
async def test_a_sender_bridge_would_refuse_never_reaches_it(sender: str, desk: Desk) -> None:
    """The naive client's equal mail hangs for 90 s a try, and the account's sending with it."""
    desk.sim.account().addresses[ALIAS] = False
    desk.sim.release_events()
    told = await desk.out.submit(sender, [TO], mail(sender, TO, subject="ours"))
    assert (told.delivery, told.code) == (Delivery.NOT_SENT, "sender_refused")
    text = mail(sender, TO)
    assert (await naive(desk, text, sender=ME)).startswith("554")
    async with SmtpClient(desk.sim) as client:
        await client.begin(TO)
        client.send(text.raw + b".\r\n")
        hanging = asyncio.create_task(client.reply())
        done, _ = await asyncio.wait([hanging], timeout=0.3)
        hanging.cancel()
    assert not done
    assert desk.sim.sent == []


async def test_a_sender_whose_from_says_otherwise_is_refused_before_bridge_is_asked(desk: Desk) -> None:
    for text in (mail("eve@example.com"), mail(f"{ME}, eve@example.com"), mail("", TO)):
        told = await desk.send(text)
        assert (told.delivery, told.code) == (Delivery.NOT_SENT, "sender_mismatch")
    assert desk.sim.sent == []


# --- what ends DATA, what signs out, what is out of step ------------------------------------------------------------------


async def test_a_dot_between_bare_line_ends_does_not_end_our_mail(desk: Desk) -> None:
    """The naive client's text ends there, and the rest is run as commands."""
    async with SmtpClient(desk.sim) as client:
        await client.begin(TO)
        client.send(mail(ME, body="half\n.\nRSET\nother half\r\n").raw + b".\r\n")
        assert (await client.reply())[-1] == QUEUED
    assert b"other half" not in desk.sim.sent[0].body
    told = await desk.send(mail(ME, body="half\n.\nRSET\nother half\r\n", subject="ours"))
    assert (told.delivery, told.code) == (Delivery.NOT_SENT, "malformed_message")
    assert (
        await desk.send(mail(ME, body="half\r\n.\r\nother half\r\n", subject="whole"))
    ).delivery is Delivery.ACCEPTED
    assert b"other half" in desk.sim.sent[-1].body


async def test_many_mails_in_a_row_are_sent_since_each_has_a_connection_and_one_login(desk: Desk) -> None:
    """The naive client says EHLO again, is signed out without a word, and its mail is refused."""
    async with SmtpClient(desk.sim) as client:
        await client("EHLO again")
        assert (await client.mail(mail(ME, subject="naive").raw)).endswith("no such user")
    for number in range(3):
        assert (await desk.send(mail(ME, subject=f"{number}"))).delivery is Delivery.ACCEPTED
    assert [one.subject for one in desk.sim.sent] == ["0", "1", "2"]


async def test_a_refusal_of_several_lines_does_not_shift_the_answers_of_the_next_mail(desk: Desk) -> None:
    """A 554 quotes a broken header with its line end: the naive client takes the rest for the next reply."""
    async with SmtpClient(desk.sim) as client:
        await client.begin(TO)
        client.send(b"From: alice@proton.local\r\nno header line\r\n\r\nx\r\n.\r\n")
        await client.reply()
        client.send(b"NOOP\r\n")
        assert (await client.reply())[0] == ""
    broken = MemoryOctets(b"From: alice@proton.local\r\nno header line\r\nTo: bob@example.net\r\n\r\nx\r\n")
    assert (await desk.send(broken)).code == "malformed_message"
    assert (await desk.send(mail(ME, subject="after"))).delivery is Delivery.ACCEPTED


async def test_a_refused_key_that_closes_every_connection_is_a_no_all_the_same(desk: Desk) -> None:
    desk.sim.faults.fail_api("/core/v4/keys", status=422, code=33101, message="Address does not exist")
    told = await desk.send(mail(ME, f"{TO}, bad@example.net"), TO, "bad@example.net")
    assert (told.delivery, told.stray) == (Delivery.NOT_SENT, True)
    assert await desk.backend.mailboxes(fresh=True)


# --- who gets it ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "to"),
    [
        (("Cc: eve@example.com",), [TO]),
        (("Bcc: eve@example.com",), [TO]),
        ((), [TO.upper()]),
    ],
    ids=["a Cc that the envelope lacks", "a Bcc that the envelope lacks", "a To in another spelling"],
)
async def test_nobody_gets_a_mail_the_envelope_does_not_name(
    headers: tuple[str, ...], to: list[str], desk: Desk
) -> None:
    """The naive client's mail reaches them all the same."""
    text = mail(ME, TO, *headers)
    await naive(desk, text, *to)
    assert {one.recipient for one in desk.sim.sent} != {TO}
    desk.sim.sent.clear()
    told = await desk.send(mail(ME, TO, *headers, subject="ours"), *to)
    assert (told.delivery, told.code) == (Delivery.NOT_SENT, "recipient_mismatch")
    assert desk.sim.sent == []


async def test_a_hidden_recipient_is_named_by_the_envelope_alone(desk: Desk) -> None:
    """P-60."""
    assert (await desk.send(mail(ME, TO), TO, "hidden@example.net")).delivery is Delivery.ACCEPTED
    assert {one.recipient for one in desk.sim.sent} == {TO, "hidden@example.net"}
    assert "hidden" not in str(desk.sim.sent[0].header)


@pytest.mark.parametrize(
    "parts",
    [
        "Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nx\r\n",
        "Content-Type: multipart/mixed\r\n\r\n--b\r\n\r\nx\r\n--b--\r\n",
        (
            "Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nx\r\n--b\r\nContent-Type: image/png\r\n"
            "Content-Disposition: inline\r\n\r\nx\r\n--b--\r\n"
        ),
    ],
    ids=["not closed", "no boundary", "an image without a name"],
)
async def test_a_mail_that_bridge_refuses_or_rewrites_does_not_reach_it(parts: str, desk: Desk) -> None:
    text = MemoryOctets(f"From: {ME}\r\nTo: {TO}\r\nSubject: s\r\nMIME-Version: 1.0\r\n{parts}".encode())
    told = await desk.send(text)
    assert (told.delivery, told.code) == (Delivery.NOT_SENT, "malformed_message")
    assert desk.sim.sent == []
    assert desk.places() == []


# --- putting messages into mailboxes ------------------------------------------------------------------------------------


async def test_an_import_makes_one_message_and_names_it(desk: Desk) -> None:
    work = next(one for one in await desk.backend.mailboxes() if one.path == "Folders/Work")
    handle = await desk.backend.append(work, mail(ME, subject="imported"), flags=frozenset({"seen"}))
    desk.sim.release_events()
    (row,) = await desk.backend.envelopes([handle])
    assert (row.subject, row.flags >= {"seen"}) == ("imported", True)


async def test_the_date_an_import_was_given_is_not_what_it_gets(desk: Desk) -> None:
    """B-06: Bridge takes the Date of the message."""
    inbox = await desk.box(Role.INBOX)
    handle = await desk.backend.append(inbox, mail(ME), received=datetime(2001, 2, 3, tzinfo=UTC))
    desk.sim.release_events()
    (row,) = await desk.backend.envelopes([handle])
    assert row.received is not None
    assert row.received.year == 2026


@pytest.mark.parametrize("role", [Role.ARCHIVE, Role.TRASH, Role.DRAFTS, Role.SENT, Role.INBOX])
async def test_a_mail_just_sent_is_not_appended_since_that_would_take_it_out_of_sent(role: Role, desk: Desk) -> None:
    """B-05."""
    text = mail(ME, TO)
    assert (await desk.send(text)).delivery is Delivery.ACCEPTED
    for _ in range(2):  # before the event and after it
        with pytest.raises(Conflict) as raised:
            await desk.backend.append(await desk.box(role), text)
        assert raised.value.code == "already_there"
        desk.sim.release_events()
    assert desk.places() == [("Outgoing", "Sent")]


async def test_a_mail_that_another_program_just_sent_is_not_appended_either(desk: Desk) -> None:
    """The naive client appends it to Drafts, removes the ghost, and the sent mail is destroyed."""
    text = mail(ME, TO)
    assert await naive(desk, text) == QUEUED
    desk.sim.release_events()
    with pytest.raises(Conflict):
        await desk.backend.append(await desk.box(Role.ARCHIVE), text)
    assert desk.places() == [("Outgoing", "Sent")]


@pytest.mark.parametrize("kind", ["text/plain", "text/html", "multipart/alternative", "application/pdf"])
async def test_equal_mail_of_another_program_is_known_in_the_form_sent_shows_it_in(kind: str, desk: Desk) -> None:
    """Bridge rewrites what it sends: charset words, the plain text beside HTML, encodings."""
    bodies = {
        "multipart/alternative": (
            "--b\r\nContent-Type: text/plain\r\n\r\nhello\r\n--b\r\nContent-Type: text/html\r\n\r\n<p>hello</p>\r\n--b--\r\n"
        ),
        "application/pdf": "%PDF\r\n",
    }
    typed = f"Content-Type: {kind}; boundary=b" if "multipart" in kind else f"Content-Type: {kind}"
    body = bodies.get(kind, "hello  there\r\n\r\n")
    first, again = (mail(ME, TO, "MIME-Version: 1.0", typed, body=body) for _ in range(2))
    assert await naive(desk, first) == QUEUED
    desk.sim.release_events()
    with pytest.raises(Conflict):
        await desk.backend.append(await desk.box(Role.ARCHIVE), again)
    assert desk.places() == [("Outgoing", "Sent")]


async def test_a_draft_to_the_same_people_about_the_same_is_stored_when_it_says_something_else(desk: Desk) -> None:
    assert await naive(desk, mail(ME, TO)) == QUEUED
    assert (await desk.send(mail(ME, TO, body="second\r\n"))).delivery is Delivery.ACCEPTED
    desk.sim.release_events()
    drafts = await desk.box(Role.DRAFTS)
    await desk.backend.append(drafts, mail(ME, TO, body="third\r\n"), flags=frozenset({"draft", "seen"}))
    assert desk.places() == [("Outgoing", "Drafts"), ("Outgoing", "Sent"), ("Outgoing", "Sent")]


@pytest.mark.parametrize("role", [Role.DRAFTS, Role.ARCHIVE])
async def test_what_bridge_put_there_instead_is_noticed_where_nothing_could_tell_before(role: Role, desk: Desk) -> None:
    """Another program's mail that no event has told of yet: it is shown, and never removed by itself."""
    box = await desk.box(role)
    assert await naive(desk, mail(ME, TO)) == QUEUED
    with pytest.raises(Ambiguous) as raised:
        await desk.backend.append(box, mail(ME, TO), flags=frozenset({"seen"}))
    assert raised.value.code == "another_message"
    assert len(desk.sim.state()) == 1


async def test_a_ghost_in_drafts_is_no_draft_to_be_removed(desk: Desk) -> None:
    named = own_id()
    text = mail(ME, TO, message_id=named)
    assert await naive(desk, text) == QUEUED
    async with Client(desk.sim) as imap:
        imap.send(b"a APPEND Drafts {%d}\r\n" % text.size)
        await imap.line()
        imap.send(text.raw + b"\r\n")
        while not (line := await imap.line()).startswith("a "):
            pass
    assert "APPENDUID" in line
    before = await desk.out.trace(named, ago(5))
    desk.sim.release_events()
    after = await desk.out.trace(named, ago(5))
    assert (before.settled, after.sent is not None, after.drafts) == (False, True, ())


async def test_a_text_with_bridges_own_id_is_not_appended_since_it_would_be_thrown_away(desk: Desk) -> None:
    """The naive client files a fetched text into Trash where it is, and the message is deleted for good."""
    inbox = await desk.box(Role.INBOX)
    handle = await desk.backend.append(inbox, mail(ME, subject="kept"))
    desk.sim.release_events()
    octets = b"".join([chunk async for chunk in desk.backend.fetch(handle)])
    assert b"X-Pm-Gluon-Id" in octets
    for role in (Role.TRASH, Role.ARCHIVE, Role.INBOX):
        with pytest.raises(Conflict):
            await desk.backend.append(await desk.box(role), MemoryOctets(octets))
    assert desk.places() == [("kept", "Inbox")]


@pytest.mark.parametrize("path", ["All Mail", "Starred", "Labels/Blue", "Recovered Messages"])
async def test_nothing_is_appended_where_it_would_be_an_orphan(path: str, desk: Desk) -> None:
    boxes = [one for one in await desk.backend.mailboxes() if one.path == path]
    for box in boxes:
        with pytest.raises(Unsupported):
            await desk.backend.append(box, mail(ME))
    assert desk.places() == []
    assert boxes or path == "Recovered Messages"


async def test_a_message_too_large_for_proton_is_refused_with_the_limit(desk: Desk) -> None:
    class Huge(MemoryOctets):
        @property
        def size(self) -> int:
            return 22_000_001

    with pytest.raises(OverLimit, match="22000000"):
        await desk.backend.append(await desk.box(Role.INBOX), Huge(b"x"))
    assert (await desk.out.capacity()).append == 22_000_000
    assert (await desk.out.capacity()).submit == 36_000_000, "Proton's word: nobody measured it"


@pytest.mark.parametrize(
    "raw",
    [
        b"From: alice@proton.local\r\nSubject: no date\r\n\r\nx\r\n",
        b"Date: Mon, 02 Mar 2026 10:00:00 +0000\r\nSubject: no from\r\n\r\nx\r\n",
        b"From: a@b.c\r\nDate: x\r\n\r\nbare\nlf\r\n",
        b"",
    ],
)
async def test_what_bridges_gate_refuses_is_refused_before(raw: bytes, desk: Desk) -> None:
    with pytest.raises(Invalid):
        await desk.backend.append(await desk.box(Role.ARCHIVE), MemoryOctets(raw))
    assert desk.places() == []


async def test_a_no_to_an_import_is_not_a_no_and_the_message_is_looked_for(desk: Desk) -> None:
    """The naive client appends again, and has two."""
    desk.sim.faults.fail_api("/import$", method="POST", mode="after", status=500)
    named = own_id()
    sent = await desk.box(Role.SENT)
    with pytest.raises(Ambiguous, match="a copy may lie in its mailbox Recovered Messages"):
        await desk.backend.append(sent, mail(ME, message_id=named))
    desk.sim.release_events()
    # An import is dated by its Date header (B-06).
    assert (await desk.out.trace(named, datetime(2026, 3, 2, tzinfo=UTC))).sent is not None
    assert desk.places() == [("Outgoing", "Sent")]


async def test_an_import_whose_answer_is_lost_is_told_as_nobody_knows(desk: Desk) -> None:
    desk.sim.faults.at("after APPEND", action="drop")
    with pytest.raises(Ambiguous):
        await desk.backend.append(await desk.box(Role.INBOX), mail(ME))
    desk.sim.faults.at("before APPEND", action="drop")
    with pytest.raises((Ambiguous, Unavailable)):
        await desk.backend.append(await desk.box(Role.INBOX), mail(ME, subject="other"))
    assert desk.places() == [("Outgoing", "Inbox")]


async def test_a_draft_is_stored_with_its_marks_and_named(desk: Desk) -> None:
    drafts = await desk.box(Role.DRAFTS)
    named = own_id()
    handle = await desk.backend.append(drafts, mail(ME, message_id=named), flags=frozenset({"draft", "seen"}))
    desk.sim.release_events()
    found = await desk.out.trace(named, ago(5))
    assert found.drafts == (handle,)
    anchor = await desk.out.anchor(handle)
    assert anchor is not None
    assert anchor.endswith("@protonmail.internalid>")


async def test_a_mail_that_names_a_stored_draft_replaces_it(desk: Desk) -> None:
    drafts = await desk.box(Role.DRAFTS)
    handle = await desk.backend.append(drafts, mail(ME, subject="draft"), flags=frozenset({"draft", "seen"}))
    desk.sim.release_events()
    anchor = await desk.out.anchor(handle)
    told = await desk.send(mail(ME, TO, f"References: {anchor}", subject="draft sent"))
    assert told.delivery is Delivery.ACCEPTED
    desk.sim.release_events()
    assert desk.places() == [("draft sent", "Sent")]
