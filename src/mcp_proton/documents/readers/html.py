"""HTML → one page of readable text: what a person would see of it, and nothing is loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

from mcp_proton.documents.decoding import decoded
from mcp_proton.documents.kinds import MOST_OF_A_TEXT
from mcp_proton.mime.hypertext import html

if TYPE_CHECKING:
    from mcp_proton.documents.pages import Pages
    from mcp_proton.domain.documents import Claim


def read(file: BinaryIO, pages: Pages, claim: Claim) -> None:
    """Read a page of HTML."""
    source = decoded(file, claim, "text/html")
    rendered = html.to_text(source.text, limit=MOST_OF_A_TEXT)
    pages.notices |= source.notices | rendered.notices
    pages.alone(rendered.text)
