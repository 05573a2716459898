"""OpenDocument (ODT, ODS, ODP; OASIS ODF 1.3) → pages, sheets or slides of text.

What styles or attributes hide is left out, and so are deleted passages that tracked changes keep.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

from mcp_proton.documents import markup
from mcp_proton.documents.archive import Archive
from mcp_proton.documents.refusals import Reason, Unreadable
from mcp_proton.mime.notices import Notice

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_proton.documents.pages import Pages
    from mcp_proton.domain.documents import Claim

_CONTENT = "content.xml"
_MANIFEST = "META-INF/manifest.xml"
_LEFT_OUT = frozenset({"tracked-changes", "forms", "scripts", "dde-connection-decls", "content-validations"})
_MOST_REPEATED = 100
_UNITS = {"text": "page", "spreadsheet": "sheet", "presentation": "slide", "drawing": "page"}


def read(file: BinaryIO, pages: Pages, claim: Claim) -> None:
    """Read a document into pages."""
    archive = Archive(file)
    if _MANIFEST in archive.names:
        manifest = _Manifest()
        markup.walk(archive.chunks(_MANIFEST), manifest)
        if manifest.encrypted:
            raise Unreadable(Reason.ENCRYPTED)
    content = Content(pages)
    markup.walk(archive.chunks(_CONTENT), content)
    if not content.body:
        raise Unreadable(Reason.DAMAGED)


class _Manifest:
    def __init__(self) -> None:
        self.encrypted = False

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        self.encrypted |= name == "encryption-data"

    def end(self, name: str) -> None:
        """Nothing: what is encrypted is told where it begins."""

    def data(self, text: str) -> None:
        """Nothing: the manifest holds no text."""


class Content:
    """Hears the content of a document."""

    def __init__(self, pages: Pages) -> None:
        self._pages = pages
        self._depth = 0
        self._left_out_at = 0
        self._hiding: set[str] = set()
        self._style = ""
        self._paragraphs = 0
        self._cells = 0
        self._after_cell = False
        self.body = ""

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        """Hear that an element begins."""
        self._depth += 1
        if self._left_out_at:
            return
        if name in _LEFT_OUT or self._hidden(name, attributes):
            self._left_out_at = self._depth
        elif not self.body:
            self._before(name, attributes)
        elif name in {"p", "h"}:
            self._paragraphs += 1
        elif name in {"table-cell", "covered-table-cell"}:
            self._cells += 1
            self._separate()
        else:
            self._mark(name, attributes)

    def end(self, name: str) -> None:
        """Hear that an element ends."""
        if self._left_out_at == self._depth:
            self._left_out_at = 0
        elif self._left_out_at or not self.body:
            pass
        elif name in {"p", "h"}:
            self._paragraphs -= 1
            self._pages.write(" " if self._cells else "\n")
        elif name in {"table-cell", "covered-table-cell"}:
            self._cells -= 1
            self._after_cell = True
        elif name == "table-row":
            self._after_cell = False
            self._pages.write("\n")
        self._depth -= 1

    def data(self, text: str) -> None:
        """Hear a piece of text; outside of paragraphs there is only layout."""
        if self._paragraphs and not self._left_out_at:
            self._pages.write(" ".join(text.split("\n")))

    def _before(self, name: str, attributes: Mapping[str, str]) -> None:
        """Hear what comes before the body: the styles that hide, and what kind of document it is."""
        if name == "style":
            self._style = attributes.get("name", "")
        elif name.endswith("-properties"):
            if attributes.get("display") in {"none", "false"} or attributes.get("visibility") == "hidden":
                self._hiding.add(self._style)
        elif name in _UNITS:
            self.body = name
            self._pages.unit = _UNITS[name]
            if name == "text":
                self._pages.begin()

    def _hidden(self, name: str, attributes: Mapping[str, str]) -> bool:
        if not self.body:
            return False
        hidden = (
            attributes.get("style-name") in self._hiding
            or attributes.get("is-hidden") == "true"
            or (name in {"table-row", "table-column"} and attributes.get("visibility") in {"collapse", "filter"})
        )
        if not hidden:
            return False
        if name in {"table", "page"} and self.body != "text":
            self._pages.begin(attributes.get("name", ""))
        self._pages.notices.add(Notice.HIDDEN_TEXT_REMOVED)
        return True

    def _mark(self, name: str, attributes: Mapping[str, str]) -> None:
        if name == "s":
            self._pages.write(" " * _count(attributes.get("c")))
        elif name == "tab":
            self._pages.write("\t")
        elif name == "line-break":
            self._pages.write("\n")
        elif name == "soft-page-break" and self.body == "text":
            if not self._pages.blank:
                self._pages.begin()
        elif name == "notes":
            self._pages.write("\n[notes]\n")
        elif (name == "table" and self.body == "spreadsheet") or (
            name == "page" and self.body in {"presentation", "drawing"}
        ):
            self._pages.begin(attributes.get("name", ""))

    def _separate(self) -> None:
        if self._after_cell:
            self._pages.write("| ")
        self._after_cell = False


def _count(text: str | None) -> int:
    return min(_MOST_REPEATED, int(text)) if text and text.isascii() and text.isdigit() and len(text) < 6 else 1
