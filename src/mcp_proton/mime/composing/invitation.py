"""An invitation (RFC 5546 REQUEST) → the answer to its organizer (REPLY): accepted, tentative or declined.

The answer holds what names the event, who answers and how, and nothing else of the invitation. Times are given in UTC,
so that no time zone of a stranger's making goes along. Bounded as `calendar` is.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

import icalendar

from mcp_proton.domain.errors import Invalid, Unsupported
from mcp_proton.domain.mail import Address
from mcp_proton.mime import calendar
from mcp_proton.mime.composing.addressing import usable
from mcp_proton.mime.composing.answering import Own
from mcp_proton.mime.composing.subjects import cut
from mcp_proton.mime.decoding import charset
from mcp_proton.mime.decoding.characters import line, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from icalendar.cal import Component

_PRODUCT = "-//mcp-proton//mail//EN"
_LONGEST_SUMMARY = 300
_MOST_CHANGES = 1 << 31
_SCHEME = "mailto:"


class Response(StrEnum):
    """How an invitation is answered (PARTSTAT, RFC 5545 §3.2.12)."""

    ACCEPTED = "accepted"
    TENTATIVE = "tentative"
    DECLINED = "declined"


_SAID = {
    Response.ACCEPTED: ("Accepted", "has accepted"),
    Response.TENTATIVE: ("Tentative", "has tentatively accepted"),
    Response.DECLINED: ("Declined", "has declined"),
}


class Answered(NamedTuple):
    """An answer, ready to become a letter: `sender` is the own address that was invited, `calendar` the REPLY."""

    sender: str
    organizer: Address
    subject: str
    text: str
    calendar: str


class Invited(NamedTuple):
    """Who answers: the own address, and how the invitation spells it."""

    own: str
    spelled: str


def answered(
    octets: bytes,
    response: Response,
    *,
    own: Sequence[str],
    now: datetime,
    sender: str | None = None,
    name: str = "",
    comment: str = "",
) -> Answered:
    """Return the answer to the invitation in a calendar part's decoded octets. `own` are all the owner's addresses.

    `sender`: answer as this one of them, invited or not; needed where none or several are. Raises `Invalid` where
    there is nothing that can be answered, `Unsupported` where an occurrence is named in an unknown time zone.
    """
    events = _events(octets)
    organizer = _organizer(events[0], Own(own))
    invited = _invited(events, own, sender)
    summary = line(str(events[0].get("SUMMARY", "")))[:_LONGEST_SUMMARY]
    title, did = _SAID[response]
    comment = visible(comment).text.strip()
    about = f"{line(name) or invited.own} {did} the invitation" + (f": {summary}" if summary else "")
    return Answered(
        sender=invited.own,
        organizer=organizer,
        subject=cut(f"{title}: {summary}".strip(": ")),
        text="\n\n".join(one for one in (comment, f"{about}.") if one) + "\n",
        calendar=_Reply(organizer, invited, response, now, line(name), comment).to(events),
    )


def _events(octets: bytes) -> list[Component]:
    """Return the event and its exceptions, all of one UID."""
    text = charset.decode(octets[: calendar.MOST_OCTETS], "utf-8").text.replace("\r\n", "\n").replace("\r", "\n")
    if calendar.method(text) != "REQUEST":
        raise Invalid("the calendar part is not an invitation that asks for an answer")
    found: list[Component] = []
    for lines in calendar.components(text, set()):
        event = calendar.component(lines)
        if event is not None and event.name == "VEVENT" and _uid(event):
            found.append(event)
        if len(found) >= calendar.MOST_EVENTS:
            break
    if not found:
        raise Invalid("the invitation holds no event that can be answered")
    return [one for one in found if _uid(one) == _uid(found[0])]


def _uid(event: Component) -> str:
    return line(str(_first(event.get("UID", ""))))


def _first(value: Any) -> Any:
    return (value[0] if value else "") if isinstance(value, list) else value


def _email(value: Any) -> str:
    """Return the address of a calendar user, or nothing where it is named by something else."""
    said = str(value).strip()
    return said[len(_SCHEME) :] if said.lower().startswith(_SCHEME) else ""


def _organizer(event: Component, mine: Own) -> Address:
    value = _first(event.get("ORGANIZER", ""))
    name = line(str((calendar.attribute(value, "params") or {}).get("CN", "")))[:_LONGEST_SUMMARY]
    found = Address(name, _email(value))
    if not usable(found):
        raise Invalid("the invitation names no organizer that can be written to")
    if found.email in mine:
        raise Invalid("the invitation was sent by the owner: an organizer does not answer oneself")
    return found


def _invited(events: Sequence[Component], own: Sequence[str], sender: str | None) -> Invited:
    """Return who answers; never chosen by the order of a list (J-137)."""
    emails = [_email(one) for event in events for one in _listed(event.get("ATTENDEE"))]
    found = {mine: email for mine in own for email in reversed(emails) if email in Own([mine])}
    if sender is not None:
        return Invited(sender, next((email for email in emails if email in Own([sender])), sender))
    exact = {mine: email for mine, email in found.items() if mine.casefold() == email.casefold()}
    chosen = exact or found
    if len(chosen) != 1:
        who = "several of the owner's addresses are" if chosen else "none of the owner's addresses is"
        raise Invalid(f"{who} invited", next="say as which address to answer")
    return Invited(*next(iter(chosen.items())))


def _listed(value: Any) -> list[Any]:
    return [] if value is None else value if isinstance(value, list) else [value]


@dataclass(frozen=True, slots=True)
class _Reply:
    """What the answer says of every event alike."""

    organizer: Address
    invited: Invited
    response: Response
    now: datetime
    name: str
    comment: str

    def to(self, events: Sequence[Component]) -> str:
        """Return the whole calendar."""
        made = icalendar.Calendar()
        made.add("prodid", _PRODUCT)
        made.add("version", "2.0")
        made.add("method", "REPLY")
        for event in events:
            made.add_component(self.about(event))
        return str(made.to_ical(), "utf-8")

    def about(self, event: Component) -> icalendar.Event:
        """Return one event of the answer (RFC 5546 §3.2.3)."""
        made = icalendar.Event()
        made.add("uid", _uid(event))
        made.add("dtstamp", self.now.astimezone(UTC).replace(microsecond=0))
        made.add("organizer", _user(self.organizer.email, self.organizer.name))
        attendee = _user(self.invited.spelled, self.name)
        attendee.params["PARTSTAT"] = self.response.value.upper()
        made.add("attendee", attendee)
        sequence = calendar.attribute(_first(event.get("SEQUENCE")), "real")
        made.add("sequence", sequence if isinstance(sequence, int) and 0 <= sequence < _MOST_CHANGES else 0)
        _add_occurrence(made, event)
        for field in ("DTSTART", "DTEND"):
            if (moment := _moment(event, field)) is not None:
                made.add(field, moment)
        if summary := line(str(_first(event.get("SUMMARY", "")))):
            made.add("summary", summary[:_LONGEST_SUMMARY])
        if self.comment:
            made.add("comment", self.comment)
        return made


def _add_occurrence(made: icalendar.Event, event: Component) -> None:
    """Name the one occurrence that is answered, if it is about one."""
    if event.get("RECURRENCE-ID") is None:
        return
    moment = _moment(event, "RECURRENCE-ID")
    if moment is None:
        raise Unsupported("the invitation names an occurrence in a time zone that is not known")
    made.add("recurrence-id", moment)


def _moment(event: Component, field: str) -> date | None:
    """Return a day, a floating time, or a time in UTC; None where its zone is not known."""
    value = _first(event.get(field))
    moment = calendar.attribute(value, "dt")
    if isinstance(moment, datetime):
        if moment.tzinfo is not None:
            try:
                return moment.astimezone(UTC)
            except (ValueError, OverflowError):
                return None
        return None if "TZID" in (calendar.attribute(value, "params") or {}) else moment
    return moment if isinstance(moment, date) else None


def _user(email: str, name: str) -> icalendar.vCalAddress:
    user = icalendar.vCalAddress(f"{_SCHEME}{email}")
    if name:
        user.params["CN"] = name
    return user
