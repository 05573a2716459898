"""How an invitation is answered (P-60): RFC 5546, whatever the invitation holds."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import icalendar
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_proton.domain.errors import Invalid, MailError, Unsupported
from mcp_proton.domain.mail import Address
from mcp_proton.mime import calendar
from mcp_proton.mime.composing.invitation import Answered, Response, answered
from mcp_proton.mime.structure import parse

from .letters import patient
from .outgoing import letter, read, wire

NOW = datetime(2026, 12, 1, 10, 0, 0, 5, tzinfo=UTC)
OWN = ["me@proton.me", "me@pm.me"]


def event(*lines: str, attendee: str = "mailto:me@pm.me") -> list[str]:
    usual = {
        "UID": "UID:uid-1@x.test",
        "ORGANIZER": 'ORGANIZER;CN="Boss, The":MAILTO:boss@x.test',
        "ATTENDEE": f"ATTENDEE;PARTSTAT=NEEDS-ACTION;RSVP=TRUE:{attendee}",
        "DTSTART": "DTSTART;TZID=Europe/Berlin:20261202T100000",
        "SEQUENCE": "SEQUENCE:3",
        "SUMMARY": "SUMMARY:Lunch\\, at noon",
    }
    for one in lines:
        usual.pop(one.replace(";", ":").split(":")[0], None)
    return ["BEGIN:VEVENT", *usual.values(), *(one for one in lines if not one.endswith(":-")), "END:VEVENT"]


def invitation(*events: list[str], method: str = "REQUEST") -> bytes:
    body = [line for one in events or (event(),) for line in one]
    return "\r\n".join(["BEGIN:VCALENDAR", "VERSION:2.0", f"METHOD:{method}", *body, "END:VCALENDAR", ""]).encode(
        "utf-8", "replace"
    )


def answer(octets: bytes, response: Response = Response.ACCEPTED, **more: object) -> Answered:
    return answered(octets, response, own=OWN, now=NOW, **more)  # type: ignore[arg-type]


def events(made: Answered) -> list[icalendar.Event]:
    found = icalendar.Calendar.from_ical(made.calendar)
    return [one for one in found.walk("VEVENT") if isinstance(one, icalendar.Event)]


@pytest.mark.parametrize(
    ("response", "state", "subject"),
    [
        (Response.ACCEPTED, "ACCEPTED", "Accepted: Lunch, at noon"),
        (Response.TENTATIVE, "TENTATIVE", "Tentative: Lunch, at noon"),
        (Response.DECLINED, "DECLINED", "Declined: Lunch, at noon"),
    ],
)
def test_an_answer_names_the_event_who_answers_and_how(response: Response, state: str, subject: str) -> None:
    made = answer(invitation(), response, name="Me", comment="See you; soon")
    assert (made.sender, made.organizer, made.subject) == ("me@pm.me", Address("Boss, The", "boss@x.test"), subject)
    found = icalendar.Calendar.from_ical(made.calendar)
    assert (found["METHOD"], found["VERSION"]) == ("REPLY", "2.0")
    (said,) = events(made)
    assert (said["UID"], said["SEQUENCE"], said["COMMENT"]) == ("uid-1@x.test", 3, "See you; soon")
    assert said["ATTENDEE"] == "mailto:me@pm.me"
    assert said["ATTENDEE"].params == {"PARTSTAT": state, "CN": "Me"}
    assert said["ORGANIZER"] == "mailto:boss@x.test"
    assert said["DTSTAMP"].dt == NOW.replace(microsecond=0)
    assert said["DTSTART"].dt == datetime(2026, 12, 2, 9, 0, tzinfo=UTC)
    assert "TZID" not in made.calendar
    assert made.text.startswith("See you; soon\n\nMe has ")


def test_the_same_answer_is_the_same_octets() -> None:
    """A-40."""
    assert answer(invitation()) == answer(invitation())


def test_an_answer_travels_as_an_alternative_that_calendars_recognise() -> None:
    made = answer(invitation())
    raw = wire(letter(to=(made.organizer,), subject=made.subject, text=made.text, calendar=made.calendar))
    root = parse.structure(raw)
    assert [part.media_type for part in root.children] == ["text/plain", "text/calendar"]
    part = next(one for one in read(raw).walk() if one.get_content_type() == "text/calendar")
    assert part.get_param("method") == "REPLY"
    octets = part.get_payload(decode=True)
    assert isinstance(octets, bytes)
    assert calendar.read(octets).events[0].attendees == ("me@pm.me (accepted)",)


def test_every_exception_of_a_series_is_answered_and_no_other_event() -> None:
    one = event("RECURRENCE-ID;TZID=Europe/Berlin:20261209T100000")
    made = answer(invitation(event("RRULE:FREQ=WEEKLY"), one, event("UID:other@x.test")))
    assert [said["UID"] for said in events(made)] == ["uid-1@x.test"] * 2
    assert events(made)[1]["RECURRENCE-ID"].dt == datetime(2026, 12, 9, 9, 0, tzinfo=UTC)
    assert "RRULE" not in made.calendar


def test_days_and_floating_times_stay_what_they_are() -> None:
    made = answer(invitation(event("DTSTART;VALUE=DATE:20261202", "DTEND:20261203T100000")))
    assert "DTSTART;VALUE=DATE:20261202\r\n" in made.calendar
    assert "DTEND:20261203T100000\r\n" in made.calendar


def test_an_occurrence_in_an_unknown_time_zone_is_not_guessed() -> None:
    with pytest.raises(Unsupported):
        answer(invitation(event("RECURRENCE-ID;TZID=Nowhere/Else:20261209T100000")))
    assert "DTSTART" not in answer(invitation(event("DTSTART;TZID=Nowhere/Else:20261209T100000"))).calendar


@pytest.mark.parametrize("method", ["CANCEL", "REPLY", "PUBLISH", "COUNTER"])
def test_only_an_invitation_is_answered(method: str) -> None:
    with pytest.raises(Invalid, match="not an invitation"):
        answer(invitation(method=method))


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        (("ORGANIZER:-",), "no organizer"),
        (("ORGANIZER:urn:uuid:1",), "no organizer"),
        (("ORGANIZER:mailto:boss@x.test> NOTIFY=NEVER",), "no organizer"),
        (("ORGANIZER:mailto:ME@proton.me",), "does not answer oneself"),
        (("UID:-",), "no event"),
    ],
)
def test_what_cannot_be_answered_is_refused_with_the_reason(lines: tuple[str, ...], why: str) -> None:
    with pytest.raises(Invalid, match=why):
        answer(invitation(event(*lines)))


def test_the_address_that_was_invited_answers_and_none_is_chosen_by_the_order_of_a_list() -> None:
    """J-137."""
    tagged = answer(invitation(event(attendee="mailto:Me+work@PM.me")))
    assert tagged.sender == "me@pm.me"
    assert events(tagged)[0]["ATTENDEE"] == "mailto:Me+work@PM.me"
    with pytest.raises(Invalid, match="none of"):
        answer(invitation(event(attendee="mailto:team@x.test")))
    both = invitation(event("ATTENDEE:mailto:me@pm.me", "ATTENDEE:mailto:me@proton.me"))
    with pytest.raises(Invalid, match="several of"):
        answer(both)
    assert events(answer(both, sender="me@proton.me"))[0]["ATTENDEE"] == "mailto:me@proton.me"
    assert answer(invitation(event(attendee="mailto:team@x.test")), sender="me@pm.me").sender == "me@pm.me"


def test_a_name_is_given_only_where_one_is_known() -> None:
    assert "CN" not in events(answer(invitation()))[0]["ATTENDEE"].params


def test_an_invitation_of_any_size_is_answered_in_bounds() -> None:
    many = invitation(
        *[event(f"RECURRENCE-ID:202612{day:02}T1000{hour:02}Z") for day in range(1, 29) for hour in range(60)]
    )
    assert len(events(answer(many))) <= calendar.MOST_EVENTS
    crowd = [f"ATTENDEE:mailto:a{number}@x.test" for number in range(4_000)]
    assert answer(invitation(event(*crowd, "ATTENDEE:mailto:me@pm.me"))).sender == "me@pm.me"


VALUE = st.text(st.characters(exclude_characters="\r\n"), max_size=60) | st.text("mailto:@x.;:\",\\n^'=", max_size=60)


@patient
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["UID", "SUMMARY", "DTSTART", "SEQUENCE", "RECURRENCE-ID", "ORGANIZER;CN=x", "X"]), VALUE
        )
    ),
    VALUE,
)
def test_nothing_in_an_invitation_can_add_a_property_to_the_answer(lines: list[tuple[str, str]], comment: str) -> None:
    octets = invitation(event(*(f"{name}:{value}" for name, value in lines)))
    try:
        made = answer(octets, comment=comment)
    except MailError:
        return
    names = {
        "ATTENDEE",
        "UID",
        "DTSTAMP",
        "ORGANIZER",
        "SEQUENCE",
        "RECURRENCE-ID",
        "DTSTART",
        "DTEND",
        "SUMMARY",
        "COMMENT",
    }
    for said in events(made):
        assert set(said.keys()) <= names
        assert str(said["ATTENDEE"]) == "mailto:me@pm.me"
    assert made.calendar.isprintable() or not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f]", made.calendar)
    assert len(re.findall(r"^BEGIN:", made.calendar, re.MULTILINE)) == 2
    assert read(wire(letter(subject=made.subject, text=made.text, calendar=made.calendar)))
