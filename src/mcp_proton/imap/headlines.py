"""Headers of many messages at once, folded for comparing: what a search over a whole mailbox needs, and no more.

Plain text is its own lower case, correspondents are folded once each, and only encoded words are decoded one by one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from mcp_proton.domain.query import Field, fold
from mcp_proton.imap import envelope as envelopes
from mcp_proton.imap import envelopes as decoded
from mcp_proton.imap.dates import seconds
from mcp_proton.imap.envelope_lines import END, PEOPLE, START, STRING, DateReader, EnvelopeLines, usual_id
from mcp_proton.imap.limits import Limits
from mcp_proton.imap.remembering import Remembered
from mcp_proton.imap.rows import FetchRow, RowReader
from mcp_proton.mime.searching import people

if TYPE_CHECKING:
    from collections.abc import Sequence


KEPT = (Field.SUBJECT, Field.FROM, Field.TO, Field.CC, Field.BCC)
_LINE = re.compile(
    START
    + rb'(?:INTERNALDATE "([^"]*)" )?ENVELOPE \('
    + rb" ".join(
        (
            STRING,  # date
            rb"(" + STRING + rb")",  # subject
            rb"(" + PEOPLE + rb")",  # from
            PEOPLE,  # sender
            PEOPLE,  # reply-to
            *[rb"(" + PEOPLE + rb")"] * 3,  # to, cc, bcc
            *[rb"(" + STRING + rb")"] * 2,  # in-reply-to, message-id
        )
    )
    + rb"\)"
    + END
)
_PLAIN = re.compile(rb"[\x20-\x5b\x5d-\x7e]*\Z")
"""printable ASCII but the backslash"""


class HeaderLines(EnvelopeLines):
    """The headers of a window."""

    items = b"(UID ENVELOPE)"


class DatedHeaderLines(HeaderLines):
    """The headers of a window, and when its messages were received."""

    items = b"(UID INTERNALDATE ENVELOPE)"


class Columns(NamedTuple):
    """What was read of some messages, field by field. Texts are folded, as UTF-8; ids are as sent."""

    uids: list[int]
    dates: list[int]
    """0 where none was asked for"""
    texts: tuple[list[bytes], ...]
    """in the order of KEPT"""
    message_ids: list[bytes]
    replies: list[bytes]

    def __len__(self) -> int:
        return len(self.uids)

    def append(self, row: FetchRow) -> None:
        """Add what a row says."""
        shown = row.envelope or envelopes.Envelope()
        self.uids.append(row.uid)
        self.dates.append(seconds(row.internaldate))
        self.texts[0].append(_folded(decoded.decoded(shown.subject)))
        for column, field in zip(self.texts[1:], (shown.from_, shown.to, shown.cc, shown.bcc), strict=True):
            column.append(_folded(people(decoded.addresses(field))))
        self.message_ids.append(decoded.message_id(shown.message_id).encode("utf-8", "surrogatepass"))
        self.replies.append(decoded.message_id(shown.in_reply_to).encode("utf-8", "surrogatepass"))

    def part(self, start: int, stop: int) -> Columns:
        """The rows from `start` to before `stop`."""
        return Columns(
            self.uids[start:stop],
            self.dates[start:stop],
            tuple(column[start:stop] for column in self.texts),
            self.message_ids[start:stop],
            self.replies[start:stop],
        )

    def only(self, places: Sequence[int]) -> Columns:
        """These rows of it."""
        return Columns(
            [self.uids[place] for place in places],
            [self.dates[place] for place in places],
            tuple([column[place] for place in places] for column in self.texts),
            [self.message_ids[place] for place in places],
            [self.replies[place] for place in places],
        )


class HeaderReader:
    """Reads lines into columns; remembers correspondents and days, which come again and again."""

    def __init__(self) -> None:
        self._people = Remembered(_folded_people)
        self._dates = DateReader()
        self._odd = RowReader(Limits())

    def read(self, ask: HeaderLines) -> Columns:
        """What came of a window. Raises ProtocolViolation for lines that cannot be taken apart."""
        found = [_LINE.match(text) for text in ask.lines]
        usual = [match.groups() for match in found if match is not None]
        columns = self._columns(usual) if usual else nothing()
        odd = [text for text, match in zip(ask.lines, found, strict=True) if match is None]
        for row in (*ask.rows, *(self._odd.read(text, ()) for text in odd)):
            columns.append(row)
        return columns

    def _columns(self, spans: Sequence[Sequence[bytes]]) -> Columns:
        before, dates, subjects, from_, to, cc, bcc, replies, ids, after = zip(*spans, strict=True)
        people = self._people.__getitem__
        return Columns(
            [int(first or last or 0) for first, last in zip(before, after, strict=True)],
            [0 if text is None else self._dates.seconds(text) for text in dates],
            (
                [_folded_string(span) for span in subjects],
                list(map(people, from_)),
                list(map(people, to)),
                list(map(people, cc)),
                list(map(people, bcc)),
            ),
            [_one_id(span) for span in ids],
            [_one_id(span) for span in replies],
        )


def nothing() -> Columns:
    """Columns without a row."""
    return Columns([], [], ([], [], [], [], []), [], [])


def _folded_people(span: bytes) -> bytes:
    return _folded(people(decoded.addresses(envelopes.addresses(span))))


def _folded_string(span: bytes) -> bytes:
    """A quoted string or NIL, folded. What is plain needs no decoding: its fold is its lower case."""
    if b"=?" not in span and _PLAIN.match(span):
        return b"" if span == b"NIL" else b" ".join(span[1:-1].lower().split())
    return _folded(decoded.decoded(envelopes.text(span)))


def _folded(text: str) -> bytes:
    return fold(text).encode("utf-8", "surrogatepass")


def _one_id(span: bytes) -> bytes:
    if span == b"NIL":
        return b""
    return usual_id(span) or decoded.message_id(envelopes.text(span)).encode("utf-8", "surrogatepass")
