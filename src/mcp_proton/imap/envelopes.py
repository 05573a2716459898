"""Rows of FETCH → envelopes and summaries: decoded as `mime` decodes headers, whatever the server made of them.

Bridge hands out names decoded and subjects encoded, other servers both encoded; raw UTF-8 is understood in either.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from mcp_proton.domain.mail import Address, Envelope
from mcp_proton.domain.query import Candidate, Field, fold
from mcp_proton.imap import flags, keys
from mcp_proton.imap.dates import seconds
from mcp_proton.imap.summaries import Summary
from mcp_proton.mime.characters import line
from mcp_proton.mime.dates import date
from mcp_proton.mime.headers import Headers, message_ids
from mcp_proton.mime.words import decode_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_proton.domain.mail import Mailbox
    from mcp_proton.imap import envelope as raw
    from mcp_proton.imap.rows import FetchRow

REMEMBERED = 4_096
_PLAIN = re.compile(rb"[\x20-\x7e]*\Z")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def envelope(mailbox: Mailbox, uidvalidity: int, row: FetchRow) -> Envelope:
    """What a list shows of a row. Fields the server left out are empty."""
    handle = keys.handle(mailbox, uidvalidity, row.uid)
    received = row.internaldate.astimezone(UTC) if row.internaldate is not None and row.internaldate > _EPOCH else None
    marks = flags.ours(row.flags or ())
    told = row.envelope
    if told is None:
        return Envelope(handle, received=received, size=row.size or 0, flags=marks)
    return Envelope(
        handle=handle,
        subject=_text(told.subject),
        sender=addresses(told.from_),
        to=addresses(told.to),
        cc=addresses(told.cc),
        bcc=addresses(told.bcc),
        reply_to=addresses(told.reply_to),
        date=date(told.date),
        received=received,
        size=row.size or 0,
        flags=marks,
        message_id=_id(told.message_id),
        in_reply_to=_id(told.in_reply_to),
    )


def addresses(told: Sequence[raw.Address]) -> tuple[Address, ...]:
    """The addresses of one field of ENVELOPE; an entry that holds nothing is left out."""
    found = (Address(_text(one.name), _email(one)) for one in told)
    return tuple(one for one in found if one.name or one.email)


def texts(shown: Envelope) -> dict[Field, str | None]:
    """The header texts of an envelope, for `domain.query.matches`. The body is not among them."""
    return {
        Field.SUBJECT: shown.subject,
        Field.FROM: correspondents(shown.sender),
        Field.TO: correspondents(shown.to),
        Field.CC: correspondents(shown.cc),
        Field.BCC: correspondents(shown.bcc),
    }


def candidate(shown: Envelope, *, has_attachments: bool | None = None, header: bytes | None = None) -> Candidate:
    """What an envelope tells of a message, with its header block where that was read. The body stays unknown."""
    fields = None if header is None else Headers(header)
    return Candidate(
        texts=texts(shown),
        headers=None if fields is None else lambda name: [decode_words(value) for value in fields.all(name)],
        received=shown.received,
        size=shown.size,
        flags=shown.flags,
        has_attachments=has_attachments,
        message_id=shown.message_id,
    )


def correspondents(people: Sequence[Address]) -> str:
    """The text a search by person looks in."""
    return ", ".join(str(one) for one in people)


class Summariser:
    """Rows → summaries, as fast as plain headers allow: the few correspondents of a mailbox are folded once each."""

    def __init__(self) -> None:
        self._people: dict[tuple[raw.Address, ...], bytes] = {(): b""}

    def summary(self, row: FetchRow) -> Summary:
        """One row, folded."""
        told = row.envelope
        if told is None:
            return Summary(row.uid, seconds(row.internaldate), row.size or 0, _NO_TEXTS, b"")
        people = self._people.get
        return Summary(
            row.uid,
            seconds(row.internaldate),
            row.size or 0,
            (
                _folded(told.subject),
                people(told.from_) or self._learn(told.from_),
                people(told.to) or self._learn(told.to),
                people(told.cc) or self._learn(told.cc),
                people(told.bcc) or self._learn(told.bcc),
            ),
            _id(told.message_id).encode("utf-8", "surrogatepass"),
        )

    def _learn(self, told: tuple[raw.Address, ...]) -> bytes:
        if len(self._people) >= REMEMBERED:
            self._people = {(): b""}
        folded = fold(correspondents(addresses(told))).encode("utf-8", "surrogatepass")
        self._people[told] = folded
        return folded


_NO_TEXTS = (b"", b"", b"", b"", b"")


def _folded(told: bytes | None) -> bytes:
    if not told:
        return b""
    if b"=?" not in told and _PLAIN.match(told):
        return b" ".join(told.lower().split())
    return fold(decode_words(told)).encode("utf-8", "surrogatepass")


def _text(told: bytes | None) -> str:
    return decode_words(told) if told else ""


def _email(one: raw.Address) -> str:
    mailbox, host = one.mailbox or b"", one.host or b""
    whole = b"%b@%b" % (mailbox, host) if mailbox and host else mailbox or host
    return line(whole.decode("utf-8", "replace")).replace(" ", "")


def _id(told: bytes | None) -> str:
    return next(iter(message_ids(told)), "") if told else ""
