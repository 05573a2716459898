"""PDF (ISO 32000) → pages of text, by PDFium. No script runs, no form is opened, nothing is fetched."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

import pypdfium2
from pypdfium2 import raw

from mcp_proton.documents.pages import MOST_PAGES, Pages
from mcp_proton.documents.refusals import Reason, Unreadable
from mcp_proton.mime.notices import Notice

if TYPE_CHECKING:
    from mcp_proton.domain.documents import Claim

_LOST = 50
"""So many pages in a row that cannot be opened: the rest, if there is one, is given up."""
_PASSWORD = frozenset({raw.FPDF_ERR_PASSWORD, raw.FPDF_ERR_SECURITY})


def read(file: BinaryIO, pages: Pages, claim: Claim) -> int:
    """Read a document into pages, from the first that is wanted; return how many pages it says it has."""
    try:
        document = pypdfium2.PdfDocument(file.read())
    except pypdfium2.PdfiumError as error:
        known = getattr(error, "err_code", None) in _PASSWORD
        raise Unreadable(Reason.ENCRYPTED if known else Reason.DAMAGED) from None
    total = len(document)
    pages.skip_to(pages.first)
    texts: list[str | None] = []
    while pages.total < total and not pages.full and len(texts) < MOST_PAGES:
        pages.begin()
        if not pages.wanted:
            break
        texts.append(_text(document, pages.total - 1))
        pages.write(texts[-1] or "")
        if len(texts) >= _LOST and not any(text is not None for text in texts[-_LOST:]):
            pages.stop()
    pages.end()
    if None in texts:
        pages.notices.add(Notice.PAGES_DAMAGED)
    if "".join(text or "" for text in texts).strip() == "" and any(text is not None for text in texts):
        pages.notices.add(Notice.NO_TEXT_LAYER)
    return total


def _text(document: pypdfium2.PdfDocument, index: int) -> str | None:
    """Return a page's text; None where the page cannot be opened."""
    try:
        page = document[index]
        try:
            text: str = page.get_textpage().get_text_range()
        finally:
            page.close()
    except (pypdfium2.PdfiumError, ValueError, IndexError, UnicodeError):
        return None
    return text
