"""Rows of a page, read line by line into envelopes: as `envelopes.envelope` would, at a fraction of its cost."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from mcp_proton.domain.mail import Envelope
from mcp_proton.imap import envelope as raw
from mcp_proton.imap import envelopes, flags, keys
from mcp_proton.imap.envelope_lines import DateReader, EnvelopeLines
from mcp_proton.imap.errors import Rejected
from mcp_proton.imap.remembering import Remembered
from mcp_proton.imap.tokens import unescaped
from mcp_proton.imap.uids import UidSet

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mcp_proton.domain.mail import Address, Mailbox
    from mcp_proton.imap.box import Box
    from mcp_proton.imap.envelope_lines import Spans


class PageLines(EnvelopeLines):
    """What a list shows of a window of messages."""

    items = b"(UID FLAGS INTERNALDATE RFC822.SIZE ENVELOPE)"


class PageReader:
    """Reads lines into envelopes; remembers correspondents, flag sets and days, which come again and again."""

    def __init__(self) -> None:
        self._people: Remembered[tuple[Address, ...]] = Remembered(_addresses)
        self._flags: Remembered[frozenset[str]] = Remembered(_flags)
        self._dates = DateReader()

    def read(self, mailbox: Mailbox, uidvalidity: int, asks: Iterable[PageLines]) -> dict[int, Envelope]:
        """The envelopes that came, by UID."""
        found: dict[int, Envelope] = {}
        for ask in asks:
            found.update(self._envelope(mailbox, uidvalidity, spans) for spans in ask.usual)
            found.update((row.uid, envelopes.envelope(mailbox, uidvalidity, row)) for row in ask.rows)
        return found

    def _envelope(self, mailbox: Mailbox, uidvalidity: int, spans: Spans) -> tuple[int, Envelope]:
        first, marks, second, internaldate, size, date, subject, from_, reply_to, to, cc, bcc, *ids, last, _ = spans
        reply, other_reply, own, other_own = ids
        people = self._people
        uid = int(first or second or last or 0)
        received = self._dates.seconds(internaldate)
        return uid, Envelope(
            handle=keys.handle(mailbox, uidvalidity, uid),
            subject=envelopes.decoded(unescaped(subject)),
            sender=people[from_],
            to=people[to],
            cc=people[cc],
            bcc=people[bcc],
            reply_to=people[reply_to],
            date=envelopes.date_of(unescaped(date)),
            received=datetime.fromtimestamp(received, UTC) if received else None,
            size=int(size or 0),
            flags=self._flags[marks],
            message_id=_id(own, other_own),
            in_reply_to=_id(reply, other_reply),
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


def _id(usual: bytes, other: bytes) -> str:
    return usual.decode("ascii") if usual else envelopes.message_id(unescaped(other))
