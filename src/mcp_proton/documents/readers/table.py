"""Separated values (RFC 4180, and what is written instead) → one page, one line a row."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

from mcp_proton.documents.decoding import decoded
from mcp_proton.mime import tables

if TYPE_CHECKING:
    from mcp_proton.documents.pages import Pages
    from mcp_proton.domain.documents import Claim


def read(file: BinaryIO, pages: Pages, claim: Claim) -> None:
    """Read a table, as far as it is wanted."""
    found = decoded(file, claim)
    pages.notices |= found.notices
    pages.alone("")
    rows = tables.Rows(found.text, pages.notices)
    for row in rows:
        pages.write(row + "\n")
        if not pages.wanted:
            pages.leave(rows.left)
            return
