"""FETCH responses that hold envelopes, read many at a time: what lists and searches have in common.

Reading a row into values costs several times what its octets cost; one expression over whole runs of lines, and a memory
for what keeps coming back, costs less. A line in an unusual spelling, or with a literal, is read as any row is.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from array import array
from operator import add, itemgetter
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from mcp_proton.imap.finding.dates import LATEST, seconds
from mcp_proton.imap.protocol.asks import Ask, Taken
from mcp_proton.imap.protocol.remembering import Remembered
from mcp_proton.imap.protocol.rows import FetchRow, moment
from mcp_proton.imap.protocol.writer import Atom, Verbatim, line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_proton.imap.protocol.responses import Response
    from mcp_proton.imap.protocol.uids import UidSet

S = TypeVar("S")
T_co = TypeVar("T_co", covariant=True)


class Spans(NamedTuple, Generic[S]):
    """The pieces of a line in its usual spelling, or columns of them. What is NIL or was not sent is empty.

    Texts are the insides of their quotes, correspondents whole lists (or `NIL`). Servers put UID in one of three places.
    Of an id and the text beside it one is empty: `own_id` is a Message-ID that is nothing but an id, `own` any other.
    """

    uid_first: S
    flags: S
    uid_between: S
    internaldate: S
    size: S
    date: S
    subject: S
    from_: S
    reply_to: S
    to: S
    cc: S
    bcc: S
    reply_id: S
    reply: S
    own_id: S
    own: S
    uid_last: S
    left: S
    """empty in a line; alone, all that follows the usual ones"""


# No text reaches over the end of a line, so a quote left open spoils its own line only.
_INSIDE = rb'[^"\\\r\n]*+(?:\\[^\r\n][^"\\\r\n]*+)*+'
_STRING = rb'(?:"' + _INSIDE + rb'"|NIL)'
_TEXT = rb'(?:"(' + _INSIDE + rb')"|NIL)'
_ID = rb'(?:"(?:(<[!#-;=?-\[\]-~]{1,1000}+>)"|(' + _INSIDE + rb')")|NIL)'
_PEOPLE = rb"(?:NIL|\((?:\(" + rb" ".join([_STRING] * 4) + rb"\) ?)++\))"
_LIKE_FROM = rb"(?>(?P=from)|" + _PEOPLE + rb")"  # sender and reply-to mostly repeat it
_ENVELOPE = rb" ".join(
    (
        _TEXT,  # date
        _TEXT,  # subject
        rb"(?P<from>" + _PEOPLE + rb")",
        _LIKE_FROM,  # sender
        rb"(" + _LIKE_FROM + rb")",  # reply-to
        *[rb"(" + _PEOPLE + rb")"] * 3,  # to, cc, bcc
        _ID,  # in-reply-to
        _ID,  # message-id
    )
)
USUAL_DATE = rb"[ 0-9][0-9]-[A-Za-z]{3}-[0-9]{4} (?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9] [+-][0-9]{4}"
_UID = rb"UID ([0-9]{1,10})"
_LINES = re.compile(
    rb"\* [0-9]{1,10} FETCH \((?:" + _UID + rb" )?(?:FLAGS \(([^()\r\n]*+)\) )?(?:" + _UID + rb" )?"
    rb'(?:INTERNALDATE "(' + USUAL_DATE + rb')" )?(?:RFC822\.SIZE ([0-9]{1,19}) )?'
    rb"ENVELOPE \(" + _ENVELOPE + rb"\)(?: " + _UID + rb")?\)\r?\n"
    rb"|((?s:.+))"
)
"""One line in its usual spelling; or else, since matches follow each other without a gap, all that is left."""
DAY = 24 * 3600
_DAY, _MINUTE, _SECOND, _ZONE = map(itemgetter, (slice(12), slice(12, 17), slice(18, 20), slice(20, None)))
"""pieces of a date in its usual spelling"""


class EnvelopeLines(Ask[T_co]):
    """UID FETCH of `items`, ENVELOPE among them. What comes is kept as lines where it is spelled as usual, else as rows.

    A line goes to the oldest command under way, so of several at once each may keep lines of another.
    """

    reads_lines = True
    items = b""

    def __init__(self, uids: UidSet) -> None:
        super().__init__("UID FETCH", line(Atom("UID"), Atom("FETCH"), uids, Verbatim(self.items)))
        self.uids = uids
        self._abandoned = False

    @abstractmethod
    def keep(self, lines: list[tuple[bytes, ...]]) -> None:
        """Take in lines, each the values of a `Spans`."""

    @abstractmethod
    def keep_row(self, row: FetchRow) -> None:
        """Take in a row with an envelope, of one of `uids`."""

    def take_lines(self, lines: memoryview) -> Taken:
        """Keep the lines up to the first that is anything but an envelope in its usual spelling."""
        found: list[tuple[bytes, ...]] = _LINES.findall(lines)
        left = found.pop()[-1] if found and found[-1][-1] else b""
        if found and not self._abandoned:
            self.keep(found)
        return Taken(len(lines) - len(left), len(found))

    def take(self, response: Response) -> bool:
        """Keep a row of this window that came in another spelling."""
        if type(response) is not FetchRow or response.uid not in self.uids or response.envelope is None:
            return False
        if not self._abandoned:
            self.keep_row(response)
        return True

    def abandon(self) -> None:
        """Drop what is left to come."""
        self._abandoned = True


class DateReader:
    """INTERNALDATEs of `Spans` in seconds since 1970, 0 for what names no moment. Remembers when days began."""

    def __init__(self) -> None:
        self._midnights = Remembered(_midnight)
        self._minutes = Remembered(_minute)
        self._seconds = Remembered(int)

    def seconds(self, text: bytes) -> int:
        """As a date index keeps it. `text` is spelled as usual, or empty."""
        midnight = self._midnights[text[:12] + text[20:]] if text else None
        if midnight is None:
            return seconds(moment(text))
        return midnight + int(text[12:14]) * 3600 + int(text[15:17]) * 60 + int(text[18:20])

    def column(self, texts: Sequence[bytes]) -> array[int]:
        """The same for many that are all spelled as usual, in less time."""
        days = list(map(self._midnights.__getitem__, map(add, map(_DAY, texts), map(_ZONE, texts))))
        if None in days:
            return array("I", map(self.seconds, texts))
        clocks = map(
            add,
            map(self._minutes.__getitem__, map(_MINUTE, texts)),
            map(self._seconds.__getitem__, map(_SECOND, texts)),
        )
        return array("I", map(add, days, clocks))


def _minute(text: bytes) -> int:
    """Seconds since midnight of `hh:mm`."""
    return int(text[:2]) * 3600 + int(text[3:]) * 60


def _midnight(day_and_zone: bytes) -> int | None:
    """The beginning of a day somewhere, in seconds since 1970."""
    found = moment(day_and_zone[:12] + b"00:00:00" + day_and_zone[12:])
    began = 0 if found is None else int(found.timestamp())
    return began if 0 < began < LATEST - 2 * DAY else None
