"""The made-up mailbox reads like a real one, is the same each time, and stays small until it is read."""

from __future__ import annotations

import email
import email.policy
import itertools
import tracemalloc
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_proton.simulator.correspondence import FOLDERS, LABELS, Generated, generate
from mcp_proton.simulator.proton.literal import serve
from mcp_proton.simulator.texts import structure

NOW = datetime(2026, 12, 1, 9, tzinfo=UTC)
OWNER = "Alice Example <alice@proton.local>"
PLACES = {"inbox", "sent", "drafts", "archive", "trash", "spam", *FOLDERS}


def mailbox(count: int, seed: int = 1) -> list[Generated]:
    return list(generate(seed, count, NOW, OWNER))


def parsed(generated: Generated) -> email.message.EmailMessage:
    message = email.message_from_bytes(generated.raw, policy=email.policy.default)
    assert isinstance(message, email.message.EmailMessage)
    return message


def literal(generated: Generated) -> bytes:
    return serve(
        generated.raw,
        delivered=not generated.imported,
        draft=generated.kind == "draft",
        internal_id="i" * 36,
        gluon_id="g" * 36,
        api_time=generated.received,
    )


def shown(message: email.message.EmailMessage) -> str:
    part = message.get_body(("plain", "html"))
    return part.get_content() if part is not None else ""


@pytest.mark.parametrize("count", [1, 60, 120, 1000])
def test_as_many_messages_as_asked_for_come_oldest_first(count: int) -> None:
    found = mailbox(count)
    assert len(found) == count
    assert [message.received for message in found] == sorted(message.received for message in found)
    assert all(NOW - timedelta(days=731) < message.received <= NOW for message in found)


def test_the_same_arguments_make_the_same_bytes_and_another_seed_others() -> None:
    first, again, other = ([message.raw for message in mailbox(300, seed)] for seed in (1, 1, 2))
    assert first == again
    assert len(set(first) & set(other)) < 150


def test_a_message_is_written_the_same_each_time_it_is_read() -> None:
    assert all(message.raw == message.raw for message in mailbox(200))


def test_everything_is_kept_in_places_that_the_owner_has() -> None:
    found = mailbox(2000)
    assert {message.place for message in found} == PLACES
    assert {label for message in found for label in message.labels} == set(LABELS)
    assert all(message.kind == "sent" for message in found if message.place == "sent")
    assert all(message.kind == "draft" for message in found if message.place == "drafts")


def test_a_nested_folder_comes_after_the_one_it_is_in() -> None:
    for path in FOLDERS:
        parent = path.rpartition("/")[0]
        assert parent == "Folders" or FOLDERS.index(parent) < FOLDERS.index(path)


def test_lines_end_as_mail_requires() -> None:
    assert all(b"\n" not in message.raw.replace(b"\r\n", b"") for message in mailbox(1500))


def test_no_two_messages_share_a_message_id() -> None:
    ids = Counter(parsed(message)["Message-ID"] for message in mailbox(700))
    assert [key for key, count in ids.items() if key and count > 1] == []


def test_threads_name_earlier_messages_of_the_mailbox() -> None:
    found = [(message.received, parsed(message)) for message in mailbox(120)]
    moments = {str(message["Message-ID"]): received for received, message in found}
    replies = [(received, message) for received, message in found if message["In-Reply-To"]]
    assert len(replies) > 12
    for received, message in replies:
        references = str(message["References"]).split()
        assert references[-1] == message["In-Reply-To"]
        assert all(moments[reference] < received for reference in references if reference in moments)
    whole = [message for _, message in replies if len(str(message["References"]).split()) >= 4]
    assert any(all(reference in moments for reference in str(message["References"]).split()) for message in whole)


def test_the_small_mailbox_has_something_for_every_question_of_a_demo() -> None:
    found = mailbox(120)
    messages = {str(parsed(message)["Subject"]): (message, parsed(message)) for message in found}
    inbox = [message for message in found if message.place == "inbox"]
    assert 10 <= sum(message.unread for message in inbox) <= 30
    assert any(message.starred and message.unread for message in inbox)
    waiting, text = messages["Re: Kitchen cabinets: measurements and quote"]
    assert waiting.place == "inbox"
    assert "?" in shown(text)
    assert sum("Invoice INV-" in subject for subject in messages) == 6
    assert any("List-Unsubscribe" in message for _, message in messages.values())


def test_attachments_of_the_small_mailbox_are_real_files() -> None:
    kinds: Counter[str] = Counter()
    for message in map(parsed, mailbox(120)):
        for part in message.iter_attachments():
            kinds[part.get_content_type()] += 1
            content = part.get_content()
            if part.get_content_type() == "application/pdf":
                assert content.startswith(b"%PDF-1.4")
                assert content.rstrip().endswith(b"%%EOF")
            if part.get_content_type() == "text/calendar":
                assert "BEGIN:VEVENT" in content
    assert kinds.keys() >= {"application/pdf", "text/csv", "text/calendar", "message/rfc822", "application/ms-tnef"}


def test_the_table_of_a_pdf_points_at_its_objects() -> None:
    quote = next(
        part
        for message in map(parsed, mailbox(120))
        for part in message.iter_attachments()
        if part.get_filename() == "Quote-2207-kitchen.pdf"
    )
    document = quote.get_content()
    start = int(document.rpartition(b"startxref\n")[2].split(b"\n")[0])
    assert document[start : start + 4] == b"xref"
    offsets = [int(line[:10]) for line in document[start:].split(b"\n")[3:8]]
    assert [document[offset : offset + 7] for offset in offsets] == [b"%d 0 obj" % number for number in range(1, 6)]


def test_many_scripts_and_charsets_are_spoken() -> None:
    found = list(map(parsed, mailbox(700)))
    charsets = {part.get_content_charset() for message in found for part in message.walk()}
    subjects = "".join(str(message["Subject"]) for message in found)
    assert charsets >= {
        "utf-8",
        "us-ascii",
        "iso-8859-1",
        "windows-1251",
        "koi8-r",
        "gb18030",
        "iso-2022-jp",
        "x-unheard-of",
    }
    for character in "üéñЖ会ص🐈真":
        assert character.lower() in subjects.lower() or character in "".join(map(shown, found[:400]))


def test_hostile_mail_is_there_and_only_speaks() -> None:
    texts = {str(message["Subject"]): message.as_string() for message in map(parsed, mailbox(120))}
    assert "ignore all previous instructions" in texts["Your copy of our catalogue"]
    assert "display:none" in texts["Two minutes for a survey?"]
    assert "</untrusted_content>" in texts["Minutes and new bank details"]


def test_the_owner_is_addressed_by_name() -> None:
    own = list(generate(1, 120, NOW, "Nora Lind <nora@example.org>"))
    assert all("Alice" not in message.raw.decode("latin-1") for message in own)
    assert sum("Nora" in message.raw.decode("latin-1") for message in own) > 60


def test_nobody_real_is_written_to() -> None:
    for message in mailbox(200):
        headers = parsed(message)
        people = [part for line in ("From", "To", "Cc") for part in str(headers[line] or "").split(",")]
        hosts = {person.rpartition("@")[2].rstrip("> ") for person in people if "@" in person}
        assert all(host.endswith(".example") or host == "proton.local" for host in hosts), hosts


@given(
    st.integers(0, 2**40),
    st.integers(1, 40),
    st.datetimes(datetime(2005, 1, 1), datetime(2090, 1, 1), timezones=st.just(UTC)),
)
@settings(max_examples=25, deadline=None)
def test_any_seed_and_moment_make_a_mailbox_that_can_be_served(seed: int, extra: int, now: datetime) -> None:
    found = list(generate(seed, 90 + extra, now, OWNER))
    for message in itertools.islice(found, 0, None, 7):
        served = literal(message)
        assert structure.envelope(served).startswith(b"(")
        assert structure.body(served, extended=True).startswith(b"(")


def test_fifty_thousand_messages_are_made_whole() -> None:
    found = mailbox(50_000)
    assert len(found) == 50_000
    assert sum(len(message.raw) for message in found[::50]) > 500_000


def test_fifty_thousand_messages_are_small_until_they_are_read() -> None:
    tracemalloc.start()
    try:
        found = mailbox(10_000)
        kept = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert len(found) == 10_000
    assert kept < 10_000 * 1_000
