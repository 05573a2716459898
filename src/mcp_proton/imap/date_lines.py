"""When messages were received, read many lines at a time: for walks over whole mailboxes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mcp_proton.imap.asks import Ask, Done, Taken
from mcp_proton.imap.dates import seconds
from mcp_proton.imap.envelope_lines import USUAL_DATE, DateReader
from mcp_proton.imap.errors import Rejected
from mcp_proton.imap.rows import FetchRow
from mcp_proton.imap.writer import Atom, Verbatim, line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mcp_proton.imap.box import Box
    from mcp_proton.imap.responses import Response
    from mcp_proton.imap.uids import UidSet

_UID = rb"UID ([0-9]{1,10})"
_LINES = re.compile(
    rb"\* [0-9]{1,10} FETCH \((?:" + _UID + rb' )?INTERNALDATE "(' + USUAL_DATE + rb')"(?: ' + _UID + rb")?\)\r?\n"
    rb"|((?s:.+))"
)
"""One line in its usual spelling; or else, since matches follow each other without a gap, all that is left."""


class Received:
    """What came so far: seconds since 1970 by UID, of UIDs from `low` to `high` and of no others."""

    def __init__(self, low: int, high: int) -> None:
        self.dates: dict[int, int] = {}
        self._low, self._high = low, high
        self._reader = DateReader()

    def add_lines(self, lines: Iterable[tuple[bytes, ...]]) -> None:
        """Take in lines: UID before, date, UID after, nothing."""
        low, high, read, dates = self._low, self._high, self._reader.seconds, self.dates
        for before, date, after, _ in lines:
            uid = int(before or after or 0)
            if low <= uid <= high:
                dates[uid] = read(date)

    def add_row(self, row: FetchRow) -> None:
        """Take in a row that came in another spelling."""
        if self._low <= row.uid <= self._high:
            self.dates[row.uid] = seconds(row.internaldate)


class DateLines(Ask[None]):
    """UID FETCH of the dates of `uids` into `received`, which several may share: a line goes to the oldest of them."""

    reads_lines = True

    def __init__(self, uids: UidSet, received: Received) -> None:
        super().__init__("UID FETCH", line(Atom("UID"), Atom("FETCH"), uids, Verbatim(b"(UID INTERNALDATE)")))
        self._uids, self._received = uids, received
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
        if type(response) is not FetchRow or response.uid not in self._uids or response.internaldate is None:
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
