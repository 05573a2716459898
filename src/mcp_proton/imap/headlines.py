"""Headers of many messages at once: `UID FETCH (INTERNALDATE ENVELOPE)` read line by line, field by field.

Reading a row into values costs several times what its octets cost. A search over a whole mailbox only needs folded text, so
lines are kept as they come and read together: a field that is plain in all lines is folded in one go, correspondents
are folded once each, and only encoded words are decoded one by one. Lines in an unusual spelling are read as rows.
"""

from __future__ import annotations

import re
from binascii import a2b_base64, a2b_qp
from typing import TYPE_CHECKING, NamedTuple

from mcp_proton.domain.query import Field, fold
from mcp_proton.imap import envelope as envelopes
from mcp_proton.imap import envelopes as decoded
from mcp_proton.imap.asks import Ask
from mcp_proton.imap.dates import LATEST, seconds
from mcp_proton.imap.limits import Limits
from mcp_proton.imap.remembering import Remembered
from mcp_proton.imap.rows import FetchRow, RowReader, moment
from mcp_proton.imap.tokens import QUOTED
from mcp_proton.imap.writer import Atom, Verbatim, line
from mcp_proton.mime.searching import people
from mcp_proton.mime.words import decode_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_proton.imap.asks import Done
    from mcp_proton.imap.responses import Response
    from mcp_proton.imap.uids import UidSet

KEPT = (Field.SUBJECT, Field.FROM, Field.TO, Field.CC, Field.BCC)
_STRING = rb"(?:" + QUOTED + rb"|NIL)"
_PEOPLE = rb"(?:NIL|\((?:\(" + _STRING + rb"(?: " + _STRING + rb"){3}\) ?)++\))"
_LINE = re.compile(
    rb"\* [0-9]{1,10} FETCH \((?:UID ([0-9]{1,10}) )?"
    rb'INTERNALDATE "([^"]*)" ENVELOPE \('
    + rb" ".join(
        (
            _STRING,  # date
            rb"(" + _STRING + rb")",  # subject
            rb"(" + _PEOPLE + rb")",  # from
            _PEOPLE,  # sender
            _PEOPLE,  # reply-to
            *[rb"(" + _PEOPLE + rb")"] * 3,  # to, cc, bcc
            *[rb"(" + _STRING + rb")"] * 2,  # in-reply-to, message-id
        )
    )
    + rb"\)(?: UID ([0-9]{1,10}))?\)\Z"
)
_IS_FETCH = re.compile(rb"\* [0-9]{1,10} FETCH \(")
_PLAIN = re.compile(rb"[\x20-\x5b\x5d-\x7e]*\Z")
"""printable ASCII but the backslash"""
_Q = rb"q\?(?:[!-<>@-\[\]-~]|=[0-9a-f]{2})*+"
_B = rb"b\?(?:[a-z0-9+/]{4})*+(?:[a-z0-9+/]{2}==|[a-z0-9+/]{3}=)?"
_UTF8_WORDS = re.compile(rb'"(?:=\?utf-8\?(?:' + _Q + rb"|" + _B + rb')\?= ?)+"\Z', re.IGNORECASE)
_UTF8_WORD = re.compile(rb"=\?utf-8\?([bq])\?([^?]*)\?=", re.IGNORECASE)
_LETTERS = re.compile(
    r"[ -~\u00a1-\u00ac\u00ae-\u024f\u0391-\u0481\u048a-\u052f\u3041-\u3096\u30a1-\u30fc\u4e00-\u9fff]*\Z"
)
"""Latin, Greek, Cyrillic, kana and Han letters, and printable ASCII"""
_ID = re.compile(rb'"(<[!-;=?-\[\]-~]{1,1000}>)"\Z')
USUAL_DATE = 26
DAY = 24 * 3600


class Columns(NamedTuple):
    """What was read of some messages, field by field. Texts are folded, as UTF-8; ids are as sent."""

    uids: list[int]
    dates: list[int]
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
        self.texts[0].append(_folded(decode_words(shown.subject or b"")))
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


class HeaderLines(Ask[None]):
    """UID FETCH of a window. Its lines lie in `lines` and `rows`; no other FETCH may be under way on the connection."""

    reads_lines = True

    def __init__(self, uids: UidSet) -> None:
        items = Verbatim(b"(UID INTERNALDATE ENVELOPE)")
        super().__init__("UID FETCH", line(Atom("UID"), Atom("FETCH"), uids, items))
        self.uids = uids
        self.lines: list[bytes] = []
        self.rows: list[FetchRow] = []
        self._abandoned = False

    def take_line(self, text: bytes, literals: Sequence[bytes]) -> bool:
        """Keep a line without literals that holds an envelope."""
        if literals or b" ENVELOPE (" not in text or not _IS_FETCH.match(text):
            return False
        if not self._abandoned:
            self.lines.append(text)
        return True

    def take(self, response: Response) -> bool:
        """Keep a row of this window that came with literals."""
        if type(response) is not FetchRow or response.uid not in self.uids or response.envelope is None:
            return False
        if not self._abandoned:
            self.rows.append(response)
        return True

    def abandon(self) -> None:
        """Drop what is left to come."""
        self._abandoned = True
        self.lines, self.rows = [], []

    def result(self, done: Done) -> None:
        """Nothing: the lines are there to be read."""


class HeaderReader:
    """Reads lines into columns; remembers correspondents and days, which come again and again."""

    def __init__(self) -> None:
        self._people = Remembered(_folded_people)
        self._midnights = Remembered(_midnight)
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
            [self._seconds(text) for text in dates],
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

    def _seconds(self, text: bytes) -> int:
        """An INTERNALDATE as the index keeps it."""
        midnight = self._midnights[text[:12] + text[20:]] if len(text) == USUAL_DATE else None
        if midnight is not None:
            try:
                return midnight + int(text[12:14]) * 3600 + int(text[15:17]) * 60 + int(text[18:20])
            except ValueError:
                pass
        return seconds(moment(text))


def nothing() -> Columns:
    """Columns without a row."""
    return Columns([], [], ([], [], [], [], []), [], [])


def _folded_people(span: bytes) -> bytes:
    return _folded(people(decoded.addresses(envelopes.addresses(span))))


def _folded_string(span: bytes) -> bytes:
    """A quoted string or NIL, folded. What is plain needs no decoding: its fold is its lower case."""
    if b"=?" not in span:
        if _PLAIN.match(span):
            return b"" if span == b"NIL" else b" ".join(span[1:-1].lower().split())
    elif _UTF8_WORDS.match(span):
        text = _utf8(span)
        if text is not None:
            return _folded(text)
    return _folded(decode_words(envelopes.text(span) or b""))


def _utf8(span: bytes) -> str | None:
    """A string of nothing but encoded words in UTF-8, as long as it holds only letters nothing has to be removed from."""
    octets = b"".join(
        a2b_base64(payload) if kind in b"bB" else a2b_qp(payload, header=True)
        for kind, payload in _UTF8_WORD.findall(span)
    )
    try:
        text = octets.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return text if _LETTERS.match(text) else None


def _folded(text: str) -> bytes:
    return fold(text).encode("utf-8", "surrogatepass")


def _one_id(span: bytes) -> bytes:
    if span == b"NIL":
        return b""
    usual = _ID.match(span)
    if usual is not None:
        return usual[1]
    return decoded.message_id(envelopes.text(span)).encode("utf-8", "surrogatepass")


def _midnight(day_and_zone: bytes) -> int | None:
    """The beginning of a day somewhere, in seconds since 1970."""
    found = moment(day_and_zone[:12] + b"00:00:00" + day_and_zone[12:])
    began = 0 if found is None else int(found.timestamp())
    return began if 0 < began < LATEST - 2 * DAY else None
