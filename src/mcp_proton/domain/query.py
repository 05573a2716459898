"""Query: a search expression as a small tree, and its meaning on decoded text.

`matches` is three-valued: True, False, or None where the candidate does not carry what would decide (its body, say).
A backend asks with what is cheap and fetches more only for candidates that answer None.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


class Field(StrEnum):
    """A place text is looked for. PARTICIPANT is from, to and cc; TEXT is all headers shown and the body."""

    FROM = "from"
    TO = "to"
    CC = "cc"
    BCC = "bcc"
    PARTICIPANT = "participant"
    SUBJECT = "subject"
    BODY = "body"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class All:
    """Every message."""


@dataclass(frozen=True, slots=True)
class And:
    """All of these."""

    terms: tuple[Query, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """At least one of these."""

    terms: tuple[Query, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """Everything but this."""

    term: Query


@dataclass(frozen=True, slots=True)
class Contains:
    """The field holds this text, compared by `fold`."""

    field: Field
    text: str


@dataclass(frozen=True, slots=True)
class HeaderContains:
    """A header of this name exists and holds this text (any value where the text is empty)."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Received:
    """Received at or after `since` and before `before` (aware instants; either may be open)."""

    since: datetime | None = None
    before: datetime | None = None


@dataclass(frozen=True, slots=True)
class Size:
    """More than `larger` and less than `smaller` octets."""

    larger: int | None = None
    smaller: int | None = None


@dataclass(frozen=True, slots=True)
class HasFlag:
    """Carries this flag."""

    flag: str


@dataclass(frozen=True, slots=True)
class HasAttachment:
    """Has at least one attachment."""


@dataclass(frozen=True, slots=True)
class MessageId:
    """Its Message-ID is exactly this one, case included (A-64)."""

    id: str


@dataclass(frozen=True, slots=True)
class Linked:
    """Its Message-ID or an id in its In-Reply-To is one of these: decided by the envelope alone."""

    ids: frozenset[str]


Query = (
    All | And | Or | Not | Contains | HeaderContains | Received | Size | HasFlag | HasAttachment | MessageId | Linked
)

CONTENT_FIELDS = frozenset({Field.BODY, Field.TEXT})


def leaves(query: Query) -> Iterator[Query]:
    """Yield the terms of a query, without And, Or and Not."""
    match query:
        case And(terms) | Or(terms):
            for term in terms:
                yield from leaves(term)
        case Not(term):
            yield from leaves(term)
        case _:
            yield query


def looks_inside(query: Query) -> bool:
    """Whether answering tells something of content: then the search needs READ, since it would be an oracle for it."""
    return any(
        isinstance(leaf, HeaderContains) or (isinstance(leaf, Contains) and leaf.field in CONTENT_FIELDS)
        for leaf in leaves(query)
    )


def fold(text: str) -> str:
    """Make texts comparable: NFKC, full case folding, every run of white space one blank."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


@dataclass(frozen=True, slots=True)
class Candidate:
    """What is known of a message so far. None (or a missing key) is "not known"; an empty value is known empty."""

    texts: Mapping[Field, str | None] = field(default_factory=dict)
    headers: Callable[[str], Sequence[str]] | None = None
    received: datetime | None = None
    size: int | None = None
    flags: frozenset[str] | None = None
    has_attachments: bool | None = None
    message_id: str | None = None
    in_reply_to: str | None = None


def matches(query: Query, candidate: Candidate) -> bool | None:
    """Answer for one candidate; None where it needs more than it carries."""
    match query:
        case All():
            return True
        case And(terms):
            return _all(matches(term, candidate) for term in terms)
        case Or(terms):
            return _any(matches(term, candidate) for term in terms)
        case Not(term):
            inner = matches(term, candidate)
            return None if inner is None else not inner
        case Contains(where, text):
            return _contains(where, text, candidate)
        case _:
            return _leaf(query, candidate)


def _leaf(query: Query, candidate: Candidate) -> bool | None:
    match query:
        case HeaderContains(name, text):
            if candidate.headers is None:
                return None
            return any(fold(text) in fold(value) for value in candidate.headers(name))
        case Received(since, before):
            when = candidate.received
            return None if when is None else (since is None or when >= since) and (before is None or when < before)
        case Size(larger, smaller):
            size = candidate.size
            return None if size is None else (larger is None or size > larger) and (smaller is None or size < smaller)
        case HasFlag(flag):
            return None if candidate.flags is None else flag in candidate.flags
        case HasAttachment():
            return candidate.has_attachments
        case MessageId(message_id):
            return None if candidate.message_id is None else candidate.message_id == message_id
        case Linked(ids):
            if candidate.message_id in ids:
                return True
            return None if candidate.in_reply_to is None else any(one in candidate.in_reply_to for one in ids)
    raise AssertionError(query)


def _contains(where: Field, text: str, candidate: Candidate) -> bool | None:
    if where is Field.PARTICIPANT:
        return _any(_contains(one, text, candidate) for one in (Field.FROM, Field.TO, Field.CC))
    if where is Field.TEXT:
        places = (Field.SUBJECT, Field.FROM, Field.TO, Field.CC, Field.BCC, Field.BODY)
        return _any(_contains(one, text, candidate) for one in places)
    held = candidate.texts.get(where)
    return None if held is None else fold(text) in fold(held)


def _all(answers: Iterator[bool | None]) -> bool | None:
    unknown = False
    for answer in answers:
        if answer is False:
            return False
        unknown = unknown or answer is None
    return None if unknown else True


def _any(answers: Iterator[bool | None]) -> bool | None:
    unknown = False
    for answer in answers:
        if answer:
            return True
        unknown = unknown or answer is None
    return None if unknown else False
