"""Rows of a page, read line by line into envelopes: as `envelopes.envelope` would, at a fraction of its cost."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from mcp_proton.domain.mail import Envelope
from mcp_proton.imap import envelopes, keys
from mcp_proton.imap.errors import Rejected
from mcp_proton.imap.finding.envelope_lines import DateReader, EnvelopeLines
from mcp_proton.imap.protocol import envelope as raw
from mcp_proton.imap.protocol import flags
from mcp_proton.imap.protocol.remembering import Remembered
from mcp_proton.imap.protocol.tokens import unescaped
from mcp_proton.imap.protocol.uids import UidSet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from mcp_proton.domain.handles import Handle
    from mcp_proton.domain.mail import Address, Mailbox
    from mcp_proton.imap.protocol.asks import Done
    from mcp_proton.imap.protocol.box import Box
    from mcp_proton.imap.protocol.rows import FetchRow


class PageRows:
    """What came of a page so far, by UID. Lines are read while more are on their way, so that reading costs no waiting."""

    def __init__(self, reader: PageReader, mailbox: Mailbox, uidvalidity: int) -> None:
        self.found: dict[int, Envelope] = {}
        self._reader, self._mailbox, self._uidvalidity = reader, mailbox, uidvalidity
        self._handle = keys.handles(mailbox, uidvalidity)

    def add_lines(self, lines: Iterable[tuple[bytes, ...]]) -> None:
        """Take in lines, each the values of a `Spans`."""
        self._reader.read(lines, self._handle, self.found)

    def add_row(self, row: FetchRow) -> None:
        """Take in a row that came in another spelling."""
        self.found[row.uid] = envelopes.envelope(self._mailbox, self._uidvalidity, row)


class PageLines(EnvelopeLines[None]):
    """What a list shows of a window of messages, read into `rows`; several windows may share them."""

    items = b"(UID FLAGS INTERNALDATE RFC822.SIZE ENVELOPE)"

    def __init__(self, uids: UidSet, rows: PageRows) -> None:
        super().__init__(uids)
        self._rows = rows

    def keep(self, lines: list[tuple[bytes, ...]]) -> None:
        """Read them."""
        self._rows.add_lines(lines)

    def keep_row(self, row: FetchRow) -> None:
        """The same with a row."""
        self._rows.add_row(row)

    def result(self, done: Done) -> None:
        """Nothing: what came is in the rows."""


class PageReader:
    """Reads lines into envelopes; remembers correspondents, subjects, flag sets and days, which come again and again."""

    def __init__(self) -> None:
        self._people: Remembered[tuple[Address, ...]] = Remembered(_addresses)
        self._subjects: Remembered[str] = Remembered(_subject)
        self._flags: Remembered[frozenset[str]] = Remembered(_flags)
        self._dates = DateReader()

    def rows(self, mailbox: Mailbox, uidvalidity: int) -> PageRows:
        """A page of one mailbox, empty yet."""
        return PageRows(self, mailbox, uidvalidity)

    def read(
        self, lines: Iterable[tuple[bytes, ...]], handle: Callable[[int], Handle], found: dict[int, Envelope]
    ) -> None:
        """Add the envelopes of these lines, each the values of a `Spans`, by UID."""
        people, subjects, marks, seconds = self._people, self._subjects, self._flags, self._dates.seconds
        for (
            first,
            flagged,
            between,
            internaldate,
            size,
            sent,
            subject,
            from_,
            reply_to,
            to,
            cc,
            bcc,
            reply_id,
            reply,
            own_id,
            own,
            last,
            _,
        ) in lines:
            uid = int(last or between or first or 0)
            received = seconds(internaldate)
            found[uid] = Envelope(
                handle(uid),
                subjects[subject],
                people[from_],
                people[to],
                people[cc],
                people[bcc],
                people[reply_to],
                envelopes.date_of(unescaped(sent)),
                datetime.fromtimestamp(received, UTC) if received else None,
                int(size or 0),
                marks[flagged],
                own_id.decode("ascii") if own_id else _id(own),
                reply_id.decode("ascii") if reply_id else _id(reply),
            )

    async def fetch(self, mailbox: Mailbox, box: Box, uids: Iterable[int]) -> dict[int, Envelope]:
        """Envelopes of UIDs, as many as are still there. Raises `Rebuilt` when some are missing because of that."""
        wanted = UidSet.of(uids)
        rows = self.rows(mailbox, box.uidvalidity)
        await send(box, [PageLines(part, rows) for part in wanted.split()])
        found = rows.found
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


def _subject(inside: bytes) -> str:
    return envelopes.decoded(unescaped(inside))


def _flags(inside: bytes) -> frozenset[str]:
    return flags.ours(word.decode("utf-8", "replace") for word in inside.split())


def _id(told: bytes) -> str:
    return envelopes.message_id(unescaped(told)) if told else ""
