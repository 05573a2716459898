"""FETCH responses that hold envelopes, kept as lines and read together: what lists and searches have in common.

Reading a row into values costs several times what its octets cost; one expression a line, and a memory for what keeps
coming back, costs less. Lines in an unusual spelling are left to the reader of rows.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mcp_proton.imap.asks import Ask
from mcp_proton.imap.dates import LATEST, seconds
from mcp_proton.imap.remembering import Remembered
from mcp_proton.imap.rows import FetchRow, moment
from mcp_proton.imap.tokens import QUOTED
from mcp_proton.imap.writer import Atom, Verbatim, line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_proton.imap.asks import Done
    from mcp_proton.imap.responses import Response
    from mcp_proton.imap.uids import UidSet

STRING = rb"(?:" + QUOTED + rb"|NIL)"
PEOPLE = rb"(?:NIL|\((?:\(" + STRING + rb"(?: " + STRING + rb"){3}\) ?)++\))"
START = rb"\* [0-9]{1,10} FETCH \((?:UID ([0-9]{1,10}) )?"
END = rb"(?: UID ([0-9]{1,10}))?\)\Z"
_IS_FETCH = re.compile(rb"\* [0-9]{1,10} FETCH \(")
_ID = re.compile(rb'"(<[!-;=?-\[\]-~]{1,1000}>)"\Z')
USUAL_DATE = 26
DAY = 24 * 3600


class EnvelopeLines(Ask[None]):
    """UID FETCH of `items`, ENVELOPE among them. What came lies in `lines`, and in `rows` where literals came with it.

    A line goes to the oldest command under way, so of several at once each may hold lines of another.
    """

    reads_lines = True
    items = b""

    def __init__(self, uids: UidSet) -> None:
        super().__init__("UID FETCH", line(Atom("UID"), Atom("FETCH"), uids, Verbatim(self.items)))
        self.uids = uids
        self.lines: list[bytes] = []
        self.rows: list[FetchRow] = []
        self._abandoned = False

    def take_line(self, text: bytes, literals: Sequence[bytes]) -> bool:
        """Keep a line without literals that holds an envelope."""
        if literals or b"ENVELOPE (" not in text or not _IS_FETCH.match(text):
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


class DateReader:
    """INTERNALDATEs in seconds since 1970, 0 for what names no moment. Remembers when days began."""

    def __init__(self) -> None:
        self._midnights = Remembered(_midnight)

    def seconds(self, text: bytes) -> int:
        """As a date index keeps it."""
        midnight = self._midnights[text[:12] + text[20:]] if len(text) == USUAL_DATE else None
        if midnight is not None:
            try:
                return midnight + int(text[12:14]) * 3600 + int(text[15:17]) * 60 + int(text[18:20])
            except ValueError:
                pass
        return seconds(moment(text))


def _midnight(day_and_zone: bytes) -> int | None:
    """The beginning of a day somewhere, in seconds since 1970."""
    found = moment(day_and_zone[:12] + b"00:00:00" + day_and_zone[12:])
    began = 0 if found is None else int(found.timestamp())
    return began if 0 < began < LATEST - 2 * DAY else None


def usual_id(span: bytes) -> bytes | None:
    """The id a quoted string holds if it is nothing but that; None where it has to be looked for."""
    found = _ID.match(span)
    return None if found is None else found[1]
