"""What SEARCH keys mean on Bridge: raw undecoded bytes, the first header of a name, and dates by the host's zone for SINCE."""

from __future__ import annotations

import asyncio
import datetime as dt
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from mcp_proton.simulator.view.updates import RECENT, SEEN, has_flag

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcp_proton.simulator.imap.commands import Range
    from mcp_proton.simulator.view.served import ServedMessage

FLAG_WORDS = {
    ("" if on else "un") + name: ("\\" + name.capitalize(), on)
    for name in ("answered", "deleted", "draft", "flagged", "seen")
    for on in (True, False)
}


_TURN = 64


class UnparsableDateError(Exception):
    """A Date header that can't be read fails the whole search."""


class NoSuchMessageError(Exception):
    """A set of UIDs in a mailbox without messages."""


@dataclass
class Candidate:
    """A message as a search sees it: its numbers, this session's flags, and the literal only when a key needs it."""

    number: int
    uid: int
    flags: frozenset[str]
    message: ServedMessage
    last_number: int
    last_uid: int
    zone: dt.tzinfo

    @cached_property
    def literal(self) -> bytes:
        """The raw bytes."""
        return self.message.literal

    @cached_property
    def head(self) -> bytes:
        """The header."""
        end = self.literal.find(b"\r\n\r\n")
        return self.literal if end < 0 else self.literal[: end + 2]

    @cached_property
    def text(self) -> bytes:
        """Everything after the header."""
        end = self.literal.find(b"\r\n\r\n")
        return b"" if end < 0 else self.literal[end + 4 :]

    def header(self, name: str) -> bytes | None:
        """The value of the first field of that name, folds taken out; None if there is none."""
        wanted = name.encode("latin-1").lower() + b":"
        lines = self.head.split(b"\r\n")
        for index, line in enumerate(lines):
            if line[: len(wanted)].lower() == wanted:
                value = line[len(wanted) :]
                for more in lines[index + 1 :]:
                    if more[:1] not in (b" ", b"\t"):
                        break
                    value += more
                return value.strip()
        return None


class Key(Protocol):
    """A condition on one message."""

    @property
    def needs_literal(self) -> bool:
        """Whether Bridge must load the message for it."""
        ...

    def holds(self, candidate: Candidate) -> bool:
        """Whether the message matches."""
        ...


@dataclass(frozen=True)
class All:
    """Every one of these; none of them is always true."""

    keys: tuple[Key, ...]

    @property
    def needs_literal(self) -> bool:
        """Whether any of them does."""
        return any(key.needs_literal for key in self.keys)

    def holds(self, candidate: Candidate) -> bool:
        """Whether all hold."""
        return all(key.holds(candidate) for key in self.keys)


@dataclass(frozen=True)
class Either:
    """OR."""

    first: Key
    second: Key

    @property
    def needs_literal(self) -> bool:
        """Whether either does."""
        return self.first.needs_literal or self.second.needs_literal

    def holds(self, candidate: Candidate) -> bool:
        """Whether one holds."""
        return self.first.holds(candidate) or self.second.holds(candidate)


@dataclass(frozen=True)
class Not:
    """NOT."""

    key: Key

    @property
    def needs_literal(self) -> bool:
        """Whether its key does."""
        return self.key.needs_literal

    def holds(self, candidate: Candidate) -> bool:
        """Whether the key doesn't hold."""
        return not self.key.holds(candidate)


@dataclass(frozen=True)
class HasFlag:
    """A flag or keyword that is set, or isn't."""

    flag: str
    on: bool
    needs_literal: bool = False

    def holds(self, candidate: Candidate) -> bool:
        """Compare without regard to case."""
        return has_flag(candidate.flags, self.flag) is self.on


def recency(word: str) -> Key:
    """NEW, OLD and RECENT."""
    recent = HasFlag(RECENT, True)
    if word == "new":
        return All((recent, HasFlag(SEEN, False)))
    return recent if word == "recent" else HasFlag(RECENT, False)


@dataclass(frozen=True)
class InSet:
    """In a set of sequence numbers or UIDs; ranges may lie beyond the end."""

    ranges: tuple[Range, ...]
    by_uid: bool
    needs_literal: bool = False

    def holds(self, candidate: Candidate) -> bool:
        """Whether one of the ranges holds the number."""
        number, last = (candidate.uid, candidate.last_uid) if self.by_uid else (candidate.number, candidate.last_number)
        for part in self.ranges:
            first = last if part.first is None else part.first
            final = last if part.last is None else part.last
            # `99:*` past the end is empty on Bridge.
            if part.last is None and first > last:
                continue
            if min(first, final) <= number <= max(first, final):
                return True
        return False


@dataclass(frozen=True)
class Size:
    """LARGER or SMALLER than a number of bytes."""

    larger: bool
    size: int
    needs_literal: bool = False

    def holds(self, candidate: Candidate) -> bool:
        """Compare the literal's length."""
        size = candidate.message.size
        return size > self.size if self.larger else size < self.size


@dataclass(frozen=True)
class Header:
    """A field that contains some bytes; no bytes at all match every message."""

    name: str
    wanted: bytes
    needs_literal: bool = True

    def holds(self, candidate: Candidate) -> bool:
        """Look into the first field of the name only, undecoded."""
        if not self.wanted:
            return True
        value = candidate.header(self.name)
        return value is not None and self.wanted.lower() in value.lower()


@dataclass(frozen=True)
class Text:
    """SUBJECT, FROM, TO, CC, BCC; BODY and TEXT."""

    word: str
    wanted: bytes
    needs_literal: bool = True

    def holds(self, candidate: Candidate) -> bool:
        """Look for the bytes, case of ASCII aside, in the part of the literal the key names."""
        if self.word == "text":
            return self.wanted.lower() in candidate.literal.lower()
        if self.word == "body":
            return self.wanted.lower() in candidate.text.lower()
        return Header(self.word, self.wanted).holds(candidate)


@dataclass(frozen=True)
class OnDate:
    """BEFORE, ON, SINCE by INTERNALDATE and SENT… by the Date header."""

    word: str
    day: dt.date

    @property
    def needs_literal(self) -> bool:
        """Only the SENT keys read the header."""
        return self.word.startswith("sent")

    def holds(self, candidate: Candidate) -> bool:
        """BEFORE and ON count days in UTC, SINCE in the zone of Bridge's host; SENT keys in the Date header's own zone."""
        if self.needs_literal:
            return self._compare(_sent_day(candidate))
        moment = dt.datetime.fromtimestamp(candidate.message.time, dt.UTC)
        return self._compare((moment.astimezone(candidate.zone) if self.word == "since" else moment).date())

    def _compare(self, day: dt.date) -> bool:
        if self.word.endswith("before"):
            return day < self.day
        return day == self.day if self.word.endswith("on") else day >= self.day


def _sent_day(candidate: Candidate) -> dt.date:
    value = candidate.header("Date") or b""
    try:
        return parsedate_to_datetime(value.decode("latin-1")).date()
    except ValueError:
        raise UnparsableDateError(value) from None


def rolled_over(year: int, month: int, day: int) -> dt.date:
    """A date as Go makes it: 31 February is 3 March, the year is taken as written."""
    first = dt.date(max(1, min(year, 9998)), month, 1)
    return first + dt.timedelta(days=day - 1)


async def search(candidates: Iterable[Candidate], key: Key) -> list[Candidate]:
    """The candidates that match, in order; others get their turn meanwhile."""
    found: list[Candidate] = []
    for count, candidate in enumerate(candidates, 1):
        if key.holds(candidate):
            found.append(candidate)
        if count % _TURN == 0:
            await asyncio.sleep(0)
    return found
