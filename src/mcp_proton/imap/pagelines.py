"""Rows of a page, read line by line into envelopes: as `envelopes.envelope` would, at a fraction of its cost."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from mcp_proton.domain.mail import Envelope
from mcp_proton.imap import envelope as raw
from mcp_proton.imap import envelopes, flags, keys
from mcp_proton.imap.envelope_lines import END, PEOPLE, START, STRING, DateReader, EnvelopeLines, usual_id
from mcp_proton.imap.errors import Rejected
from mcp_proton.imap.limits import Limits
from mcp_proton.imap.remembering import Remembered
from mcp_proton.imap.rows import RowReader
from mcp_proton.imap.uids import UidSet

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mcp_proton.domain.mail import Address, Mailbox
    from mcp_proton.imap.box import Box

_LINE = re.compile(
    START
    + rb"FLAGS \(([^()]*)\) (?:UID ([0-9]{1,10}) )?"
    + rb'INTERNALDATE "([^"]*)" RFC822\.SIZE ([0-9]{1,19}) ENVELOPE \('
    + rb" ".join((*[rb"(" + STRING + rb")"] * 2, *[rb"(" + PEOPLE + rb")"] * 6, *[rb"(" + STRING + rb")"] * 2))
    + rb"\)"
    + END
)


class PageLines(EnvelopeLines):
    """What a list shows of a window of messages."""

    items = b"(UID FLAGS INTERNALDATE RFC822.SIZE ENVELOPE)"


class PageReader:
    """Reads lines into envelopes; remembers correspondents, flag sets and days, which come again and again."""

    def __init__(self) -> None:
        self._people: Remembered[tuple[Address, ...]] = Remembered(_addresses)
        self._flags: Remembered[frozenset[str]] = Remembered(_flags)
        self._dates = DateReader()
        self._odd = RowReader(Limits())

    def read(self, mailbox: Mailbox, uidvalidity: int, asks: Iterable[PageLines]) -> dict[int, Envelope]:
        """The envelopes that came, by UID. Raises ProtocolViolation for lines that cannot be taken apart."""
        found: dict[int, Envelope] = {}
        for ask in asks:
            rows = list(ask.rows)
            for text in ask.lines:
                usual = _LINE.match(text)
                if usual is None:
                    rows.append(self._odd.read(text, ()))
                else:
                    uid, shown = self._envelope(mailbox, uidvalidity, usual.groups())
                    found[uid] = shown
            found |= {row.uid: envelopes.envelope(mailbox, uidvalidity, row) for row in rows}
        return found

    def _envelope(self, mailbox: Mailbox, uidvalidity: int, spans: Sequence[bytes]) -> tuple[int, Envelope]:
        first, marks, second, internaldate, size, date, subject, from_, _, reply_to, to, cc, bcc, reply, own, last = (
            spans
        )
        people = self._people
        uid = int(first or second or last or 0)
        received = self._dates.seconds(internaldate)
        return uid, Envelope(
            handle=keys.handle(mailbox, uidvalidity, uid),
            subject=envelopes.decoded(raw.text(subject)),
            sender=people[from_],
            to=people[to],
            cc=people[cc],
            bcc=people[bcc],
            reply_to=people[reply_to],
            date=envelopes.date_of(raw.text(date)),
            received=datetime.fromtimestamp(received, UTC) if received else None,
            size=int(size),
            flags=self._flags[marks],
            message_id=_id(own),
            in_reply_to=_id(reply),
        )

    async def fetch(self, mailbox: Mailbox, box: Box, uids: Iterable[int]) -> dict[int, Envelope]:
        """Envelopes of UIDs, as many as are still there. Raises `Rebuilt` when some are missing because of that."""
        wanted = UidSet.of(uids)
        asks = [PageLines(part) for part in wanted.split()]
        await send(box, asks)
        found = self.read(mailbox, box.uidvalidity, asks)
        if any(uid not in found for uid in wanted):
            await box.look_again()
        return {uid: found[uid] for uid in wanted if uid in found}


async def send(box: Box, asks: Sequence[PageLines]) -> None:
    """Run them in one packet. Raises `Rejected` if the server refuses one."""
    for outcome in await box.pipeline(asks):
        if isinstance(outcome, Rejected):
            raise outcome


def _addresses(span: bytes) -> tuple[Address, ...]:
    return envelopes.addresses(raw.addresses(span))


def _flags(inside: bytes) -> frozenset[str]:
    return flags.ours(word.decode("utf-8", "replace") for word in inside.split())


def _id(span: bytes) -> str:
    if span == b"NIL":
        return ""
    usual = usual_id(span)
    return envelopes.message_id(raw.text(span)) if usual is None else usual.decode("ascii")
