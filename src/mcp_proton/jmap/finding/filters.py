"""Query → a FilterCondition that finds at least what the query means (RFC 8621 §4.4.1).

Only terms that servers read alike are given to it: sizes, keywords, and dates a second wider (Cyrus 3.6 takes `before` to
include its instant). Text is decided here, since servers look for words, stems or pieces of words, each in its own way;
recall stays complete whatever the server can.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from mcp_proton.domain.errors import MailError
from mcp_proton.domain.query import All, And, HasFlag, Not, Or, Query, Received, Size
from mcp_proton.jmap import keywords
from mcp_proton.jmap.protocol.values import LARGEST

if TYPE_CHECKING:
    from collections.abc import Sequence

Filter = dict[str, object]
SECOND = timedelta(seconds=1)


def within(mailbox_ids: Sequence[str], condition: Filter | None) -> Filter:
    """The messages of some mailboxes that meet a condition."""
    places: list[Filter] = [{"inMailbox": one} for one in mailbox_ids]
    place: Filter = places[0] if len(places) == 1 else {"operator": "OR", "conditions": places}
    return place if condition is None else {"operator": "AND", "conditions": [place, condition]}


def joined(*conditions: Filter | None) -> Filter | None:
    """All of these conditions."""
    return _joined("AND", [one for one in conditions if one is not None])


def any_of(conditions: Sequence[Filter]) -> Filter | None:
    """At least one of these conditions."""
    return _joined("OR", list(conditions))


def superset(query: Query) -> Filter | None:
    """A condition that every matching message meets; None where only "all" would do."""
    match query:
        case And(terms):
            return _joined("AND", [found for term in terms if (found := superset(term)) is not None])
        case Or(terms):
            options = [superset(term) for term in terms]
            return None if None in options else _joined("OR", [one for one in options if one is not None])
        case Received(since, before):
            return _dated(since, before)
    return exact(query)


def exact(query: Query) -> Filter | None:
    """A condition that just the matching messages meet, None where there is none."""
    match query:
        case HasFlag(flag):
            return _keyword(flag)
        case Size(larger, smaller):
            return _sized(larger, smaller)
        case And(terms) | Or(terms):
            found = [exact(term) for term in terms]
            word = "AND" if isinstance(query, And) else "OR"
            return None if None in found else _joined(word, [one for one in found if one is not None])
        case Not(term):
            inner = exact(term)
            return None if inner is None else {"operator": "NOT", "conditions": [inner]}
    return None


def is_exact(query: Query) -> bool:
    """Whether the server alone can decide it."""
    return isinstance(query, All) or exact(query) is not None


def date(moment: datetime, *, up: bool) -> str:
    """An instant as a UTCDate of whole seconds, rounded up or down: not every server reads fractions."""
    at = moment.astimezone(UTC)
    if at.microsecond and up:
        at += timedelta(seconds=1)
    return at.strftime("%Y-%m-%dT%H:%M:%SZ") if at.year >= 1_000 else "1000-01-01T00:00:00Z"


def _joined(operator: str, found: list[Filter]) -> Filter | None:
    if not found:
        return None
    return found[0] if len(found) == 1 else {"operator": operator, "conditions": found}


def _keyword(flag: str) -> Filter | None:
    try:
        return {"hasKeyword": keywords.theirs(flag)}
    except MailError:
        return None


def _sized(larger: int | None, smaller: int | None) -> Filter | None:
    """minSize is inclusive, maxSize is not (RFC 8621 §4.4.1)."""
    found: Filter = {}
    if larger is not None and 0 <= larger < LARGEST:
        found["minSize"] = larger + 1
    if smaller is not None and 0 <= smaller <= LARGEST:
        found["maxSize"] = smaller
    return found if len(found) == (larger is not None) + (smaller is not None) and found else None


def _dated(since: datetime | None, before: datetime | None) -> Filter | None:
    """A second wider to either side."""
    found: Filter = {}
    if since is not None and since.year > 1_000:
        found["after"] = date(since - SECOND, up=False)
    if before is not None and before.year < 9_999:
        found["before"] = date(before + SECOND, up=True)
    return found or None
