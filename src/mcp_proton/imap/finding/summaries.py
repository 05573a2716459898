"""The memory of headers: what ENVELOPE said of a mailbox's messages, folded for comparing, in few bytes and bounded.

Texts of a few hundred messages lie in one run of octets a field, so that a search is a handful of `bytes.find` and
20,000 messages take milliseconds. Valid for one UIDVALIDITY: what ENVELOPE says of a UID never changes (RFC 9051 §2.3.1.1).
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcp_proton.imap.finding.headlines import KEPT
from mcp_proton.imap.finding.windows import union
from mcp_proton.imap.protocol.uids import UidSet

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcp_proton.imap.finding.dates import Place
    from mcp_proton.imap.finding.headlines import Columns

ROWS = 512
"""messages of a full block"""
MIB = 1 << 20
LONGEST_TEXT = 4_096
"""octets kept of one field of one message; a longer one is remembered as cut, and cannot be ruled out"""
_END = b"\n"  # folded text holds no line break, so nothing found reaches over the end of its message


@dataclass(slots=True)
class Column:
    """One field of a block: the texts of its rows one after the other, each with a line break behind it."""

    texts: bytes = b""
    rows: int = 0
    cut: int = 0
    """bit set of rows whose text was too long to keep whole"""

    def add(self, values: Sequence[bytes]) -> None:
        """Append one text a row."""
        texts = _END.join((*values, b""))
        if len(texts) > LONGEST_TEXT and max(map(len, values)) > LONGEST_TEXT:
            for row, value in enumerate(values, self.rows):
                self.cut |= (len(value) > LONGEST_TEXT) << row
            texts = _END.join((*(value[:LONGEST_TEXT] for value in values), b""))
        self.rows += len(values)
        self.texts += texts

    def rows_with(self, needle: bytes) -> int:
        """The bit set of rows that hold `needle`, which has no line break and is not empty."""
        found = row = end = 0
        at = self.texts.find(needle)
        while at >= 0:
            row += self.texts.count(_END, end, at)
            found |= 1 << row
            end = self.texts.index(_END, at)
            at = self.texts.find(needle, end + 1)
        return found

    def of(self, row: int) -> bytes:
        """The text of one row."""
        return self.texts.split(_END, row + 1)[row]

    @property
    def octets(self) -> int:
        """What it takes in memory, nearly."""
        return len(self.texts) + 150


class Block:
    """Some hundred messages. Bit n of every bit set is row n."""

    def __init__(self) -> None:
        self.uids = array("I")
        self.dates = array("I")
        self.columns = {one: Column() for one in KEPT}
        self.message_ids = Column()
        self.replies = Column()

    def __len__(self) -> int:
        return len(self.uids)

    def add(self, rows: Columns) -> None:
        """Append rows, in any order."""
        self.uids.extend(rows.uids)
        self.dates.extend(rows.dates)
        for name, values in zip(KEPT, rows.texts, strict=True):
            self.columns[name].add(values)
        self.message_ids.add(rows.message_ids)
        self.replies.add(rows.replies)

    @property
    def everything(self) -> int:
        """The bit set of all rows."""
        return (1 << len(self.uids)) - 1

    def place(self, row: int) -> Place:
        """When and which."""
        return self.dates[row], self.uids[row]

    @property
    def octets(self) -> int:
        """What it takes in memory, nearly."""
        columns = sum(column.octets for column in self.columns.values())
        return columns + self.message_ids.octets + self.replies.octets + 8 * len(self.uids) + 1_000


class Book:
    """The summaries of one mailbox. `known`: UIDs that were looked at, whether or not there was a message."""

    def __init__(self, uidvalidity: int) -> None:
        self.uidvalidity = uidvalidity
        self.known = UidSet(())
        self.blocks: list[Block] = []

    def add(self, rows: Columns, looked_at: UidSet) -> list[Block]:
        """Take in what a window showed; return the blocks that changed. Rows of UIDs known before are left alone."""
        if not self._is_new(rows, looked_at):
            fresh = [place for place, uid in enumerate(rows.uids) if uid in looked_at and uid not in self.known]
            rows = rows.only(fresh)
        self.known = union(self.known, looked_at)
        changed: list[Block] = []
        for start in range(0, len(rows), ROWS):
            some = rows.part(start, start + ROWS)
            if not self.blocks or len(self.blocks[-1]) + len(some) > ROWS:
                self.blocks.append(Block())
            self.blocks[-1].add(some)
            changed.append(self.blocks[-1])
        return changed

    def learn_dates(self, dates: Mapping[int, int]) -> None:
        """Take in when some of its messages were received."""
        for block in self.blocks:
            for uid in dates.keys() & block.uids:
                block.dates[block.uids.index(uid)] = dates[uid]

    def everything(self, upper: int, exists: int) -> array[int] | None:
        """The UIDs of the mailbox, ascending, where this book holds all of them: nothing up to `upper` is unknown, and
        as many messages are in it as `exists`."""
        if len(self) != exists or self.known.ranges not in {((1, upper),), ()}:
            return None
        return array("I", sorted(uid for block in self.blocks for uid in block.uids))

    def _is_new(self, rows: Columns, looked_at: UidSet) -> bool:
        """Whether all rows lie in one window that nothing was known of: the usual case, told without looking at each."""
        if len(looked_at.ranges) != 1 or not rows.uids:
            return False
        low, high = looked_at.ranges[0]
        inside = low <= min(rows.uids) and max(rows.uids) <= high and len(set(rows.uids)) == len(rows)
        return inside and not any(first <= high and low <= last for first, last in self.known.ranges)

    def unknown(self, uids: Sequence[int]) -> list[int]:
        """Those of some ascending UIDs that were not looked at yet."""
        left: list[int] = []
        at = 0
        for low, high in self.known.ranges:
            start = bisect_left(uids, low, at)
            left += uids[at:start]
            at = bisect_right(uids, high, start)
        left += uids[at:]
        return left

    def __len__(self) -> int:
        return sum(len(block) for block in self.blocks)

    @property
    def octets(self) -> int:
        """What it takes in memory, nearly."""
        return sum(block.octets for block in self.blocks)


class Library:
    """The books of one account, at most `room` octets in all: the one unused for longest goes first."""

    def __init__(self, room: int = 64 * MIB) -> None:
        self.room = room
        self._books: OrderedDict[str, Book] = OrderedDict()

    def book(self, tag: str, uidvalidity: int) -> Book:
        """The mailbox's book, empty when it is new or was rebuilt."""
        book = self._books.get(tag)
        if book is None or book.uidvalidity != uidvalidity:
            book = self._books[tag] = Book(uidvalidity)
        self._books.move_to_end(tag)
        return book

    def shrink(self) -> None:
        """Let go of what is over the room; the book used last stays only if it fits by itself."""
        while self._books and self.octets > self.room:
            self._books.popitem(last=False)

    @property
    def octets(self) -> int:
        """What all books take in memory, nearly."""
        return sum(book.octets for book in self._books.values())
