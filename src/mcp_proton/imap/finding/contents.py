"""Deciding what headers do not tell: structure, header block or body of some messages, as much as the query needs.

A small message is read whole; of a large one the header and the text parts, each up to a bound. Text beyond the bound
is not searched, and `cut` says of how many messages that is true.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_proton.domain.query import Candidate, Query, matches
from mcp_proton.imap import envelopes, structures
from mcp_proton.imap.finding.criteria import Kind, kinds_of
from mcp_proton.imap.protocol.fetching import FetchRange, Items
from mcp_proton.mime import searching
from mcp_proton.mime.header.headers import Headers
from mcp_proton.mime.structure import selecting

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcp_proton.domain.mail import Envelope, Mailbox
    from mcp_proton.imap.protocol.box import Box
    from mcp_proton.imap.protocol.rows import FetchRow

MIB = 1 << 20
WHOLE = 256 * 1024
"""a message up to this size is read whole"""
AT_ONCE = 4 * MIB
"""octets asked for in one go"""
LONGEST_TEXT = 2 * MIB
"""of one text part"""
MOST_PARTS = 12
LONGEST_HEADER = 256 * 1024
OUTLINE = Items(flags=True, internaldate=True, size=True, envelope=True, structure=True)


class Contents:
    """Looks into messages of one mailbox for one query."""

    def __init__(self, mailbox: Mailbox, query: Query) -> None:
        self._mailbox = mailbox
        self._query = query
        kinds = kinds_of(query)
        self.reads_bodies = Kind.BODY in kinds
        """whether deciding costs more than headers do"""
        self.reads_dates = Kind.DATE in kinds
        self.cut = 0

    async def matching(self, box: Box, uids: Sequence[int]) -> set[int]:
        """Those of some UIDs whose messages match. What was expunged meanwhile does not."""
        rows = await box.fetch_all(uids, OUTLINE)
        found: set[int] = set()
        small: list[FetchRow] = []
        for row in rows:
            decided = self._by_outline(box, row)
            if decided:
                found.add(row.uid)
            elif decided is None and self.reads_bodies and (row.size or 0) > WHOLE:
                found |= {row.uid} if await self._by_parts(box, row) else set()
            elif decided is None:
                small.append(row)
        for batch in batches(small):
            found |= await self._by_section(box, batch)
        return found

    def _by_outline(self, box: Box, row: FetchRow) -> bool | None:
        return matches(self._query, searching.of_envelope(self._shown(box, row), attached=_attached(row)))

    async def _by_section(self, box: Box, rows: Sequence[FetchRow]) -> set[int]:
        section = "" if self.reads_bodies else "HEADER"
        by_uid = {row.uid: row for row in rows}
        found: set[int] = set()
        async with box.fetch(list(by_uid), Items(sections=(section,))) as fetched:
            async for got in fetched:
                raw = got.sections.get(section)
                if raw is not None and matches(self._query, self._candidate(box, by_uid[got.uid], raw)):
                    found.add(got.uid)
        return found

    def _candidate(self, box: Box, row: FetchRow, raw: bytes) -> Candidate:
        shown = self._shown(box, row)
        if self.reads_bodies:
            return searching.candidate(raw, shown)
        return searching.of_envelope(shown, headers=Headers(raw), attached=_attached(row))

    async def _by_parts(self, box: Box, row: FetchRow) -> bool:
        """A large message, by its header and its text parts."""
        chosen = selecting.readable(structures.outline(row.bodystructure))
        parts = list({part.path: part for part in (*chosen.plain, *chosen.html)}.values())[:MOST_PARTS]
        asks = [FetchRange(row.uid, "HEADER", 0, LONGEST_HEADER)]
        asks += [FetchRange(row.uid, part.path, 0, LONGEST_TEXT) for part in parts]
        header, *texts = [answer if isinstance(answer, bytes) else b"" for answer in await box.pipeline(asks)]
        octets = {part.path: (text, len(text) < LONGEST_TEXT) for part, text in zip(parts, texts, strict=True)}
        if not all(complete for _, complete in octets.values()) or len(parts) == MOST_PARTS:
            self.cut += 1
        read = selecting.Readable(
            tuple(part for part in chosen.plain if part.path in octets),
            tuple(part for part in chosen.html if part.path in octets),
        )
        known = searching.of_envelope(
            self._shown(box, row),
            headers=Headers(header),
            body=searching.body_text(read, octets),
            attached=_attached(row),
        )
        return matches(self._query, known) is True

    def _shown(self, box: Box, row: FetchRow) -> Envelope:
        return envelopes.envelope(self._mailbox, box.uidvalidity, row)


def _attached(row: FetchRow) -> bool | None:
    return None if row.bodystructure is None else selecting.has_attachments(structures.outline(row.bodystructure))


def batches(rows: Sequence[FetchRow]) -> Iterator[list[FetchRow]]:
    """Cut rows into pieces whose messages are read in one go: about 4 MiB each."""
    batch: list[FetchRow] = []
    octets = 0
    for row in rows:
        batch.append(row)
        octets += row.size or WHOLE
        if octets >= AT_ONCE:
            yield batch
            batch, octets = [], 0
    if batch:
        yield batch
