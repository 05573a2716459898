"""Headers of many messages at once, folded for comparing: what a search over a whole mailbox needs, and no more.

Plain text is its own lower case, correspondents are folded once each, and only encoded words are decoded one by one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mcp_proton.domain.query import Field, fold
from mcp_proton.imap import envelope as envelopes
from mcp_proton.imap import envelopes as decoded
from mcp_proton.imap.dates import seconds
from mcp_proton.imap.envelope_lines import DateReader, EnvelopeLines
from mcp_proton.imap.remembering import Remembered
from mcp_proton.imap.tokens import unescaped
from mcp_proton.mime.searching import people

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_proton.imap.envelope_lines import Spans
    from mcp_proton.imap.rows import FetchRow

KEPT = (Field.SUBJECT, Field.FROM, Field.TO, Field.CC, Field.BCC)
_CAREFUL = b"\0"
_LOWER = bytes(
    octet if octet == 0x0A else ord(chr(octet).lower()) if 0x20 <= octet < 0x7F and octet not in b"\\=" else 0
    for octet in range(256)
)
"""Printable ASCII in lower case; for anything that may need decoding `_CAREFUL`."""


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

    def read(self, ask: HeaderLines) -> Columns:
        """What came of a window."""
        columns = self._columns(ask.usual) if ask.usual else nothing()
        for row in ask.rows:
            columns.append(row)
        return columns

    def _columns(self, lines: Sequence[Spans]) -> Columns:
        (
            first,
            _,
            second,
            dates,
            _,
            _,
            subjects,
            from_,
            _,
            to,
            cc,
            bcc,
            replies,
            other_replies,
            ids,
            other_ids,
            last,
            _,
        ) = zip(*lines, strict=True)
        people = self._people.__getitem__
        return Columns(
            [int(before or between or after or 0) for before, between, after in zip(first, second, last, strict=True)],
            [self._dates.seconds(text) if text else 0 for text in dates],
            (
                _folded_texts(subjects),
                list(map(people, from_)),
                list(map(people, to)),
                list(map(people, cc)),
                list(map(people, bcc)),
            ),
            _ids(ids, other_ids),
            _ids(replies, other_replies),
        )


def nothing() -> Columns:
    """Columns without a row."""
    return Columns([], [], ([], [], [], [], []), [], [])


def _folded_people(span: bytes) -> bytes:
    return _folded(people(decoded.addresses(envelopes.addresses(span))))


def _folded_texts(insides: Sequence[bytes]) -> list[bytes]:
    """What stands in quoted strings, folded, all at once. What is plain needs no decoding: its fold is its lower case."""
    lowered = b"\n".join(insides).translate(_LOWER)
    texts = lowered.split(b"\n")
    if any(blanks in b"\n%b\n" % lowered for blanks in (b"  ", b"\n ", b" \n")):
        texts = [b" ".join(text.split()) for text in texts]
    if _CAREFUL in lowered:
        for row, text in enumerate(texts):
            if _CAREFUL in text:
                texts[row] = _folded(decoded.decoded(unescaped(insides[row])))
    return texts


def _folded(text: str) -> bytes:
    return fold(text).encode("utf-8", "surrogatepass")


def _ids(usual: Sequence[bytes], other: Sequence[bytes]) -> list[bytes]:
    """Ids as they are, and those that have to be looked for in another text."""
    return [one or (_one_id(text) if text else b"") for one, text in zip(usual, other, strict=True)]


def _one_id(inside: bytes) -> bytes:
    return decoded.message_id(unescaped(inside)).encode("utf-8", "surrogatepass")
