"""Calendar parts (RFC 5545) → a short typed summary. Bounded against hostile input; recurrences are named, never expanded."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

import icalendar
from icalendar.error import BrokenCalendarProperty

from mcp_proton.mime.decoding import charset
from mcp_proton.mime.decoding.characters import line, visible
from mcp_proton.mime.notices import Notice

if TYPE_CHECKING:
    from collections.abc import Iterable

MOST_OCTETS = 1 << 18
MOST_LINES = 5_000
MOST_EVENTS = 50
MOST_ATTENDEES = 100

_KEPT = frozenset({"VEVENT", "VTODO", "VJOURNAL", "VFREEBUSY"})
_FOLD = re.compile(r"\r?\n[ \t]")
_BEGIN = re.compile(r"(BEGIN|END):\s*([A-Z-]{1,30})\s*", re.IGNORECASE)
_METHOD = re.compile(r"^METHOD:\s*([A-Za-z]{1,20})\s*$", re.MULTILINE | re.IGNORECASE)
_LINE = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,60}(?:;[^:\n]{0,2000})?:")


@dataclass(frozen=True, slots=True)
class Event:
    """One event or task. Times are as written, with their zone's name; `recurrence` is the rule's text."""

    kind: str
    summary: str = ""
    start: str = ""
    end: str = ""
    location: str = ""
    organizer: str = ""
    attendees: tuple[str, ...] = ()
    recurrence: str = ""
    status: str = ""
    uid: str = ""
    description: str = ""


@dataclass(frozen=True, slots=True)
class Calendar:
    """What a calendar part says. `method` is REQUEST, REPLY, CANCEL … (RFC 5546), or empty."""

    method: str = ""
    events: tuple[Event, ...] = ()
    notices: frozenset[str] = frozenset()


def read(octets: bytes, declared: str | None = "utf-8") -> Calendar:
    """Read a calendar. Never raises; what is broken or beyond the limits is left out and reported."""
    decoded = charset.decode(octets[:MOST_OCTETS], declared, complete=len(octets) <= MOST_OCTETS)
    notices = set(decoded.notices)
    text = visible(decoded.text).text
    events: list[Event] = []
    for number, lines in enumerate(components(text, notices)):
        if number >= MOST_EVENTS:
            notices.add(Notice.TRUNCATED)
            break
        if found := event(lines):
            events.append(found)
    if len(octets) > MOST_OCTETS:
        notices.add(Notice.TRUNCATED)
    return Calendar(method(text), tuple(events), frozenset(notices))


def method(text: str) -> str:
    """Return what a calendar is for (RFC 5546 §1.4) in capitals, or nothing where it does not say."""
    found = _METHOD.search(text)
    return found[1].upper() if found else ""


def components(text: str, notices: set[str], *, most_lines: int = MOST_LINES) -> Iterable[str]:
    """Yield each event's own lines: no time zones (whose rules could be expanded), no alarms, nothing nested."""
    lines = _FOLD.sub("", text).split("\n")
    if len(lines) > most_lines:
        notices.add(Notice.TRUNCATED)
    held: list[str] | None = None
    skipped = 0
    for said in lines[:most_lines]:
        mark = _BEGIN.fullmatch(said)
        name = mark[2].upper() if mark else ""
        begins = mark is not None and mark[1].upper() == "BEGIN"
        if mark is None:
            if held is not None and not skipped and _LINE.match(said):
                if len(held) < MOST_LINES:
                    held.append(said[:20_000])
                else:
                    notices.add(Notice.TRUNCATED)
        elif held is None and begins and name in _KEPT:
            held = [f"BEGIN:{name}"]
        elif held is not None and begins:
            skipped += 1
        elif held is not None and skipped:
            skipped -= 1
        elif held is not None and held[0] == f"BEGIN:{name}":
            yield "\r\n".join([*held, f"END:{name}", ""])
            held = None
    if held is not None:
        notices.add(Notice.TRUNCATED)
        yield "\r\n".join([*held, held[0].replace("BEGIN", "END"), ""])


def component(text: str) -> icalendar.cal.Component | None:
    """Return one of `components` with its properties, or None where it cannot be read."""
    try:
        found = icalendar.cal.Component.from_ical(text)
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError, ArithmeticError):
        return None
    return None if isinstance(found, list) else found


def attribute(value: Any, name: str) -> Any:
    """Return what a property holds; one that could not be parsed holds nothing but its text."""
    try:
        return getattr(value, name, None)
    except BrokenCalendarProperty:
        return None


def event(text: str) -> Event | None:
    """Return what one of `components` says, or None where it cannot be read."""
    found = component(text)
    if found is None:
        return None
    attendees = found.get("ATTENDEE", [])
    attendees = attendees if isinstance(attendees, list) else [attendees]
    return Event(
        kind={"VEVENT": "event", "VTODO": "task"}.get(found.name or "", "entry"),
        summary=_text(found.get("SUMMARY")),
        start=_moment(found.get("DTSTART")),
        end=_moment(found.get("DTEND", found.get("DUE"))) or _duration(found.get("DURATION")),
        location=_text(found.get("LOCATION")),
        organizer=_person(found.get("ORGANIZER")),
        attendees=tuple(_person(one) for one in attendees[:MOST_ATTENDEES]),
        recurrence=_rule(found.get("RRULE")),
        status=_text(found.get("STATUS")),
        uid=_text(found.get("UID")),
        description=_long_text(found.get("DESCRIPTION")),
    )


def _first(value: Any) -> Any:
    return value[0] if isinstance(value, list) and value else value


def _text(value: Any) -> str:
    return "" if value is None else line(str(_first(value)))[:1_000]


def _long_text(value: Any) -> str:
    return "" if value is None else visible(str(_first(value))).text.strip()[:4_000]


def _moment(value: Any) -> str:
    """Write a date or time with the zone its sender named; one that cannot be read stands as it was written."""
    value = _first(value)
    moment = attribute(value, "dt")
    zone = str((attribute(value, "params") or {}).get("TZID", ""))
    if isinstance(moment, datetime):
        said = moment.strftime("%Y-%m-%d %H:%M")
        utc = moment.tzinfo is not None and not zone
        return f"{said} {line(zone)[:80]}" if zone else f"{said} UTC" if utc and not moment.utcoffset() else said
    if isinstance(moment, date):
        return moment.isoformat()
    return _text(value)


def _duration(value: Any) -> str:
    length = attribute(_first(value), "dt")
    return f"after {length}" if length is not None else ""


def _person(value: Any) -> str:
    value = _first(value)
    if value is None:
        return ""
    email = line(str(value))
    email = email[7:] if email.lower().startswith("mailto:") else email
    said = attribute(value, "params") or {}
    name = line(str(said.get("CN", "")))[:200]
    answer = line(str(said.get("PARTSTAT", ""))).lower()[:20]
    shown = f"{name} <{email[:320]}>" if name else email[:320]
    return f"{shown} ({answer})" if answer and answer != "needs-action" else shown


def _rule(value: Any) -> str:
    value = _first(value)
    if value is None:
        return ""
    try:
        written = value.to_ical().decode("utf-8", "replace")
    except (AttributeError, ValueError, TypeError):
        written = str(value)
    return line(written)[:500]


def described(event: Event) -> str:
    """Return an event as text, a line for each thing it says."""
    rows = [
        (event.kind.capitalize(), event.summary),
        ("Start", event.start),
        ("End", event.end),
        ("Repeats", event.recurrence),
        ("Location", event.location),
        ("Organizer", event.organizer),
        ("Attendees", ", ".join(event.attendees)),
        ("Status", event.status),
        ("Description", event.description),
    ]
    return "\n".join(f"{name}: {said}" for name, said in rows if said)
