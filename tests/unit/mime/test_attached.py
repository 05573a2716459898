"""Attachments as text: calendars, tables, messages, HTML, plain text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_proton.domain.mail import Part
from mcp_proton.mime import calendar, tables
from mcp_proton.mime.attachment_text import extract, from_octets

from .letters import TEXT, b64, file, letter, patient, several

INVITE = b"""BEGIN:VCALENDAR\r
VERSION:2.0\r
METHOD:REQUEST\r
BEGIN:VTIMEZONE\r
TZID:Own Zone\r
BEGIN:STANDARD\r
DTSTART:19700101T000000\r
RRULE:FREQ=SECONDLY\r
TZOFFSETFROM:+0100\r
TZOFFSETTO:+0100\r
END:STANDARD\r
END:VTIMEZONE\r
BEGIN:VEVENT\r
UID:1@x\r
SUMMARY:Planning\\, part one\r
DTSTART;TZID=Europe/Berlin:20260105T100000\r
DTEND;TZID=Europe/Berlin:20260105T110000\r
RRULE:FREQ=WEEKLY;COUNT=10\r
LOCATION:Room 1\r
ORGANIZER;CN=Anna:mailto:anna@x.test\r
ATTENDEE;CN=Ben;PARTSTAT=ACCEPTED:mailto:ben@x.test\r
ATTENDEE:mailto:cara@x.test\r
DESCRIPTION:Line one\\nLine two and a fol\r
 ded end\r
BEGIN:VALARM\r
TRIGGER:-PT15M\r
DESCRIPTION:alarm\r
END:VALARM\r
END:VEVENT\r
END:VCALENDAR\r
"""


def test_an_invitation_says_who_invites_whom_to_what_and_when() -> None:
    found = calendar.read(INVITE)
    assert found.method == "REQUEST"
    (event,) = found.events
    assert event == calendar.Event(
        kind="event",
        summary="Planning, part one",
        start="2026-01-05 10:00 Europe/Berlin",
        end="2026-01-05 11:00 Europe/Berlin",
        location="Room 1",
        organizer="Anna <anna@x.test>",
        attendees=("Ben <ben@x.test> (accepted)", "cara@x.test"),
        recurrence="FREQ=WEEKLY;COUNT=10",
        uid="1@x",
        description="Line one\nLine two and a folded end",
    )
    assert found.notices == frozenset()


def test_the_summary_reads_as_text() -> None:
    text = calendar.to_text(INVITE).text
    assert text.startswith("Method: REQUEST\n\nEvent: Planning, part one\nStart: 2026-01-05 10:00 Europe/Berlin\n")
    assert "Attendees: Ben <ben@x.test> (accepted), cara@x.test" in text


def event(*lines: str) -> bytes:
    return "\r\n".join(["BEGIN:VCALENDAR", "BEGIN:VEVENT", *lines, "END:VEVENT", "END:VCALENDAR", ""]).encode()


TIMES = {
    "DTSTART;VALUE=DATE:20260105": "2026-01-05",
    "DTSTART:20260105T100000Z": "2026-01-05 10:00 UTC",
    "DTSTART:20260105T100000": "2026-01-05 10:00",
    "DTSTART;TZID=Own Zone:20260105T100000": "2026-01-05 10:00 Own Zone",
}


@pytest.mark.parametrize(("written", "shown"), TIMES.items())
def test_a_time_keeps_the_zone_its_sender_named(written: str, shown: str) -> None:
    assert calendar.read(event(written)).events[0].start == shown


@pytest.mark.parametrize(
    "broken",
    [
        "DTSTART:tomorrow",
        "DTSTART;VALUE=DATE:20269999",
        "RRULE:FREQ=NEVER",
        "DURATION:x",
        "ATTENDEE",
        ";;;:",
        "GEO:x",
        "DTSTART;TZID=:1",
    ],
)
def test_a_broken_line_loses_itself_only(broken: str) -> None:
    (only,) = calendar.read(event("SUMMARY:kept", broken)).events
    assert only.summary == "kept"


def test_hostile_calendars_are_bounded() -> None:
    assert len(calendar.read(event("SUMMARY:a") * 500).events) == calendar.MOST_EVENTS
    assert "truncated" in calendar.read(event("SUMMARY:a") * 500).notices
    assert "truncated" in calendar.read(event("DESCRIPTION:" + "a" * 1_000_000)).notices
    assert calendar.read(b"BEGIN:VEVENT\r\n" * 100_000 + b"SUMMARY:a").events == (calendar.Event("event"),)
    assert len(calendar.read(event(*["ATTENDEE:mailto:a@x"] * 4_000)).events[0].attendees) == calendar.MOST_ATTENDEES
    assert calendar.read(event("RRULE:FREQ=SECONDLY;COUNT=999999999", "SUMMARY:a")).events[0].summary == "a"


@patient
@given(
    st.binary(max_size=200)
    | st.lists(
        st.sampled_from(
            [
                "BEGIN:VEVENT",
                "END:VEVENT",
                "BEGIN:VALARM",
                "END:VALARM",
                "DTSTART:",
                "DTSTART;TZID=x:20260101T000000",
                "RRULE:",
                "RRULE:FREQ=DAILY",
                "DURATION:P",
                " folded",
                "ATTENDEE;CN=\u202e:x",
                "SUMMARY:\x00",
                "GEO:1;x",
                "ATTACH;VALUE=BINARY;ENCODING=BASE64:!",
                "FREEBUSY:x/y",
                "CATEGORIES:,",
                "PRIORITY:x",
                "EXDATE:x",
                "SEQUENCE:-",
            ]
        ),
        max_size=12,
    ).map(lambda lines: "\r\n".join(lines).encode())
)
def test_no_calendar_raises(octets: bytes) -> None:
    calendar.to_text(octets).text.encode()


TABLES = {
    "commas": ('a,b\n1,"x, y"\n', "a | b\n1 | x, y"),
    "semicolons": ("a;b;c\n1;2,5;3\n4;5,5;6\n", "a | b | c\n1 | 2,5 | 3\n4 | 5,5 | 6"),
    "tabs": ("a\tb\n1\t2\n", "a | b\n1 | 2"),
    "a line break in a cell": ('a,b\n"x\ny",z\n', "a | b\nx y | z"),
    "one column": ("a\nb\n", "a\nb"),
    "nothing": ("", ""),
}


@pytest.mark.parametrize(("written", "shown"), TABLES.values(), ids=TABLES.keys())
def test_separated_values_become_rows(written: str, shown: str) -> None:
    assert tables.to_text(written) == (shown, frozenset())


def test_tables_are_bounded() -> None:
    found = tables.to_text("a,b\n" * 10_000)
    assert found.text.count("\n") == tables.MOST_ROWS - 1
    assert found.notices == {"truncated"}
    assert tables.to_text('"' + "a" * 200_000).notices == {"truncated"}
    assert tables.to_text("a," * 10_000).notices == {"truncated"}


@patient
@given(st.text(max_size=100) | st.text(',;\t"\n\r\x00\u202ea', max_size=50))
def test_no_table_raises(text: str) -> None:
    tables.to_text(text)


READ = {
    "plain": (Part("2", "text/plain", charset="latin-1"), "Grüße".encode("latin-1"), "Grüße"),
    "html": (Part("2", "text/html"), b"<p>a<p style='display:none'>b", "a"),
    "csv": (Part("2", "text/csv"), b"a,b\r\n1,2\r\n", "a | b\n1 | 2"),
    "csv by its name": (Part("2", "application/octet-stream", filename="A.CSV"), b"a,b\r\n", "a | b"),
    "csv as Excel calls it": (Part("2", "application/vnd.ms-excel", filename="a.csv"), b"a;b\r\n", "a | b"),
    "calendar": (Part("2", "application/octet-stream", filename="a.ics"), event("SUMMARY:x"), "Event: x"),
    "json": (Part("2", "application/json"), b'{"a": 1}', '{"a": 1}'),
    "a log by its name": (Part("2", "application/octet-stream", filename="a.log"), b"x", "x"),
    "markup of some kind": (Part("2", "application/atom+xml"), b"<a/>", "<a/>"),
    "a delivery report": (Part("2", "message/delivery-status"), b"Action: failed\r\n", "Action: failed\n"),
}


@pytest.mark.parametrize(("part", "octets", "text"), READ.values(), ids=READ.keys())
def test_an_attachment_reads_as_its_kind(part: Part, octets: bytes, text: str) -> None:
    found = from_octets(part, octets)
    assert found is not None
    assert found.text == text


def test_a_forwarded_message_reads_with_its_header_text_and_attachments() -> None:
    raw = several(TEXT, file("attachment; filename=a.pdf", content_type="application/pdf"))
    found = extract(Part("2", "message/rfc822", encoding="base64"), b64(raw).encode())
    assert found is not None
    assert (
        found.text
        == "From: A <a@x.test>\nTo: b@x.test\nSubject: s1\n\nhello body\n\n[attachment: a.pdf, application/pdf]"
    )


def test_a_kind_without_a_reader_gives_nothing() -> None:
    for one in (
        Part("2", "application/pdf"),
        Part("2", "image/png", filename="a.txt"),
        Part("2", "application/octet-stream"),
    ):
        assert from_octets(one, b"x") is None


def test_a_cut_attachment_says_so() -> None:
    found = extract(Part("2", "text/plain", encoding="base64"), b64(b"hello body").encode()[:9], complete=False)
    assert found == ("hello ", frozenset({"truncated"}))


@patient
@given(
    st.binary(max_size=200),
    st.sampled_from(["text/plain", "text/html", "text/csv", "text/calendar", "message/rfc822", "application/json"]),
    st.booleans(),
)
def test_no_attachment_raises(octets: bytes, media_type: str, complete: bool) -> None:
    found = extract(Part("2", media_type, encoding="quoted-printable"), octets, complete=complete)
    assert found is not None
    found.text.encode()


def test_a_message_that_carries_itself_is_bounded() -> None:
    raw = letter()
    for _ in range(50):
        raw = several(TEXT, b"Content-Type: message/rfc822\r\n\r\n" + raw)
    found = from_octets(Part("2", "message/rfc822"), raw)
    assert found is not None
    assert "hello body" in found.text
