"""What becomes of a mail given to the simulator: who gets it, as what, when it is swallowed, doubled or refused."""

from __future__ import annotations

import asyncio
import base64

import pytest

from mcp_proton.simulator import Certificate, GivenMessage, GivenUser, Simulator, WoundClock
from tests.simulator.client import Client
from tests.simulator.smtp_client import CLOSED, SmtpClient, letter
from tests.simulator.test_simulator import mail

QUEUED = "250 2.0.0 OK: queued"


def users(**holding: list[GivenMessage]) -> list[GivenUser]:
    return [
        GivenUser("alice", ["alice@proton.local", "alias@proton.local"], messages=holding.get("alice", [])),
        GivenUser("bob", ["bob@proton.local"]),
    ]


@pytest.fixture
async def sim(certificate: Certificate):
    async with Simulator(users=users(), certificate=certificate, clock=WoundClock()) as simulator:
        yield simulator


def left(sim: Simulator) -> list[tuple[str, str]]:
    return [(one.subject, one.recipient) for one in sim.sent]


def places(sim: Simulator, name: str | None = None) -> list[tuple[str, str]]:
    """Subject and place of each message of an account."""
    hidden = {"All Mail", "AllSent", "AllDrafts"}
    return [(str(one["subject"]), *sorted(set(one["in"]) - hidden)) for one in sim.state(name).values()]


async def wound(sim: Simulator, waiting: asyncio.Task[str], seconds: float) -> bool:
    """Wind the clock so far; whether the task ended by it."""
    while not sim.parked:
        await asyncio.sleep(0)
    sim.clock.advance(seconds)
    for _ in range(50):
        await asyncio.sleep(0.001)
        if waiting.done():
            return True
    return False


# -- who gets what


async def test_each_recipient_gets_its_copy_and_none_sees_who_was_hidden(sim: Simulator) -> None:
    async with SmtpClient(sim) as client:
        text = letter("to all", "hello", "Cc: Cee <c@example.com>", "Bcc: d@example.com", "X-Custom: yes")
        assert await client.mail(text, "ext@example.com", "bob@proton.local") == QUEUED
    assert {one.recipient: one.kind for one in sim.sent} == {
        "ext@example.com": "clear", "c@example.com": "clear", "d@example.com": "clear", "bob@proton.local": "internal",
    }  # fmt: skip
    gone = sim.sent[0]
    assert gone.header.keys() == {"Subject", "From", "To", "Cc", "Content-Type", "Date", "Message-Id"}
    assert (gone.body, gone.external_id, gone.sender) == (b"hello\r\n", "to-all@client.example", "alice@proton.local")
    assert b'Cc: "Cee" <c@example.com>\r\n' in gone.text
    assert b"d@example.com" not in gone.text
    assert places(sim) == [("to all", "Sent")]
    assert places(sim, "bob") == [("to all", "Inbox")]


async def test_a_hundred_recipients_are_all_written_to(sim: Simulator) -> None:
    people = [f"p{number}@example.com" for number in range(100)]
    async with SmtpClient(sim) as client:
        assert await client.mail(letter("many"), *people) == QUEUED
    assert [one.recipient for one in sim.sent] == people


async def test_a_recipient_that_is_no_address_reaches_the_api_as_it_is(sim: Simulator) -> None:
    async with SmtpClient(sim) as client:
        assert await client.mail(letter("odd"), "a@b> NOTIFY=NEVER", "no domain") == QUEUED
    assert [one.recipient for one in sim.sent] == ["a@b> NOTIFY=NEVER>".rstrip(">"), "no domain"]


@pytest.mark.parametrize(
    ("written", "kept"),
    [("<a b@c>", "a b@c"), ("<no-at>", "no-at"), ("bare@c", "bare@c"), ("<x@c>", "x@c")],
)
async def test_a_message_id_is_kept_as_it_was_given(written: str, kept: str, sim: Simulator) -> None:
    async with SmtpClient(sim) as client:
        assert await client.mail(letter("one", "hello", f"Message-ID: {written}")) == QUEUED
        assert await client.mail(letter("two", "hello", f"Message-ID: {written}")) == QUEUED
    assert [one.external_id for one in sim.sent] == [kept, kept]


async def test_the_sent_copy_shows_after_the_event_and_not_before(sim: Simulator) -> None:
    async with SmtpClient(sim) as smtp, Client(sim) as imap:
        assert await smtp.mail(letter("one")) == QUEUED
        assert (await imap("STATUS Sent (MESSAGES)"))[0] == '* STATUS "Sent" (MESSAGES 0)'
        sim.release_events()
        await imap("EXAMINE Sent")
        assert (await imap("FETCH 1 (UID FLAGS)"))[0] == "* 1 FETCH (UID 1 FLAGS (\\Recent \\Seen))"


async def test_a_draft_that_showed_before_it_was_sent_is_another_message_afterwards(sim: Simulator) -> None:
    """A text that changes gets a new engine id and new UIDs; the internal id stays."""
    sim.faults.fail_api("/messages/[0-9a-f-]+$", method="POST", mode="delay", delay=6)
    async with SmtpClient(sim) as smtp, Client(sim) as imap:
        sending = asyncio.create_task(smtp.mail(letter("slow")))
        assert not await wound(sim, sending, 1)
        sim.release_events()
        await imap('EXAMINE "All Mail"')
        draft = await imap("FETCH 1 (UID BODY.PEEK[HEADER.FIELDS (X-PM-INTERNAL-ID X-PM-GLUON-ID)])")
        assert await wound(sim, sending, 10)
        sim.release_events()
        await imap("NOOP")
        sent = await imap("FETCH 1 (UID BODY.PEEK[HEADER.FIELDS (X-PM-INTERNAL-ID X-PM-GLUON-ID)])")
    assert ("UID 1 " in draft[0], "UID 2 " in sent[0]) == (True, True)
    assert draft[1] != sent[1]
    assert draft[2] == sent[2]


async def test_a_reply_in_the_real_model_carries_the_whole_thread(certificate: Certificate) -> None:
    parent = mail("question").replace(b"\n\n", b"\nReferences: <first@x>\n\n", 1)
    given = users(alice=[GivenMessage(parent, key="q")])
    for model, references in (("real", "<first@x> <question@example.com>"), ("fake", "<question@example.com>")):
        async with Simulator(users=given, model=model, certificate=certificate) as sim, SmtpClient(sim) as client:
            assert await client.mail(letter("Re: q", "yes", "In-Reply-To: <question@example.com>")) == QUEUED
            assert sim.sent[0].header["References"] == references
            assert sim.sent[0].header["In-Reply-To"] == "<question@example.com>"
            assert sim.state()["q"]["flags"] == ["received", "replied"]


async def test_in_split_mode_a_parent_of_another_address_is_none(certificate: Certificate) -> None:
    given = users(alice=[GivenMessage(mail("question"), key="q", address="alias@proton.local")])
    async with Simulator(users=given, mode="split", certificate=certificate) as sim, SmtpClient(sim) as client:
        await client.mail(letter("Re: q", "yes", "In-Reply-To: <question@example.com>"))
        assert "References" not in sim.sent[0].header


# -- senders


async def test_a_disabled_sender_is_refused_and_the_same_mail_hangs_ninety_seconds(sim: Simulator) -> None:
    sim.account().addresses["alias@proton.local"] = False
    sim.release_events()
    text = letter("off", sender="alias@proton.local")
    async with SmtpClient(sim) as client:
        assert await client.mail(text) == "554 5.0.0 Error: cannot send from address: alias@proton.local"
        again = asyncio.create_task(client.mail(text))
        assert not await wound(sim, again, 89)
        assert await wound(sim, again, 2)
        assert "context deadline exceeded" in await again
        sim.settings.refused_sender_poisons = False
        other = letter("off too", sender="alias@proton.local")
        assert {await client.mail(other) for _ in range(2)} == {
            "554 5.0.0 Error: cannot send from address: alias@proton.local"
        }
    assert not sim.sent


async def test_a_disabled_envelope_sender_is_overruled_by_an_enabled_from(sim: Simulator) -> None:
    sim.account().addresses["alias@proton.local"] = False
    sim.release_events()
    async with SmtpClient(sim) as client:
        assert await client.mail(letter("one"), sender="alias@proton.local") == QUEUED


async def test_quick_failures_shut_sending_unless_switched_off(sim: Simulator) -> None:
    async with SmtpClient(sim) as client:
        answers = [await client.mail(letter("x"), sender="eve@example.com") for _ in range(6)]
        assert [answer.endswith("try again later") for answer in answers] == [False] * 4 + [True] * 2
        sim.settings.throttles_failures = False
        assert await client.mail(letter("good")) == QUEUED


# -- repeats


def with_file(subject: str, width: int) -> bytes:
    lines = base64.b64encode(bytes(range(200))).decode()
    folded = "\n".join(lines[at : at + width] for at in range(0, len(lines), width))
    return (
        f"From: alice@proton.local\nTo: ext@example.com\nSubject: {subject}\nMIME-Version: 1.0\n"
        'Content-Type: multipart/mixed; boundary="b"\n\n--b\nContent-Type: text/plain\n\nhello\n--b\n'
        'Content-Type: application/octet-stream; name="a.bin"\nContent-Disposition: attachment; filename="a.bin"\n'
        f"Content-Transfer-Encoding: base64\n\n{folded}\n--b--\n"
    ).encode()


async def test_a_file_folded_otherwise_makes_it_another_mail(sim: Simulator) -> None:
    async with SmtpClient(sim) as client:
        for text in (with_file("f", 76), with_file("f", 76), with_file("f", 60)):
            assert await client.mail(text) == QUEUED
    assert len(sim.sent) == 2
    assert sim.sent[0].attachments[0].content == bytes(range(200))


async def test_a_mail_without_from_is_a_repeat_whatever_address_it_is_sent_from(sim: Simulator) -> None:
    async with SmtpClient(sim) as client:
        assert await client.mail(letter("none", sender="")) == QUEUED
        assert await client.mail(letter("none", sender=""), sender="alias@proton.local") == QUEUED
    assert [one.sender for one in sim.sent] == ["alice@proton.local"]


async def test_the_same_mail_from_another_account_is_sent(sim: Simulator) -> None:
    text = letter("same", sender="")
    async with SmtpClient(sim) as one, SmtpClient(sim, log_in=False) as other:
        assert await one.mail(text) == QUEUED
        await other("EHLO c")
        await other.log_in("bob@proton.local", sim.user("bob").password)
        assert await other.mail(text, sender="bob@proton.local") == QUEUED
    assert [one.account for one in sim.sent] == ["alice", "bob"]


async def test_a_repeat_is_swallowed_for_half_an_hour_even_when_the_sent_copy_is_gone(sim: Simulator) -> None:
    text = letter("gone").replace(b"\n", b"\r\n")
    async with SmtpClient(sim) as smtp, Client(sim) as imap:
        assert await smtp.mail(text) == QUEUED
        sim.account().delete(list(sim.account().messages))
        sim.release_events()
        assert await smtp.mail(text) == QUEUED
        assert left(sim) == [("gone", "ext@example.com")]
        imap.send(b"a APPEND Sent {%d}\r\n%b\r\n" % (len(text), text))
        assert await imap.line() == "+ Ready"
        assert (await imap.line()).startswith("a NO failed to fetch message: 422 GET https://")
        sim.clock.advance(30 * 60 + 1)
        assert await smtp.mail(text) == QUEUED
    assert len(sim.sent) == 2


async def test_repeats_are_sent_when_suppression_is_switched_off(sim: Simulator) -> None:
    sim.settings.suppresses_repeats = False
    async with SmtpClient(sim) as client:
        assert [await client.mail(letter("again")) for _ in range(3)] == [QUEUED] * 3
    assert len(sim.sent) == 3


# -- the API behind


async def test_one_refused_key_of_several_ends_every_smtp_connection_after_its_answer(sim: Simulator) -> None:
    sim.faults.fail_api("/core/v4/keys", status=422, code=33101, message="Address does not exist")
    async with SmtpClient(sim) as client, SmtpClient(sim, log_in=False) as other, Client(sim) as imap:
        await other("EHLO c")
        await other.log_in("bob@proton.local", sim.user("bob").password)
        await other.begin("ext@example.com", sender="bob@proton.local")
        answer = await client.mail(letter("two"), "ext@example.com", "bad@example.com")
        assert answer.startswith(
            "554 5.0.0 Error: failed to send message: failed to get recipients: failed to get send preferences: "
            "failed to get public key for ext@example.com: 422 GET https://"
        )
        assert answer.endswith(": Address does not exist (Code=33101, Status=422)")
        assert await client.reply() == [CLOSED]
        assert await other.reply() == [CLOSED]
        assert (await imap("NOOP"))[-1].startswith("OK")
        with pytest.raises(OSError, match="onnect"):
            await asyncio.open_connection(sim.host, sim.smtp_port)
        sim.clock.advance(5)
        while not sim.is_listening:
            await asyncio.sleep(0)
    async with SmtpClient(sim) as client:
        assert await client.mail(letter("two"), "ext@example.com", "bad@example.com") == QUEUED
    assert places(sim) == [("two", "Drafts"), ("two", "Sent")]


async def test_a_refused_key_of_the_only_recipient_leaves_the_connection_open(sim: Simulator) -> None:
    sim.faults.fail_api("/core/v4/keys", status=422)
    async with SmtpClient(sim) as client:
        assert (await client.mail(letter("one"))).startswith(
            "554 5.0.0 Error: failed to send message: failed to get rec"
        )
        assert await client("NOOP") == ["250 2.0.0 I have sucessfully done nothing"]


async def test_a_draft_sent_by_a_lost_answer_is_delivered_again_or_refused_as_switched(sim: Simulator) -> None:
    async with SmtpClient(sim) as client:
        sim.faults.fail_api("/messages/[0-9a-f-]+$", mode="after-drop")
        assert await client.mail(letter("twice"), "bob@proton.local") == QUEUED
        assert left(sim) == [("twice", "bob@proton.local")] * 2
        sim.settings.accepts_a_second_sending = False
        sim.faults.fail_api("/messages/[0-9a-f-]+$", mode="after-drop")
        answer = await client.mail(letter("once"), "bob@proton.local")
        assert answer.startswith("554 5.0.0 Error: failed to send message: failed to send draft: 422 POST https://")
    assert left(sim)[2:] == [("once", "bob@proton.local")]
    assert places(sim)[-1] == ("once", "Sent")


async def test_without_bridges_own_repeats_a_broken_call_closes_smtp_at_once(sim: Simulator) -> None:
    sim.settings.repeats_broken_calls = False
    sim.faults.fail_api("/messages/[0-9a-f-]+$", mode="after-drop")
    async with SmtpClient(sim) as client:
        assert await client.mail(letter("out"), "bob@proton.local") == CLOSED
    assert left(sim) == [("out", "bob@proton.local")]
    sim.settings.lost_network_closes_smtp = False
    sim.clock.advance(5)
    while not sim.is_listening:
        await asyncio.sleep(0)
    sim.faults.fail_api("/messages$", mode="drop")
    async with SmtpClient(sim) as client:
        assert "received no response from API" in await client.mail(letter("not"))


# -- named steps


@pytest.mark.parametrize(
    ("step", "is_out"), [("before DATA", False), ("after DATA", False), ("after acceptance", True)]
)
async def test_a_connection_dropped_at_a_step_leaves_the_mail_sent_or_not(
    step: str, is_out: bool, sim: Simulator
) -> None:
    sim.faults.at(step, action="drop")
    async with SmtpClient(sim) as client:
        await client("MAIL FROM:<alice@proton.local>")
        await client("RCPT TO:<ext@example.com>")
        answer = await client("DATA")
        if step != "before DATA":
            client.send(letter("x").replace(b"\n", b"\r\n") + b".\r\n")
            answer = await client.reply()
        assert answer == [CLOSED]
    assert bool(sim.sent) is is_out
    assert bool(sim.state()) is is_out
    async with SmtpClient(sim) as client:
        assert await client.mail(letter("x")) == QUEUED
    assert len(sim.sent) == 1


async def test_a_refusal_after_acceptance_says_554_of_a_mail_that_is_out(sim: Simulator) -> None:
    sim.faults.at("after acceptance", action="refuse", text="lost")
    sim.faults.at("before RCPT", action="refuse", text="no")
    async with SmtpClient(sim) as client:
        await client("MAIL FROM:<alice@proton.local>")
        assert await client("RCPT TO:<a@example.com>") == ["554 5.0.0 Error: no"]
        assert await client.mail(letter("x")) == "554 5.0.0 Error: lost"
        sim.faults.at("after DATA", action="refuse", text="full")
        assert await client.mail(letter("y")) == "554 5.0.0 Error: full"
        sim.faults.at("before NOOP", action="bye", text="going down")
        assert await client("NOOP") == ["421 4.3.0 going down"]
        assert await client.reply() == [CLOSED]
    assert left(sim) == [("x", "ext@example.com")]


# -- what APPEND makes of it


async def append(imap: Client, mailbox: str, text: bytes) -> str:
    imap.send(b"a APPEND %b {%d}\r\n" % (mailbox.encode(), len(text)))
    await imap.line()
    imap.send(text + b"\r\n")
    while not (line := await imap.line()).startswith("a "):
        pass
    return line


async def test_a_sent_mail_appended_to_drafts_is_a_ghost_whose_expunge_destroys_it(sim: Simulator) -> None:
    text = letter("ghost").replace(b"\n", b"\r\n")
    async with SmtpClient(sim) as smtp, Client(sim) as imap:
        await smtp.mail(text)
        assert "APPENDUID" in await append(imap, "Drafts", text)
        assert places(sim) == [("ghost", "Sent")]
        await imap("SELECT Drafts")
        await imap("UID STORE 1 +FLAGS (\\Deleted)")
        await imap("UID EXPUNGE 1")
    assert not sim.state()


async def test_appended_sent_mail_is_imported_when_that_is_switched_off(sim: Simulator) -> None:
    sim.settings.appended_sent_mail_is_copied = False
    text = letter("twice").replace(b"\n", b"\r\n")
    async with SmtpClient(sim) as smtp, Client(sim) as imap:
        await smtp.mail(text)
        assert "APPENDUID" in await append(imap, "Sent", text)
    assert places(sim) == [("twice", "Sent")] * 2


async def test_recovered_messages_keep_one_of_texts_that_differ_in_message_id_alone(sim: Simulator) -> None:
    async with Client(sim) as imap:
        first, second, third = (
            letter("kept", body, f"Message-ID: <{number}@c>", "Date: Mon, 02 Jan 2023 10:00:00 +0000").replace(
                b"\n", b"\r\n"
            )
            for number, body in enumerate(["hello", "hello", "other"])
        )
        assert await append(imap, '"All Mail"', first) == "a NO operation not allowed"
        assert (await append(imap, '"All Mail"', second)).endswith("known recovered message, possible duplication")
        assert await append(imap, '"All Mail"', third) == "a NO operation not allowed"
        assert (await imap('STATUS "Recovered Messages" (MESSAGES)'))[0].endswith("(MESSAGES 2)")


async def test_a_large_mail_is_taken_whole(certificate: Certificate) -> None:
    body = "\n".join(["x" * 76] * 130_000)
    async with Simulator(users=users(), certificate=certificate) as sim, SmtpClient(sim) as client:
        assert await client.mail(letter("large", body)) == QUEUED
        assert len(sim.sent[0].body) == 130_000 * 78
