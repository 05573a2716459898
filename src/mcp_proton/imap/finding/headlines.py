"""Headers of many messages at once, folded for comparing: what a search over a whole mailbox needs, and no more.

Plain text is its own lower case, correspondents are folded once each, and only encoded words are decoded one by one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mcp_proton.domain.query import Field, fold
from mcp_proton.imap import envelopes as decoded
from mcp_proton.imap.finding.dates import seconds
from mcp_proton.imap.finding.envelope_lines import DateReader, EnvelopeLines, Spans
from mcp_proton.imap.protocol import envelope as envelopes
from mcp_proton.imap.protocol.remembering import Remembered
from mcp_proton.imap.protocol.tokens import unescaped
from mcp_proton.mime.searching import people

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_proton.imap.protocol.asks import Done
    from mcp_proton.imap.protocol.rows import FetchRow
    from mcp_proton.imap.protocol.uids import UidSet

KEPT = (Field.SUBJECT, Field.FROM, Field.TO, Field.CC, Field.BCC)
_CAREFUL = b"\0"
_LOWER = bytes(
    octet if octet == 0x0A else ord(chr(octet).lower()) if 0x20 <= octet < 0x7F and octet not in b"\\=" else 0
    for octet in range(256)
)
"""Printable ASCII in lower case; for anything that may need decoding `_CAREFUL`."""


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

    def extend(self, more: Columns) -> None:
        """Add rows behind these."""
        self.uids.extend(more.uids)
        self.dates.extend(more.dates)
        for column, values in zip(self.texts, more.texts, strict=True):
            column.extend(values)
        self.message_ids.extend(more.message_ids)
        self.replies.extend(more.replies)

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

    def read(self, lines: Sequence[tuple[bytes, ...]]) -> Columns:
        """The columns of some lines, each the values of a `Spans`; at least one."""
        spans: Spans[tuple[bytes, ...]] = Spans._make(zip(*lines, strict=True))
        uids = zip(spans.uid_last, spans.uid_between, spans.uid_first, strict=True)
        people = self._people.__getitem__
        return Columns(
            [int(last or between or first or 0) for last, between, first in uids],
            [self._dates.seconds(text) if text else 0 for text in spans.internaldate],
            (
                _folded_texts(spans.subject),
                *(list(map(people, column)) for column in (spans.from_, spans.to, spans.cc, spans.bcc)),
            ),
            _ids(spans.own_id, spans.own),
            _ids(spans.reply_id, spans.reply),
        )


class HeaderLines(EnvelopeLines[Columns]):
    """The headers of a window, read as they arrive. Its result may hold rows of other windows too."""

    items = b"(UID ENVELOPE)"

    def __init__(self, uids: UidSet, reader: HeaderReader) -> None:
        super().__init__(uids)
        self._reader = reader
        self._columns = nothing()

    def keep(self, lines: list[tuple[bytes, ...]]) -> None:
        """Read them."""
        self._columns.extend(self._reader.read(lines))

    def keep_row(self, row: FetchRow) -> None:
        """Read it."""
        self._columns.append(row)

    def result(self, done: Done) -> Columns:
        """What came, in the server's order."""
        return self._columns


class DatedHeaderLines(HeaderLines):
    """The headers of a window, and when its messages were received."""

    items = b"(UID INTERNALDATE ENVELOPE)"


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
