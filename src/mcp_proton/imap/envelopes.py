"""Rows of FETCH → envelopes: decoded as `mime` decodes headers, whatever the server made of them.

Bridge hands out names decoded and subjects encoded, other servers both encoded; raw UTF-8 is understood in either.
"""

from __future__ import annotations

import re
from binascii import a2b_base64, a2b_qp
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache
from typing import TYPE_CHECKING

from mcp_proton.domain.mail import Address, Envelope
from mcp_proton.imap import keys
from mcp_proton.imap.protocol import flags
from mcp_proton.mime.decoding.characters import line
from mcp_proton.mime.decoding.words import decode_words
from mcp_proton.mime.header.dates import date
from mcp_proton.mime.header.headers import message_ids

if TYPE_CHECKING:
    from mcp_proton.domain.mail import Mailbox
    from mcp_proton.imap.protocol import envelope as raw
    from mcp_proton.imap.protocol.rows import FetchRow

_Q = rb"q\?(?:[!-<>@-\[\]-~]|=[0-9a-f]{2})*+"
_B = rb"b\?(?:[a-z0-9+/]{4})*+(?:[a-z0-9+/]{2}==|[a-z0-9+/]{3}=)?"
_UTF8_WORDS = re.compile(rb"(?:=\?utf-8\?(?:" + _Q + rb"|" + _B + rb")\?= ?)+\Z", re.IGNORECASE)
_UTF8_WORD = re.compile(rb"=\?utf-8\?([bq])\?([^?]*)\?=", re.IGNORECASE)
_LETTERS = re.compile(
    r"[ -~\u00a1-\u00ac\u00ae-\u024f\u0391-\u0481\u048a-\u052f\u3041-\u3096\u30a1-\u30fc\u4e00-\u9fff]*\Z"
)
"""Latin, Greek, Cyrillic, kana and Han letters, and printable ASCII"""
_USUAL_DAY = re.compile(
    rb"(?:[A-Z][a-z]{2}, )?([0-9]{1,2}) ([A-Z][a-z]{2}) ((?:19|20)[0-9]{2})  ([+-])([0-9]{2})([0-5][0-9])\Z"
)
"""A Date field but for the eight characters of its time."""
_ZONE_NAME = re.compile(rb" \([A-Z]{1,5}\)\Z")
_NAMES = b"Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec"
_MONTHS = {name: number for number, name in enumerate(_NAMES.split(), 1)}
_MINUTES = {b"%02d:%02d" % divmod(minute, 60): timedelta(minutes=minute) for minute in range(24 * 60)}
_SECONDS = {b":%02d" % second: timedelta(seconds=second) for second in range(60)}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def envelope(mailbox: Mailbox, uidvalidity: int, row: FetchRow) -> Envelope:
    """What a list shows of a row. Fields the server left out are empty."""
    handle = keys.handle(mailbox, uidvalidity, row.uid)
    received = row.internaldate.astimezone(UTC) if row.internaldate is not None and row.internaldate > _EPOCH else None
    marks = flags.ours(row.flags or ())
    told = row.envelope
    if told is None:
        return Envelope(handle, received=received, size=row.size or 0, flags=marks, version=row.modseq)
    return Envelope(
        handle=handle,
        subject=decoded(told.subject),
        sender=addresses(told.from_),
        to=addresses(told.to),
        cc=addresses(told.cc),
        bcc=addresses(told.bcc),
        reply_to=addresses(told.reply_to),
        date=date_of(told.date),
        received=received,
        size=row.size or 0,
        flags=marks,
        message_id=message_id(told.message_id),
        in_reply_to=message_id(told.in_reply_to),
        version=row.modseq,
    )


@lru_cache(maxsize=4_096)
def addresses(told: tuple[raw.Address, ...]) -> tuple[Address, ...]:
    """The addresses of one field of ENVELOPE; an entry that holds nothing is left out."""
    found = (Address(decoded(one.name), _email(one)) for one in told)
    return tuple(one for one in found if one.name or one.email)


def decoded(told: bytes | None) -> str:
    """A text of ENVELOPE as `mime` decodes it. Plain ones and whole encoded words in UTF-8 are most, and read here."""
    if not told:
        return ""
    if b"=?" not in told:
        if told.isascii() and (text := told.decode("ascii")).isprintable():
            return " ".join(text.split()) if "  " in text or text[0] == " " or text[-1] == " " else text
    elif _UTF8_WORDS.match(told):
        words = _utf8(told)
        if words is not None:
            return words
    return decode_words(told)


def _utf8(told: bytes) -> str | None:
    """A text of nothing but encoded words in UTF-8, as long as it holds only letters nothing has to be removed from."""
    octets = b"".join(
        a2b_base64(payload) if kind in b"bB" else a2b_qp(payload, header=True)
        for kind, payload in _UTF8_WORD.findall(told)
    )
    try:
        text = octets.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return " ".join(text.split()) if _LETTERS.match(text) else None


def date_of(told: bytes | None) -> datetime | None:
    """A Date field. The usual spelling is read here, since a list is full of them; `mime` reads every other."""
    if told is None:
        return None
    usual = _ZONE_NAME.sub(b"", told) if told[-1:] == b")" else told
    midnight = _midnight(usual[:-14] + usual[-6:])
    if midnight is not None:
        try:
            return midnight + _MINUTES[usual[-14:-9]] + _SECONDS[usual[-9:-6]]
        except (LookupError, OverflowError):
            pass
    return date(told)


@lru_cache(maxsize=2_048)
def _midnight(day_and_zone: bytes) -> datetime | None:
    """The beginning of a day somewhere; None where it is not spelled as usual, or there is no such day."""
    usual = _USUAL_DAY.match(day_and_zone)
    if usual is None:
        return None
    day, month, year, sign, hours, minutes = usual.groups()
    try:
        zone = _zone(int(hours) * 60 + int(minutes), sign == b"-")
        return datetime(int(year), _MONTHS[month], int(day), tzinfo=zone)
    except (ValueError, KeyError):
        return None


@lru_cache(maxsize=64)
def _zone(minutes: int, west: bool) -> timezone:
    return timezone(timedelta(minutes=-minutes if west else minutes))


def _email(one: raw.Address) -> str:
    mailbox, host = one.mailbox or b"", one.host or b""
    whole = b"%b@%b" % (mailbox, host) if mailbox and host else mailbox or host
    return line(whole.decode("utf-8", "replace")).replace(" ", "")


def message_id(told: bytes | None) -> str:
    """The first id of a Message-ID or In-Reply-To, in its brackets; empty where there is none."""
    return next(iter(message_ids(told)), "") if told else ""
