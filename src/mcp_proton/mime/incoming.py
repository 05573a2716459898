"""A message out of a file, as it is stored: line ends are CRLF, and header lines that were never of the message are gone.

Gone are the flags and counters of mbox programs, and the lines by which a mail server names an occurrence of its own: to
give those back to the server would name another message. A missing Message-ID is made of the content, so that the same
message is known again; a missing Date is that of the file, where it says one.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from email.utils import format_datetime
from typing import TYPE_CHECKING

from mcp_proton.mime.header.dates import date
from mcp_proton.mime.header.headers import Headers, message_ids

if TYPE_CHECKING:
    from datetime import datetime

LONGEST_HEADER = 256 * 1024
_DROPPED = re.compile(
    rb"^(?:Status|X-Status|X-UID|X-IMAP|X-IMAPbase|X-Keywords|X-Mozilla-Status2?|X-Mozilla-Keys|Content-Length"
    rb"|X-Pm-[!-9;-~]+)[ \t]*:[^\n]*(?:\n[ \t][^\n]*)*(?:\n|\Z)",
    re.IGNORECASE | re.MULTILINE,
)
_LETTERS = {"R": "seen", "A": "answered", "F": "flagged", "T": "draft", "D": "deleted"}
_STATUS = re.compile(r"[ROACFDTN]{1,8}")
_END = re.compile(rb"\r?\n\r?\n|\r\r")


class LineEnds:
    """Turns every line end (CRLF, LF, CR) of a stream into CRLF."""

    def __init__(self) -> None:
        self._held = b""

    def feed(self, chunk: bytes) -> bytes:
        """Return what is certain by now."""
        text = self._held + chunk
        self._held = b"\r" if text.endswith(b"\r") else b""
        text = text[: len(text) - len(self._held)]
        if text.count(b"\n") == text.count(b"\r") == text.count(b"\r\n"):
            return text
        return text.replace(b"\r\n", b"\n").replace(b"\r", b"\n").replace(b"\n", b"\r\n")

    def finish(self) -> bytes:
        """Return the rest."""
        held, self._held = self._held, b""
        return b"\r\n" if held else b""


@dataclass(frozen=True, slots=True)
class Head:
    """What a message's header says, and what of it is stored. `is_mail` is False where it holds no field at all."""

    message_id: str
    flags: frozenset[str]
    received: datetime | None
    dated: bool
    is_mail: bool
    kept: bytes


def header_end(block: bytes | bytearray) -> int | None:
    """Return where the header ends, its empty line included; None where that has not come yet."""
    if block.startswith((b"\n", b"\r")):
        return 0
    found = _END.search(block)
    return found.end() if found else None


def head(block: bytes) -> Head:
    """Read a header (its empty line included, if there is one)."""
    text = block.replace(b"\r\n", b"\n").replace(b"\r", b"\n").removeprefix(b"\xef\xbb\xbf")
    fields = Headers(text)
    written = date(fields.get("Date"))
    stamps = [date(value.rpartition(b";")[2]) for value in fields.all("Received")[:1]]
    return Head(
        message_id=next(iter(message_ids(fields.get("Message-ID"))), ""),
        flags=_flags(fields),
        received=next((one for one in stamps if one is not None), written),
        dated=fields.get("Date") is not None,
        is_mail=bool(fields.fields),
        kept=_DROPPED.sub(b"", text).replace(b"\n", b"\r\n"),
    )


def completed(kept: bytes, *, message_id: str | None, dated: datetime | None) -> bytes:
    """Return a header with a Message-ID and a Date before it, where those are given."""
    more = b"" if message_id is None else f"Message-ID: {message_id}\r\n".encode("ascii")
    more += b"" if dated is None else f"Date: {format_datetime(dated)}\r\n".encode("ascii")
    return more + kept


def made_id(sha256: str) -> str:
    """Return the Message-ID of a message that has none: the same content has the same."""
    return f"<{sha256[:40]}@content.invalid>"


def identity(message_id: str) -> str:
    """Return what a message is known again by, with nothing of it to be read from it."""
    return hashlib.sha256(message_id.encode("utf-8", "surrogatepass")).hexdigest()[:24]


def _flags(fields: Headers) -> frozenset[str]:
    words = [fields.text(name).strip() for name in ("Status", "X-Status")]
    return frozenset(_LETTERS[one] for word in words if _STATUS.fullmatch(word) for one in word if one in _LETTERS)
