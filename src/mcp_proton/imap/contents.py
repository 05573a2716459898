"""Deciding what headers do not tell: structure, header block or body of some messages, as much as the query needs.

A small message is read whole; of a large one the header and the text parts, each up to a bound. Text beyond the bound
is not searched, and `cut` says of how many messages that is true.
"""

from __future__ import annotations

import re
import secrets
from typing import TYPE_CHECKING

from mcp_proton.domain.query import Query, matches
from mcp_proton.imap import envelopes, structures
from mcp_proton.imap.criteria import Kind, kinds_of
from mcp_proton.imap.fetching import FetchRange, Items
from mcp_proton.mime import searching, selecting

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcp_proton.domain.mail import Mailbox, Part
    from mcp_proton.imap.box import Box
    from mcp_proton.imap.errors import Rejected
    from mcp_proton.imap.rows import FetchRow

MIB = 1 << 20
WHOLE = 256 * 1024
"""a message up to this size is read whole"""
AT_ONCE = 4 * MIB
"""octets asked for in one go"""
LONGEST_TEXT = 2 * MIB
"""of one text part"""
MOST_PARTS = 12
LONGEST_HEADER = 256 * 1024
_CONTENT_FIELDS = re.compile(
    rb"^(?:content-[^:\r\n]*|mime-version):[^\n]*\n(?:[ \t][^\n]*\n)*", re.IGNORECASE | re.MULTILINE
)
OUTLINE = Items(flags=True, internaldate=True, size=True, envelope=True, structure=True)


class Contents:
    """Looks into messages of one mailbox for one query."""

    def __init__(self, mailbox: Mailbox, query: Query) -> None:
        self._mailbox = mailbox
        self._query = query
        self.reads_bodies = Kind.BODY in kinds_of(query)
        """whether deciding costs more than headers do"""
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
                found |= await self._by_parts(box, row)
            elif decided is None:
                small.append(row)
        for batch in _batches(small):
            found |= await self._by_section(box, batch)
        return found

    def _by_outline(self, box: Box, row: FetchRow) -> bool | None:
        shown = envelopes.envelope(self._mailbox, box.uidvalidity, row)
        has = None if row.bodystructure is None else selecting.has_attachments(structures.outline(row.bodystructure))
        return matches(self._query, envelopes.candidate(shown, has_attachments=has))

    async def _by_section(self, box: Box, rows: Sequence[FetchRow]) -> set[int]:
        section = "" if self.reads_bodies else "HEADER"
        by_uid = {row.uid: row for row in rows}
        found: set[int] = set()
        async with box.fetch(list(by_uid), Items(sections=(section,))) as fetched:
            async for got in fetched:
                raw = got.sections.get(section)
                if raw is not None and self._matches(box, by_uid[got.uid], raw):
                    found.add(got.uid)
        return found

    async def _by_parts(self, box: Box, row: FetchRow) -> set[int]:
        root = structures.outline(row.bodystructure)
        raw = await (self._prefix(box, row) if not root.children else self._assembled(box, row.uid, root))
        return {row.uid} if self._matches(box, row, raw) else set()

    def _matches(self, box: Box, row: FetchRow, raw: bytes) -> bool:
        shown = envelopes.envelope(self._mailbox, box.uidvalidity, row)
        if not self.reads_bodies:
            has = (
                None if row.bodystructure is None else selecting.has_attachments(structures.outline(row.bodystructure))
            )
            return matches(self._query, envelopes.candidate(shown, has_attachments=has, header=raw)) is True
        return matches(self._query, searching.candidate(raw, shown)) is True

    async def _prefix(self, box: Box, row: FetchRow) -> bytes:
        """A message of one part, as far as it is searched."""
        if (row.size or 0) > LONGEST_TEXT:
            self.cut += 1
        return _octets(await box.pipeline([FetchRange(row.uid, "", 0, LONGEST_TEXT)]))[0]

    async def _assembled(self, box: Box, uid: int, root: Part) -> bytes:
        """Header and text parts of a large message, put together as a message that has only those."""
        chosen = selecting.readable(root)
        parts = list({part.path: part for part in (*chosen.plain, *chosen.html)}.values())
        if len(parts) > MOST_PARTS or any(part.size > LONGEST_TEXT for part in parts):
            self.cut += 1
        asks = [FetchRange(uid, "HEADER", 0, LONGEST_HEADER)]
        for part in parts[:MOST_PARTS]:
            asks += [
                FetchRange(uid, f"{part.path}.MIME", 0, LONGEST_HEADER),
                FetchRange(uid, part.path, 0, LONGEST_TEXT),
            ]
        header, *rest = _octets(await box.pipeline(asks))
        return _message(header, list(zip(rest[::2], rest[1::2], strict=True)))


def _octets(answers: Sequence[bytes | Rejected | None]) -> list[bytes]:
    """What came; a part the server refuses to find is empty."""
    return [answer if isinstance(answer, bytes) else b"" for answer in answers]


def _message(header: bytes, parts: Sequence[tuple[bytes, bytes]]) -> bytes:
    mark = secrets.token_hex(16).encode("ascii")  # not to be foreseen by whoever wrote the parts
    kept = _CONTENT_FIELDS.sub(b"", header).rstrip(b"\r\n")
    head = kept + b'\r\nContent-Type: multipart/mixed; boundary="' + mark + b'"\r\n\r\n'
    pieces = [b"--%b\r\n%b\r\n\r\n%b\r\n" % (mark, mime.rstrip(b"\r\n"), body) for mime, body in parts]
    return head + b"".join(pieces) + b"--%b--\r\n" % mark


def _batches(rows: Sequence[FetchRow]) -> Iterator[list[FetchRow]]:
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
