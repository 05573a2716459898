"""Continuations of a list or a search: the message it stands at, and enough to go on where that one has gone.

A cursor holds the id and date of the last message shown, how many of its rows were shown (it has one in each mailbox that
was asked for), and short names of what was shown of the same second. It holds nothing a stranger wrote.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from mcp_proton.domain.errors import Stale
from mcp_proton.imap.finding.windows import no_cursor

LONGEST = 4_096
MOST_OF_A_SECOND = 100
_CURSOR = re.compile(r"([0-9a-f]{8})~([A-Za-z0-9_-]{1,255})~(\d{1,12})~(\d{1,5})~((?:[0-9a-f]{6})*)~(more)?")


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where a list stands. `at` is in seconds since 1970; `shown` None: more of that second than can be remembered."""

    last: str
    at: int
    rows: int
    same_second: frozenset[str]
    complete: bool = True

    def write(self, asked: str) -> str:
        """Text for `Page.continuation`; `asked` names what was asked."""
        kept = "".join(sorted(self.same_second)) if self.complete else ""
        return f"{asked}~{self.last}~{self.at}~{self.rows}~{kept}~{'' if self.complete else 'more'}"

    def passed(self, email_id: str) -> bool:
        """Whether a message of the same second was shown already."""
        return name(email_id) in self.same_second


def read(text: str, asked: str) -> Cursor:
    """The inverse of `Cursor.write`. Raises `Invalid` or `Stale` for another text, or for the cursor of another request."""
    found = _CURSOR.fullmatch(text) if len(text) <= LONGEST else None
    if found is None or found[1] != asked:
        raise no_cursor()
    names = frozenset(found[5][at : at + 6] for at in range(0, len(found[5]), 6))
    return Cursor(found[2], int(found[3]), int(found[4]), names, complete=found[6] is None)


def name(email_id: str) -> str:
    """A message's short name."""
    return hashlib.sha256(email_id.encode()).hexdigest()[:6]


def gone() -> Stale:
    """The error for a list whose mailbox, or place in it, is not there any more."""
    return Stale(
        "what this list stood at is gone since it began", code="stale_cursor", next="list again from the start"
    )
