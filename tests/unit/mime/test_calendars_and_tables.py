"""Calendars and tables as text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_proton.mime import calendar, tables
from mcp_proton.mime.decoding.characters import visible

from .letters import patient

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
    text = calendar.described(calendar.read(INVITE).events[0])
    assert text.startswith("Event: Planning, part one\nStart: 2026-01-05 10:00 Europe/Berlin\n")
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
    for one in calendar.read(octets).events:
        calendar.described(one).encode()


TABLES = {
    "commas": ('a,b\n1,"x, y"\n', "a | b\n1 | x, y"),
    "semicolons": ("a;b;c\n1;2,5;3\n4;5,5;6\n", "a | b | c\n1 | 2,5 | 3\n4 | 5,5 | 6"),
    "tabs": ("a\tb\n1\t2\n", "a | b\n1 | 2"),
    "a line break in a cell": ('a,b\n"x\ny",z\n', "a | b\nx y | z"),
    "one column": ("a\nb\n", "a\nb"),
    "nothing": ("", ""),
}


def rows(text: str) -> tuple[list[str], set[str]]:
    notices: set[str] = set()
    return list(tables.Rows(text, notices)), notices


@pytest.mark.parametrize(("written", "shown"), TABLES.values(), ids=TABLES.keys())
def test_separated_values_become_rows(written: str, shown: str) -> None:
    assert rows(written) == (shown.split("\n") if shown else [], set())


def test_what_is_left_out_of_a_row_is_said() -> None:
    assert rows("a," * 10_000)[1] == {"truncated"}
    assert rows("a,b\n" + "c" * 10_000)[1] == {"truncated"}


@pytest.mark.parametrize("lines", [3, 30_000])
def test_after_a_quote_that_is_never_closed_no_line_is_lost(lines: int) -> None:
    """The line ends of a cell without an end stay, however much of the file it takes."""
    rest = [f"{number};and more" for number in range(lines)]
    found, notices = rows("\n".join(["a;b", '1;"never closed', *rest]))
    assert (found, notices) == (["a | b", '1;"never closed', *rest], {"table_damaged"})


@patient
@given(st.text(max_size=100) | st.text(',;\t"\n\r\x00\u202ea', max_size=50))
def test_no_table_raises_and_none_loses_a_letter(text: str) -> None:
    seen = visible(text).text
    read = tables.Rows(seen, set())
    marks = str.maketrans("", "", ',;|"')
    assert "".join("".join(read).translate(marks).split()) == "".join(seen.translate(marks).split())
    assert read.left == 0
