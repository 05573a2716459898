"""Mark: what a message is found again by when its handle is gone, and the finding.

Size and date are the same in every mailbox that shows a message, so they pick the few candidates whose token is worth
reading; the token decides. No content is in a mark.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from mcp_proton.domain.errors import Invalid
from mcp_proton.imap.finding.dates import seconds
from mcp_proton.imap.protocol.fetching import Items
from mcp_proton.imap.protocol.uids import UidSet
from mcp_proton.imap.protocol.writer import Atom

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from mcp_proton.imap.protocol.box import Box
    from mcp_proton.imap.protocol.rows import FetchRow

FEW = 3
"""candidates by size that are not worth a look at their dates"""
_SIZES = Items(internaldate=True, size=True)


@dataclass(frozen=True, slots=True)
class Mark:
    """Size in octets, seconds since 1970, and a token of the backend's."""

    size: int
    date: int
    token: str

    def __str__(self) -> str:
        return f"{self.size}.{self.date}.{self.token}"

    @classmethod
    def parse(cls, text: str) -> Mark:
        """The inverse. Raises `Invalid`."""
        size, _, rest = text.partition(".")
        date, _, token = rest.partition(".")
        if not (size.isdigit() and date.isdigit() and token):
            raise Invalid("this is no identity of a message")
        return cls(int(size), int(date), token)


class Token(Protocol):
    """Where a kind of server keeps what tells messages apart."""

    items: Items

    def read(self, row: FetchRow) -> str:
        """The token in a row; empty where it has none."""
        ...


class MessageIdToken:
    """On any server: a hash of the Message-ID. Copies of one message share it."""

    items = Items(internaldate=True, size=True, envelope=True)

    def read(self, row: FetchRow) -> str:
        """The hash of a row's Message-ID."""
        told = None if row.envelope is None else row.envelope.message_id
        if not told:
            return ""
        return base64.b32encode(hashlib.sha256(told.strip()).digest()[:15]).decode("ascii").lower()


@dataclass(frozen=True, slots=True)
class Marks:
    """Reads and finds marks, by one kind of token."""

    token: Token

    async def read(self, box: Box, uids: Iterable[int]) -> dict[int, Mark | None]:
        """The marks of those messages that are there; None for one without."""
        wanted = UidSet.of(uids)
        if not wanted:
            return {}
        return {row.uid: self.of(row) for row in await box.fetch_all(wanted, self.token.items)}

    def of(self, row: FetchRow) -> Mark | None:
        """The mark of a row that holds `token.items`."""
        token = self.token.read(row)
        return Mark(row.size, seconds(row.internaldate), token) if token and row.size is not None else None

    async def find(self, box: Box, wanted: Collection[Mark]) -> dict[Mark, list[int]]:
        """The UIDs of an open mailbox that bear these marks. Reads only tokens of messages as large and as old."""
        if not wanted or not box.exists:
            return {}
        low, high = min(mark.size for mark in wanted), max(mark.size for mark in wanted)
        uids = list(await box.search(Atom("LARGER"), max(low - 1, 0), Atom("SMALLER"), high + 1))
        if len(uids) > FEW:
            uids = await self._alike(box, uids, {(mark.size, mark.date) for mark in wanted})
        found: dict[Mark, list[int]] = {}
        for uid, mark in (await self.read(box, uids)).items():
            if mark in wanted and mark is not None:
                found.setdefault(mark, []).append(uid)
        return found

    async def _alike(self, box: Box, uids: list[int], outlines: set[tuple[int, int]]) -> list[int]:
        async with box.fetch(UidSet.of(uids), _SIZES) as rows:
            return [row.uid async for row in rows if (row.size, seconds(row.internaldate)) in outlines]
