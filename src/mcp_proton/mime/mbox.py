"""mbox (RFC 4155), as mboxrd: lines that begin with `From ` are quoted by one more `>`, so that nothing is ambiguous.

Writing turns CRLF into LF, reading turns it back; both work on a stream, whatever the lengths of lines.
"""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

_QUOTED = re.compile(rb"^(>*From )", re.MULTILINE)
_UNQUOTED = re.compile(rb"^>(>*From )", re.MULTILINE)
_LONE_CR = re.compile(rb"\r(?!\n)")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_SEPARATOR = re.compile(
    rb"From (?P<sender>\S{0,320}) +(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? +(?P<month>[A-Z][a-z]{2}) +(?P<day>\d{1,2}) +"
    rb"(?P<clock>\d\d:\d\d(?::\d\d)?)(?: +(?P<zone>[+-]\d{4}|[A-Z]{1,5}))? +(?P<year>\d{4})(?: +(?P<later>[+-]\d{4}))?\s*\Z"
)
_OFFSET = re.compile(r"([+-])(\d\d)(\d\d)")
LONGEST_SEPARATOR = 512
_LONGEST_HELD = 64 * 1024
"""A line whose end has not come yet is held back up to here: beyond it, it is no `From ` line."""


class _Rewriting:
    """Rewrites the beginnings of lines in a stream."""

    def __init__(self, pattern: re.Pattern[bytes], into: bytes, line_end: bytes) -> None:
        self._pattern, self._into, self._line_end = pattern, into, line_end
        self._held = b""
        self._inside = False  # of a line whose beginning has passed already

    @property
    def at_start(self) -> bool:
        """Whether what was given out so far ends with a line."""
        return not self._inside

    def feed(self, chunk: bytes) -> bytes:
        """Return what is certain by now."""
        text = _with_lf(self._held + chunk if self._held else chunk)
        cut = text.rfind(b"\n") + 1
        if len(text) - cut > _LONGEST_HELD:
            cut = len(text) - text.endswith(b"\r")
        ready, self._held = text[:cut], text[cut:]
        return self._rewritten(ready)

    def finish(self) -> bytes:
        """Return the rest."""
        ready, self._held = self._held, b""
        return self._rewritten(ready)

    def _rewritten(self, text: bytes) -> bytes:
        if not text:
            return b""
        begun, rest = b"", text
        if self._inside:
            end = text.find(b"\n") + 1 or len(text)
            begun, rest = text[:end], text[end:]
        self._inside = not text.endswith(b"\n")
        whole = begun + (self._pattern.sub(self._into, rest) if b"From " in rest else rest)
        return whole if self._line_end == b"\n" else whole.replace(b"\n", self._line_end)


class Quoting(_Rewriting):
    """Turns a message into the body of an mbox entry, with LF."""

    def __init__(self) -> None:
        super().__init__(_QUOTED, rb">\1", b"\n")


def quoted(message: bytes) -> bytes:
    """Return the body of an mbox entry for a message that is whole, with the empty line that ends it."""
    text = _with_lf(message)
    if b"From " in text:
        text = _QUOTED.sub(rb">\1", text)
    return text + (b"\n" if text.endswith(b"\n") or not text else b"\n\n")


class Unquoting(_Rewriting):
    """Turns the body of an mbox entry back into a message, with CRLF."""

    def __init__(self) -> None:
        super().__init__(_UNQUOTED, rb"\1", b"\r\n")


def _with_lf(text: bytes) -> bytes:
    """CRLF as LF. Nearly always every CR is before an LF, and leaving them all out takes an eighth of the time."""
    return text.replace(b"\r\n", b"\n") if _LONE_CR.search(text) else text.replace(b"\r", b"")


def separator(sender: str, received: datetime | None) -> bytes:
    """Return the line that begins an entry: the envelope sender and the date received, in UTC."""
    plain = sender if re.fullmatch(r"[!-~]{1,320}", sender) else "MAILER-DAEMON"
    when = (received or datetime.fromtimestamp(0, UTC)).astimezone(UTC)
    return f"From {plain} {time.asctime(when.timetuple())}\n".encode("ascii")


def begins(line: bytes) -> bool:
    """Whether a line is one that begins an entry: `From ` and a date. A sentence that begins so is none."""
    return _SEPARATOR.match(line) is not None


def received(line: bytes) -> datetime | None:
    """Return the date a separator names; None where it names none that exists."""
    found = _SEPARATOR.match(line)
    if found is None or found["month"].decode() not in _MONTHS:
        return None
    zone = _OFFSET.fullmatch((found["later"] or found["zone"] or b"").decode())
    hour, minute, second = (int(one) for one in (found["clock"] + b":00").split(b":")[:3])
    month = _MONTHS.index(found["month"].decode()) + 1
    try:
        moment = datetime(int(found["year"]), month, int(found["day"]), hour, minute, second, tzinfo=UTC)
        if zone is not None:
            offset = timedelta(hours=int(zone[2]), minutes=int(zone[3]))
            moment -= offset if zone[1] == "+" else -offset
    except (ValueError, OverflowError):
        return None
    return moment


_STATUS = {
    "seen": ("Status", "R"),
    "answered": ("X-Status", "A"),
    "flagged": ("X-Status", "F"),
    "draft": ("X-Status", "T"),
}


def status(flags: Collection[str]) -> bytes:
    """Return the header lines by which mail programs keep flags in an mbox: `Status: RO`, `X-Status: AF`."""
    words = {"Status": "", "X-Status": ""}
    for flag, (field, letter) in _STATUS.items():
        words[field] += letter if flag in flags else ""
    words["Status"] += "O"
    return "".join(f"{field}: {letters}\n" for field, letters in words.items() if letters).encode("ascii")
