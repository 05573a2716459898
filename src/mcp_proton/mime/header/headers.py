"""Header blocks (RFC 5322 §2.2) → fields, tolerant of everything that is found in mailboxes.

`Headers` keeps raw octets and decodes on demand. Lines that are no fields are passed over (`damaged`); a block is read
up to the given number of octets.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mcp_proton.domain.mail import Envelope
from mcp_proton.mime.decoding.words import decode_words
from mcp_proton.mime.header.addresses import addresses
from mcp_proton.mime.header.dates import date
from mcp_proton.mime.limits import DEFAULT

if TYPE_CHECKING:
    from datetime import datetime

    from mcp_proton.domain.handles import Handle

MOST_IDS = 100

_FIELD = re.compile(rb"([!-9;-~]{1,200})[ \t]*:[ \t]*([^\n]*(?:\n[ \t][^\n]*)*)\n?")
_FOLD = re.compile(rb"\r?\n")
_BLANK = re.compile(rb"\n\r?\n")
_LINE = re.compile(rb"[^\n]*\n?")
_FROM_LINE = re.compile(rb"\A(?:\xef\xbb\xbf)?(?:>?From [^\n]*\n)?")
_ID = re.compile(rb"<[^<>]{1,1022}>")
_SPACE = re.compile(rb"\s+")


class Headers:
    """The fields of a block in their order: names as written, values as unfolded octets."""

    __slots__ = ("body", "damaged", "fields")

    def __init__(self, raw: bytes, start: int = 0, end: int | None = None, *, limit: int = DEFAULT.header) -> None:
        """Read the header of the message or part at `raw[start:end]`; `body` is where its body begins.

        Octets that hold no field at all are all body. A line that is no field ends the header unless a field follows
        it, so no text is lost where the blank line is missing.
        """
        if b"\n" not in raw and b"\r" in raw:
            raw = raw.replace(b"\r", b"\n")
        end = len(raw) if end is None else end
        start += _preamble(raw, start, end)
        self.fields: tuple[tuple[str, bytes], ...] = ()
        self.damaged = False
        for no_field in (b"\r\n", b"\n"):
            if raw.startswith(no_field, start, end):
                self.body = start + len(no_field)
                return
        blank = _BLANK.search(raw, start, end)
        stop, self.body = (blank.start() + 1, blank.end()) if blank else (end, end)
        whole_header = stop <= start + limit
        self.fields, self.damaged, stray = _fields(raw, start, stop if whole_header else start + limit)
        self.damaged = self.damaged or not whole_header
        if stray is not None and whole_header:
            self.body = stray

    def get(self, name: str) -> bytes | None:
        """Return the first value of that name, or None."""
        wanted = name.lower()
        return next((value for field, value in self.fields if field.lower() == wanted), None)

    def all(self, name: str) -> tuple[bytes, ...]:
        """Return every value of that name, in order."""
        wanted = name.lower()
        return tuple(value for field, value in self.fields if field.lower() == wanted)

    def text(self, name: str) -> str:
        """Return the first value of that name, decoded, or an empty text."""
        return decode_words(self.get(name) or b"")

    def decoded(self) -> list[tuple[str, str]]:
        """Return all fields, decoded."""
        return [(name, decode_words(value)) for name, value in self.fields]


def read_headers(block: bytes) -> list[tuple[str, str]]:
    """Return the decoded fields of a header block; a body that follows is ignored."""
    return Headers(block).decoded()


def envelope(
    block: bytes,
    *,
    handle: Handle,
    received: datetime | None = None,
    size: int = 0,
    flags: frozenset[str] = frozenset(),
) -> Envelope:
    """Return what a list shows of the message with this header block."""
    headers = Headers(block)
    return Envelope(
        handle=handle,
        subject=headers.text("Subject"),
        sender=addresses(headers.get("From")),
        to=addresses(b", ".join(headers.all("To"))),
        cc=addresses(b", ".join(headers.all("Cc"))),
        bcc=addresses(b", ".join(headers.all("Bcc"))),
        reply_to=addresses(headers.get("Reply-To")),
        date=date(headers.get("Date")),
        received=received,
        size=size,
        flags=flags,
        message_id=next(iter(message_ids(headers.get("Message-ID"))), ""),
        in_reply_to=next(iter(message_ids(headers.get("In-Reply-To"))), ""),
    )


def message_ids(raw: bytes | str | None) -> tuple[str, ...]:
    """Return the ids of Message-ID, In-Reply-To or References (RFC 5322 §3.6.4), brackets included, each once, in order.

    Nothing is decoded or folded: ids are compared exactly (A-64). Of more than 100 the first and the last 99 (A-65).
    """
    octets = raw.encode("utf-8", "replace") if isinstance(raw, str) else raw or b""
    found = tuple(dict.fromkeys(_SPACE.sub(b"", one).decode("utf-8", "replace") for one in _ID.findall(octets)))
    return found if len(found) <= MOST_IDS else (found[0], *found[1 - MOST_IDS :])


def _preamble(raw: bytes, start: int, end: int) -> int:
    """Return the length of a byte order mark and an mbox separator before the first field."""
    if raw[start : start + 1] not in {b"F", b">", b"\xef"}:
        return 0
    found = _FROM_LINE.match(raw[start : min(end, start + 1_000)])
    return found.end() if found else 0


def _fields(raw: bytes, start: int, stop: int) -> tuple[tuple[tuple[str, bytes], ...], bool, int | None]:
    """Read fields; also whether lines were passed over, and where the body begins if no blank line precedes it."""
    fields: list[tuple[str, bytes]] = []
    damaged = False
    stray: int | None = None
    at = start
    while at < stop:
        found = _FIELD.match(raw, at, stop)
        if found is None:
            stray = at if stray is None else stray
            line = _LINE.match(raw, at, stop)
            at = line.end() if line and line.end() > at else stop
            continue
        damaged = damaged or stray is not None
        stray = None
        fields.append((found[1].decode("ascii"), _FOLD.sub(b"", found[2]).strip()))
        at = found.end()
    return tuple(fields), damaged, stray
