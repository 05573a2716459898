"""The search language: text → Query. The words people and models know from web mail, nothing to escape but quotes.

    from:anna subject:"annual report" (has:attachment OR larger:5M) -is:read since:2026-11-01

Words side by side must all match; `OR` between two is either; `-` or `NOT` before one excludes. A bare word is looked for in
subject, addresses and body. Terms: from to cc bcc with subject body text header:Name=value message-id
since before on (dates in the owner's zone) larger smaller (12k, 5M) is:unread|read|starred|unstarred|answered|unanswered|
draft|forwarded has:attachment.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from zoneinfo import ZoneInfo

from mcp_proton.domain.errors import Invalid
from mcp_proton.domain.mail import Flag
from mcp_proton.domain.query import (
    All,
    And,
    Contains,
    Field,
    HasAttachment,
    HasFlag,
    HeaderContains,
    MessageId,
    Not,
    Or,
    Query,
    Received,
    Size,
)
from mcp_proton.services.fields import when

MOST_TERMS = 40
MOST_DEPTH = 12
_TOKEN = re.compile(
    r'\s*(?:(?P<mark>[()-])|(?P<name>[A-Za-z][A-Za-z-]*):(?=\S|\Z)|"(?P<quoted>[^"]*)"|(?P<word>[^\s()"]+))'
)
_SIZE = re.compile(r"(\d{1,12})\s*([kKmMgG]?)[bB]?")
_UNITS = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3}
_FIELDS = {
    "from": Field.FROM,
    "to": Field.TO,
    "cc": Field.CC,
    "bcc": Field.BCC,
    "with": Field.PARTICIPANT,
    "participant": Field.PARTICIPANT,
    "subject": Field.SUBJECT,
    "body": Field.BODY,
    "text": Field.TEXT,
}
_STATES: dict[str, Query] = {
    "unread": Not(HasFlag(Flag.SEEN)),
    "read": HasFlag(Flag.SEEN),
    "seen": HasFlag(Flag.SEEN),
    "starred": HasFlag(Flag.FLAGGED),
    "flagged": HasFlag(Flag.FLAGGED),
    "unstarred": Not(HasFlag(Flag.FLAGGED)),
    "answered": HasFlag(Flag.ANSWERED),
    "unanswered": Not(HasFlag(Flag.ANSWERED)),
    "draft": HasFlag(Flag.DRAFT),
    "forwarded": HasFlag(Flag.FORWARDED),
}


def parse(text: str, zone: ZoneInfo) -> Query:
    """Read a query. Raises `Invalid` that names the term that makes no sense."""
    tokens = list(_tokens(text))
    if not tokens:
        return All()
    if len(tokens) > 4 * MOST_TERMS:
        raise _nonsense("there are too many terms")
    return _Parser(tokens, zone).whole()


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str


def _tokens(text: str) -> Iterator[_Token]:
    place = 0
    while place < len(text) and text[place:].strip():
        found = _TOKEN.match(text, place)
        if found is None:
            raise _nonsense("a quote is not closed")
        kind = found.lastgroup or ""
        word = found[kind]
        # A minus inside or at the end of a word is part of the word; only one before a term excludes.
        if word == "-" and (found.end() >= len(text) or text[found.end()].isspace()):
            kind = "word"
        if kind == "word" and word in ("OR", "AND", "NOT", "|"):
            kind = "mark"
        yield _Token(kind, "OR" if word == "|" else word)
        place = found.end()


class _Parser:
    def __init__(self, tokens: list[_Token], zone: ZoneInfo) -> None:
        self._tokens = tokens
        self._place = 0
        self._zone = zone
        self._depth = 0
        self._terms: dict[str, Callable[[str, str], Query]] = {
            **dict.fromkeys(_FIELDS, _contains),
            "since": self._date,
            "after": self._date,
            "before": self._date,
            "on": self._date,
            "larger": _size,
            "smaller": _size,
            "is": _state,
            "has": _has,
            "header": _header,
            "message-id": lambda _, value: MessageId(value),
        }

    def whole(self) -> Query:
        query = self._either()
        if self._place < len(self._tokens):
            raise _nonsense("a bracket is closed that was not opened")
        return query

    def _either(self) -> Query:
        terms = [self._every()]
        while self._take("OR"):
            terms.append(self._every())
        return terms[0] if len(terms) == 1 else Or(tuple(terms))

    def _every(self) -> Query:
        terms = [self._one()]
        while (token := self._peek()) is not None and (token.kind, token.text) not in (("mark", ")"), ("mark", "OR")):
            if not self._take("AND"):
                terms.append(self._one())
        return terms[0] if len(terms) == 1 else And(tuple(terms))

    def _one(self) -> Query:
        token = self._next()
        if token.kind == "mark":
            if token.text in ("-", "NOT"):
                return Not(self._deeper(self._one))
            if token.text == "(":
                inner = self._deeper(self._either)
                if not self._take(")"):
                    raise _nonsense("a bracket is not closed")
                return inner
            raise _nonsense(f"`{token.text}` needs a term before and after it")
        if token.kind == "name":
            return self._named(token.text)
        return Contains(Field.TEXT, token.text)

    def _named(self, name: str) -> Query:
        term = self._terms.get(name.lower())
        if term is None and self._peek() is None:
            return Contains(Field.TEXT, f"{name}:")
        value = self._next()
        if value.kind not in ("word", "quoted") or (value.kind == "word" and value.text in ("OR", "AND", "NOT")):
            raise _nonsense(f"`{name}:` needs a value")
        if term is None:
            return Contains(Field.TEXT, f"{name}:{value.text}")
        return term(name.lower(), value.text)

    def _date(self, name: str, value: str) -> Query:
        start = when(value, self._zone, field=name)
        if name == "before":
            return Received(before=start)
        return Received(since=start, before=start + timedelta(days=1) if name == "on" else None)

    def _deeper(self, parse_term: Callable[[], Query]) -> Query:
        self._depth += 1
        if self._depth > MOST_DEPTH:
            raise _nonsense("it is nested too deeply")
        try:
            return parse_term()
        finally:
            self._depth -= 1

    def _peek(self) -> _Token | None:
        return self._tokens[self._place] if self._place < len(self._tokens) else None

    def _next(self) -> _Token:
        token = self._peek()
        if token is None:
            raise _nonsense("it ends too early")
        self._place += 1
        return token

    def _take(self, mark: str) -> bool:
        token = self._peek()
        if token is not None and token.kind == "mark" and token.text == mark:
            self._place += 1
            return True
        return False


def _contains(name: str, value: str) -> Query:
    return Contains(_FIELDS[name], value)


def _size(name: str, value: str) -> Query:
    found = _SIZE.fullmatch(value)
    if found is None:
        raise _nonsense(f"`{name}:` needs a size like 500k or 5M")
    octets = int(found[1]) * _UNITS[found[2].lower()]
    return Size(larger=octets) if name == "larger" else Size(smaller=octets)


def _state(_: str, value: str) -> Query:
    if value.lower() not in _STATES:
        raise _nonsense("`is:` knows " + ", ".join(_STATES))
    return _STATES[value.lower()]


def _has(_: str, value: str) -> Query:
    if value.lower() not in ("attachment", "attachments", "file"):
        raise _nonsense("`has:` knows attachment")
    return HasAttachment()


def _header(_: str, value: str) -> Query:
    name, _equals, text = value.partition("=")
    if not re.fullmatch(r"[!-9;-~]{1,76}", name):
        raise _nonsense("`header:` needs a name and a value, like header:List-Id=news")
    return HeaderContains(name, text)


def _nonsense(why: str) -> Invalid:
    return Invalid(
        f"the query makes no sense: {why}",
        code="invalid_query",
        next='write it like: from:anna subject:"annual report" has:attachment -is:read since:2026-11-01',
    )
