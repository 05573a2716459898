"""A calendar (RFC 5545) → its events and tasks, one block each. Recurrences are named, never expanded."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

from mcp_proton.documents.decoding import decoded
from mcp_proton.mime import calendar

if TYPE_CHECKING:
    from mcp_proton.documents.pages import Pages
    from mcp_proton.domain.documents import Claim

MOST_LINES = 500_000


def read(file: BinaryIO, pages: Pages, claim: Claim) -> None:
    """Read a calendar, as far as it is wanted."""
    found = decoded(file, claim)
    pages.notices |= found.notices
    pages.alone(f"Method: {method}\n" if (method := calendar.method(found.text)) else "")
    for lines in calendar.components(found.text, pages.notices, most_lines=MOST_LINES):
        if not pages.wanted:
            pages.leave(len(lines))
        elif event := calendar.event(lines):
            pages.write(("" if pages.blank else "\n") + calendar.described(event) + "\n")
