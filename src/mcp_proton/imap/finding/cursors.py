"""Continuations of a list or a search: where it stands, bound to what was asked and to the mailboxes as they were.

A cursor holds for each mailbox its UIDVALIDITY and the highest UID of when the list began, so that new mail never
shifts a page; the date and UID of the last row; and the UIDs already dealt with out of order (a provisional page, or
a search that ran out of time). It holds nothing a stranger wrote.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcp_proton.domain.errors import Stale
from mcp_proton.imap.finding.windows import NOTHING, compact, no_cursor, number36, read_compact
from mcp_proton.imap.keys import base36

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mcp_proton.domain.mail import Mailbox
    from mcp_proton.domain.ports import Order
    from mcp_proton.domain.query import Query
    from mcp_proton.imap.finding.dates import Place
    from mcp_proton.imap.protocol.uids import UidSet

LONGEST = 16_384


@dataclass(frozen=True, slots=True)
class Mark:
    """One mailbox's part of a cursor."""

    uidvalidity: int
    upper: int
    done: UidSet = NOTHING
    """UIDs that need no look any more, wherever they stand in the order"""


@dataclass(frozen=True, slots=True)
class Cursor:
    """`last`: everything up to this place was dealt with in every mailbox. `marks` are keyed by mailbox tag."""

    last: tuple[Place, str] | None
    marks: Mapping[str, Mark]

    def write(self, asked: str) -> str:
        """Text for `Page.continuation`; `asked` is what `asking` gave."""
        last = "" if self.last is None else ".".join((base36(self.last[0][0]), base36(self.last[0][1]), self.last[1]))
        marks = [
            ".".join((tag, base36(mark.uidvalidity), base36(mark.upper))) + "_" + compact(mark.done)
            for tag, mark in self.marks.items()
        ]
        return "~".join((asked, last, *marks))


def asking(scope: Sequence[Mailbox], query: Query, order: Order, *, by_us: bool = False) -> str:
    """A short name of what is asked, so that a cursor cannot be used for something else.

    `by_us`: of the same question where all is looked at here, whose cursor goes on in that way.
    """
    told = repr((sorted(box.id for box in scope), query, order.value, *(["by us"] if by_us else [])))
    return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def read(text: str, asked: str) -> Cursor:
    """The inverse of `Cursor.write`. Raises `Invalid` for another text, or for the cursor of another request."""
    if len(text) > LONGEST:
        raise no_cursor()
    name, _, rest = text.partition("~")
    if name != asked:
        raise no_cursor()
    last, *marks = rest.split("~")
    if not marks:
        raise no_cursor()
    return Cursor(_last(last), dict(_mark(mark) for mark in marks))


def rebuilt(box: Mailbox) -> Stale:
    """The error for a cursor into a mailbox that has another UIDVALIDITY by now."""
    return Stale(
        f"`{box.path}` was rebuilt by the server since this list began",
        code="stale_cursor",
        next="list again from the start",
    )


def _last(text: str) -> tuple[Place, str] | None:
    if not text:
        return None
    parts = text.split(".")
    if len(parts) != 3:
        raise no_cursor()
    return (number36(parts[0]), number36(parts[1])), parts[2]


def _mark(text: str) -> tuple[str, Mark]:
    head, under, done = text.partition("_")
    parts = head.split(".")
    if len(parts) != 3 or not under:
        raise no_cursor()
    return parts[0], Mark(number36(parts[1]), number36(parts[2]), read_compact(done))
