"""Rows of a page, read line by line into envelopes: as `envelopes.envelope` would, at a fraction of its cost."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from mcp_proton.domain.mail import Envelope
from mcp_proton.imap import envelope as raw
from mcp_proton.imap import envelopes, flags, keys
from mcp_proton.imap.envelope_lines import DateReader, EnvelopeLines, Spans
from mcp_proton.imap.errors import Rejected
from mcp_proton.imap.remembering import Remembered
from mcp_proton.imap.tokens import unescaped
from mcp_proton.imap.uids import UidSet

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mcp_proton.domain.mail import Address, Mailbox
    from mcp_proton.imap.asks import Done
    from mcp_proton.imap.box import Box
    from mcp_proton.imap.rows import FetchRow


class PageLines(EnvelopeLines[None]):
    """What a list shows of a window of messages: in `usual` lines, each the values of a `Spans`, and in `rows`."""

    items = b"(UID FLAGS INTERNALDATE RFC822.SIZE ENVELOPE)"

    def __init__(self, uids: UidSet) -> None:
        super().__init__(uids)
        self.usual: list[tuple[bytes, ...]] = []
        self.rows: list[FetchRow] = []

    def keep(self, lines: list[tuple[bytes, ...]]) -> None:
        """Leave them to be read together with those of other windows."""
        self.usual += lines

    def keep_row(self, row: FetchRow) -> None:
        """The same with a row."""
        self.rows.append(row)

    def result(self, done: Done) -> None:
        """Nothing: what came is there to be read."""


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
            found.update(self._envelope(mailbox, uidvalidity, Spans._make(line)) for line in ask.usual)
            found.update((row.uid, envelopes.envelope(mailbox, uidvalidity, row)) for row in ask.rows)
        return found

    def _envelope(self, mailbox: Mailbox, uidvalidity: int, spans: Spans[bytes]) -> tuple[int, Envelope]:
        people = self._people
        uid = int(spans.uid_last or spans.uid_between or spans.uid_first or 0)
        received = self._dates.seconds(spans.internaldate)
        return uid, Envelope(
            handle=keys.handle(mailbox, uidvalidity, uid),
            subject=envelopes.decoded(unescaped(spans.subject)),
            sender=people[spans.from_],
            to=people[spans.to],
            cc=people[spans.cc],
            bcc=people[spans.bcc],
            reply_to=people[spans.reply_to],
            date=envelopes.date_of(unescaped(spans.date)),
            received=datetime.fromtimestamp(received, UTC) if received else None,
            size=int(spans.size or 0),
            flags=self._flags[spans.flags],
            message_id=_id(spans.own_id, spans.own),
            in_reply_to=_id(spans.reply_id, spans.reply),
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
