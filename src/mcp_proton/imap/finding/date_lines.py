"""When messages were received, read many lines at a time: for walks over whole mailboxes."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from typing import TYPE_CHECKING

from mcp_proton.imap.errors import Rejected
from mcp_proton.imap.finding.dates import seconds
from mcp_proton.imap.finding.envelope_lines import USUAL_DATE, DateReader
from mcp_proton.imap.protocol.asks import Ask, Done, Taken
from mcp_proton.imap.protocol.rows import FetchRow
from mcp_proton.imap.protocol.writer import Atom, Verbatim, line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_proton.imap.protocol.box import Box
    from mcp_proton.imap.protocol.responses import Response
    from mcp_proton.imap.protocol.uids import UidSet

_UID = rb"UID ([0-9]{1,10})"
_LINES = re.compile(
    rb"\* [0-9]{1,10} FETCH \((?:" + _UID + rb' )?INTERNALDATE "(' + USUAL_DATE + rb')"(?: ' + _UID + rb")?\)\r?\n"
    rb"|((?s:.+))"
)
"""One line in its usual spelling; or else, since matches follow each other without a gap, all that is left."""


class Received:
    """Dates of `uids`, which ascend, as they come: seconds since 1970, 0 where none came; of no other messages."""

    def __init__(self, uids: array[int]) -> None:
        self.uids = uids
        self.dates = array("I", [0]) * len(uids)
        self._reader = DateReader()

    def add_lines(self, lines: Sequence[tuple[bytes, ...]]) -> None:
        """Take in lines: UID before, date, UID after, nothing. Lines in the order of UIDs are put in their place at once."""
        before, texts, after, _ = zip(*lines, strict=True)
        uids = [int(one or other or 0) for one, other in zip(before, after, strict=True)]
        dates = self._reader.column(texts)
        start = bisect_left(self.uids, uids[0])
        stop = start + len(uids)
        if self.uids[start:stop].tolist() == uids:
            self.dates[start:stop] = dates
        else:
            for uid, date in zip(uids, dates, strict=True):
                self._put(uid, date)

    def add_row(self, row: FetchRow) -> None:
        """Take in a row that came in another spelling."""
        self._put(row.uid, seconds(row.internaldate))

    def _put(self, uid: int, date: int) -> None:
        place = bisect_left(self.uids, uid)
        if place < len(self.uids) and self.uids[place] == uid:
            self.dates[place] = date


class DateLines(Ask[None]):
    """UID FETCH of the dates of `uids` into `received`, which several may share: a line goes to the oldest of them."""

    reads_lines = True

    def __init__(self, uids: UidSet, received: Received) -> None:
        super().__init__("UID FETCH", line(Atom("UID"), Atom("FETCH"), uids, Verbatim(b"(UID INTERNALDATE)")))
        self.uids, self._received = uids, received
        self._abandoned = False

    def take_lines(self, lines: memoryview) -> Taken:
        """Keep the lines up to the first that is anything but a date in its usual spelling."""
        found: list[tuple[bytes, ...]] = _LINES.findall(lines)
        left = found.pop()[-1] if found and found[-1][-1] else b""
        if found and not self._abandoned:
            self._received.add_lines(found)
        return Taken(len(lines) - len(left), len(found))

    def take(self, response: Response) -> bool:
        """Keep a row of this window that came in another spelling."""
        if type(response) is not FetchRow or response.uid not in self.uids or response.internaldate is None:
            return False
        if not self._abandoned:
            self._received.add_row(response)
        return True

    def abandon(self) -> None:
        """Drop what is left to come."""
        self._abandoned = True

    def result(self, done: Done) -> None:
        """Nothing: what came is in `received`."""


async def fetch(box: Box, windows: Sequence[UidSet], received: Received) -> None:
    """The dates of these windows, asked for in one packet. Raises `Rejected` if the server refuses one."""
    for outcome in await box.pipeline([DateLines(window, received) for window in windows]):
        if isinstance(outcome, Rejected):
            raise outcome
