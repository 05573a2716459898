"""What a test puts into a mailbox: the bytes of a message, its flags and the day it arrived."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from tests.canaries import words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Mail:
    """One message to load: `flags` are IMAP flags and keywords, `arrived` becomes the INTERNALDATE."""

    raw: bytes
    flags: tuple[str, ...] = ()
    arrived: datetime = LONG_AGO


def as_mails(mails: Iterable[Mail | bytes]) -> Iterator[Mail]:
    """Bare bytes are a message without flags; IMAP wants CRLF, so bare line feeds are completed."""
    for mail in mails:
        given = Mail(mail) if isinstance(mail, bytes) else mail
        words.plant_mail(given.raw)
        yield Mail(_crlf(given.raw), given.flags, given.arrived)


def _crlf(raw: bytes) -> bytes:
    if raw.count(b"\n") == raw.count(b"\r\n"):
        return raw
    return raw.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
