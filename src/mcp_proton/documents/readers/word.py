"""Word documents (DOCX, WordprocessingML, ECMA-376 part 1 §17) → pages of text.

Pages are where the program that wrote the file broke them last. Hidden text, deleted text and field codes are left out;
headers, footers, notes and comments stand at the end of the last page.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

from mcp_proton.documents import markup, office
from mcp_proton.documents.archive import Archive
from mcp_proton.mime.notices import Notice

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_proton.documents.pages import Pages
    from mcp_proton.domain.documents import Claim

_BESIDE = {
    "header": "header",
    "footer": "footer",
    "footnotes": "footnotes",
    "endnotes": "endnotes",
    "comments": "comments",
}
_LEFT_OUT = frozenset({"del", "moveFrom", "Fallback"})
"""Subtrees that are not what a reader sees: what was deleted, and what only stands in for something shown already."""
_OFF = frozenset({"0", "false", "off"})


def read(file: BinaryIO, pages: Pages, claim: Claim) -> None:
    """Read a document into pages."""
    archive = Archive(file)
    main = office.main_part(archive)
    pages.begin()
    markup.walk(archive.chunks(main), Body(pages))
    for one in office.related(archive, main):
        if one.kind in _BESIDE:
            pages.write(f"\n[{_BESIDE[one.kind]}]\n")
            markup.walk(archive.chunks(one.part), Body(pages, paged=False))


class Body:
    """Hears the body of a document."""

    def __init__(self, pages: Pages, *, paged: bool = True) -> None:
        self._pages = pages
        self._paged = paged
        self._depth = 0
        self._left_out_at = 0
        self._properties = 0
        self._cells = 0
        self._after_cell = False
        self._hidden = False
        self._text = False

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        """Hear that an element begins."""
        self._depth += 1
        if self._left_out_at:
            return
        if name in _LEFT_OUT:
            self._left_out_at = self._depth
        elif name in {"pPr", "rPr"}:
            self._properties += 1
        elif self._properties:
            self._property(name, attributes)
        elif name == "r":
            self._hidden = False
        elif name == "t":
            self._text = not self._hidden
        elif name == "tc":
            self._cells += 1
            self._separate()
        else:
            self._mark(name, attributes)

    def end(self, name: str) -> None:
        """Hear that an element ends."""
        if self._left_out_at == self._depth:
            self._left_out_at = 0
        elif self._left_out_at:
            pass
        elif name in {"pPr", "rPr"}:
            self._properties = max(0, self._properties - 1)
        elif name == "t":
            self._text = False
        elif name == "p":
            self._pages.write(" " if self._cells else "\n")
        elif name == "tc":
            self._cells = max(0, self._cells - 1)
            self._after_cell = True
        elif name == "tr":
            self._after_cell = False
            self._pages.write("\n")
        self._depth -= 1

    def data(self, text: str) -> None:
        """Hear a piece of text."""
        if self._text and not self._left_out_at:
            self._pages.write(text)

    def _property(self, name: str, attributes: Mapping[str, str]) -> None:
        said = attributes.get("val", "1").lower() not in _OFF
        if name == "vanish" and said:
            self._hidden = True
            self._pages.notices.add(Notice.HIDDEN_TEXT_REMOVED)
        elif name == "pageBreakBefore" and said:
            self._break()

    def _mark(self, name: str, attributes: Mapping[str, str]) -> None:
        if name == "lastRenderedPageBreak" or (name == "br" and attributes.get("type") == "page"):
            self._break()
        elif name in {"br", "cr"}:
            self._pages.write("\n")
        elif name in {"tab", "ptab"}:
            self._pages.write("\t")
        elif name == "noBreakHyphen":
            self._pages.write("-")

    def _break(self) -> None:
        """Begin a page, once: a break that was asked for is followed by one that says where it came to lie."""
        if self._paged and not self._pages.blank:
            self._pages.begin()

    def _separate(self) -> None:
        if self._after_cell:
            self._pages.write("| ")
        self._after_cell = False
