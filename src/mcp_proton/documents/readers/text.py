"""Plain text of any kind → one page."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

from mcp_proton.documents.decoding import decoded

if TYPE_CHECKING:
    from mcp_proton.documents.pages import Pages
    from mcp_proton.domain.documents import Claim


def read(file: BinaryIO, pages: Pages, claim: Claim) -> None:
    """Read a text."""
    found = decoded(file, claim)
    pages.notices |= found.notices
    pages.alone(found.text)
