"""Query → SEARCH keys that find at least what the query means, and who decides what (RFC 9051 §6.4.4).

Three kinds of terms: *exact* ones a server cannot read differently (flags, size), *dates*, which servers cut into days of
their own zone and are therefore asked for a day wider, and *texts*, where servers differ in what they decode. A NOT is
passed on only over exact terms: the complement of a superset would lose mail.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from enum import Enum
from html.entities import codepoint2name
from typing import TYPE_CHECKING, TypeAlias

from mcp_proton.domain.query import (
    All,
    And,
    Contains,
    Field,
    HasAttachment,
    HasFlag,
    HeaderContains,
    Linked,
    MessageId,
    Not,
    Or,
    Query,
    Received,
    Size,
    leaves,
)
from mcp_proton.imap.protocol import flags
from mcp_proton.imap.protocol.writer import Atom

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from collections.abc import Set as AbstractSet

    from mcp_proton.imap.protocol.writer import Argument

MOST_WORDS = 12
LARGEST_NUMBER = 0xFFFF_FFFF
_HEADERS = {field: Atom(field.value.upper()) for field in (Field.FROM, Field.TO, Field.CC, Field.BCC, Field.SUBJECT)}
_PEOPLE = (Field.FROM, Field.TO, Field.CC)

Key: TypeAlias = "tuple[Argument, ...]"
"""A SEARCH key as arguments of a command; a tuple within is put in parentheses."""


class Kind(Enum):
    """What a term is about, and so who can decide it at which cost."""

    FLAG = "flag"
    SIZE = "size"
    DATE = "date"
    HEADER = "header"
    BODY = "body"


CHEAP = frozenset({Kind.FLAG, Kind.SIZE, Kind.DATE})
"""kinds no server reads wrongly once dates are widened"""
LASTING = frozenset(Kind) - {Kind.FLAG}
"""kinds whose answer never changes for a UID"""
_OF_BODIES = frozenset({Field.BODY, Field.TEXT})


def superset(query: Query, kinds: AbstractSet[Kind]) -> Key | None:
    """A key of terms of these kinds that every matching message satisfies; None where only ALL would do."""
    match query:
        case And(terms):
            return _conjunction([superset(term, kinds) for term in terms])
        case Or(terms):
            return _disjunction([superset(term, kinds) for term in terms])
        case Not():
            return _exact(query, kinds)
    return _leaf(query) if kind_of(query) in kinds else None


def kind_of(leaf: Query) -> Kind | None:
    """The kind of a term; None for one that no SEARCH key is about."""
    match leaf:
        case Contains(field, _):
            return Kind.BODY if field in _OF_BODIES else Kind.HEADER
        case HeaderContains() | MessageId() | Linked():
            return Kind.HEADER
        case Received():
            return Kind.DATE
        case Size():
            return Kind.SIZE
        case HasFlag():
            return Kind.FLAG
    return None


def kinds_of(query: Query) -> frozenset[Kind]:
    """The kinds a query's terms are of."""
    return frozenset(kind for leaf in leaves(query) if (kind := kind_of(leaf)) is not None)


def received_within(query: Query) -> Received:
    """The dates every matching message lies between, as far as that is plain to see."""
    match query:
        case Received():
            return query
        case And(terms):
            within = [received_within(term) for term in terms]
            since = max((one.since for one in within if one.since), default=None)
            before = min((one.before for one in within if one.before), default=None)
            return Received(since, before)
    return Received()


def flags_of(query: Query) -> frozenset[str]:
    """Every flag the answer depends on."""
    return frozenset(leaf.flag for leaf in leaves(query) if isinstance(leaf, HasFlag))


def flag_key(flag: str) -> Key:
    """The key for exactly the messages with this flag."""
    return tuple(Atom(word) for word in flags.search_key(flag))


def words_for(query: Query, wanted: Callable[[Query], bool]) -> tuple[str, ...]:
    """The names of the criteria a filter picks, each once, in the order asked."""
    return tuple(dict.fromkeys(_name(leaf) for leaf in leaves(query) if wanted(leaf) and not isinstance(leaf, All)))


def _name(leaf: Query) -> str:
    match leaf:
        case Contains(field, _):
            return field.value
        case HeaderContains():
            return "header"
        case Received():
            return "date"
        case Size():
            return "size"
        case HasFlag(flag):
            return f"flag {flag}"
        case HasAttachment():
            return "attachments"
        case MessageId():
            return "message id"
        case Linked():
            return "conversation"
    return "all"


def _exact(query: Query, kinds: AbstractSet[Kind]) -> Key | None:
    """A key for exactly the messages that match, as it has to be below a NOT."""
    match query:
        case HasFlag() | Size() if kind_of(query) in kinds:
            return _leaf(query)
        case And(terms):
            parts = [_exact(term, kinds) for term in terms]
            return None if None in parts else _conjunction(parts)
        case Or(terms):
            return _disjunction([_exact(term, kinds) for term in terms])
        case Not(term):
            inner = _exact(term, kinds)
            return None if inner is None else (Atom("NOT"), *_grouped(inner))
    return None


def _leaf(query: Query) -> Key | None:
    match query:
        case HasFlag(flag):
            return flag_key(flag)
        case Size(larger, smaller):
            return _sized(larger, smaller)
        case Received(since, before):
            return _days(since, before)
        case Contains(Field.PARTICIPANT, text):
            return _disjunction([_all_words((_HEADERS[field],), text) for field in _PEOPLE])
        case Contains(field, text) if field in _OF_BODIES:
            return _all_words((Atom(field.value.upper()),), text, in_html=True)
        case Contains(field, text):
            return _all_words((_HEADERS[field],), text)
        case HeaderContains(name, text):
            return _all_words((Atom("HEADER"), name), text) or (Atom("HEADER"), name, "")
        case MessageId(message_id):
            return (Atom("HEADER"), "Message-ID", message_id)
        case Linked(ids):
            places = ("Message-ID", "In-Reply-To")
            return _disjunction([(Atom("HEADER"), place, one) for one in sorted(ids) for place in places])
    return None


def _sized(larger: int | None, smaller: int | None) -> Key | None:
    keys: list[Argument] = []
    for word, number in (("LARGER", larger), ("SMALLER", smaller)):
        if number is not None and not 0 <= number <= LARGEST_NUMBER:
            return None
        if number is not None:
            keys += [Atom(word), number]
    return tuple(keys) or None


def _all_words(head: Key, text: str, *, in_html: bool = False) -> Key | None:
    """Words one by one: a server may not look over a line break or a run of blanks between them."""
    words = [_bare(word) for word in text.split()[:MOST_WORDS]]
    keys: list[Key | None] = [_spellings(head, word, in_html=in_html) for word in words if word]
    return _conjunction(keys)


def _bare(word: str) -> str:
    # ENVELOPE and header spell an address differently around its marks; what lies between them is the same.
    return max(word.replace("<", " ").replace(">", " ").replace('"', " ").split(), key=len, default="")


def _spellings(head: Key, word: str, *, in_html: bool) -> Key:
    """The word with ss or \u00df, which are the same to us and not to every server; in a body also as HTML writes it with
    entities, which no server reads."""
    spelled = dict.fromkeys((word, word.replace("\u00df", "ss"), re.sub("ss", "\u00df", word, flags=re.IGNORECASE)))
    if in_html:
        spelled |= dict.fromkeys(written for each in list(spelled) for written in _in_html(each))
    return _disjunction([(*head, each) for each in spelled]) or (*head, word)


def _in_html(word: str) -> tuple[str, ...]:
    named = "".join(f"&{codepoint2name[ord(c)]};" if ord(c) in codepoint2name and ord(c) > 127 else c for c in word)
    decimal = "".join(c if c.isascii() else f"&#{ord(c)};" for c in word)
    hexadecimal = "".join(c if c.isascii() else f"&#x{ord(c):x};" for c in word)
    return named, decimal, hexadecimal


def _days(since: datetime | None, before: datetime | None) -> Key | None:
    keys: list[Argument] = []
    if since is not None:
        keys += [Atom("SINCE"), _clamped(since, -1)]
    if before is not None:
        keys += [Atom("BEFORE"), _clamped(before, 2)]
    return tuple(keys) or None


def _clamped(moment: datetime, days: int) -> date:
    """The day in UTC, moved: zones reach 14 hours to either side, and BEFORE leaves its own day out."""
    at = moment.astimezone(UTC).date() if 1 < moment.year < 9999 else moment.date()
    try:
        return min(max(at + timedelta(days=days), date(1970, 1, 1)), date(2106, 2, 1))
    except OverflowError:
        return date(1970, 1, 1) if days < 0 else date(2106, 2, 1)


def _conjunction(keys: Sequence[Key | None]) -> Key | None:
    known = [key for key in keys if key]
    return tuple(word for key in known for word in key) or None


def _disjunction(keys: Sequence[Key | None]) -> Key | None:
    if not keys or any(key is None for key in keys):
        return None
    first, *rest = [key for key in keys if key]
    for key in rest:
        first = (Atom("OR"), *_grouped(first), *_grouped(key))
    return first


def _grouped(key: Key) -> Key:
    return (key,)
