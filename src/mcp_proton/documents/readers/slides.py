"""Presentations (PPTX, PresentationML, ECMA-376 part 1 §19) → one page a slide, with the speaker's notes below it."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

from mcp_proton.documents import markup, office
from mcp_proton.documents.archive import Archive
from mcp_proton.mime.notices import Notice

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_proton.documents.pages import Pages
    from mcp_proton.domain.documents import Claim


def read(file: BinaryIO, pages: Pages, claim: Claim) -> None:
    """Read a presentation into pages. A hidden slide is left out; its number stays."""
    archive = Archive(file)
    main = office.main_part(archive)
    order = _Order()
    markup.walk(archive.chunks(main), order)
    places = {one.id: one.part for one in office.related(archive, main)}
    pages.unit = "slide"
    for part in [places[name] for name in order.names if name in places]:
        pages.begin()
        if pages.wanted:
            _slide(archive, part, pages)


def _slide(archive: Archive, part: str, pages: Pages) -> None:
    slide = _Shapes(pages)
    markup.walk(archive.chunks(part), slide)
    if slide.hidden:
        pages.notices.add(Notice.HIDDEN_TEXT_REMOVED)
        return
    for one in office.related(archive, part):
        if one.kind == "notesSlide":
            pages.write("\n[notes]\n")
            markup.walk(archive.chunks(one.part), _Shapes(pages))


class _Order:
    """Hears in which order the slides come."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if name == "sldId":
            # `id` is there twice: the slide's number, and (in the namespace of relationships) the name of its part.
            self.names.append(attributes.get("id", ""))

    def end(self, name: str) -> None:
        """Nothing: the order is told by attributes."""

    def data(self, text: str) -> None:
        """Nothing: the order holds no text."""


class _Shapes:
    """Hears the shapes of one slide."""

    def __init__(self, pages: Pages) -> None:
        self._pages = pages
        self._text = False
        self._field = ""
        self._fallback = 0
        self._cells = 0
        self._after_cell = False
        self.hidden = False

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if name == "sld" and attributes.get("show", "1").lower() in {"0", "false"}:
            self.hidden = True
        elif name == "Fallback":
            self._fallback += 1
        elif name == "t":
            self._text = True
        elif name == "tc":
            self._cells += 1
            self._separate()
        elif name == "br":
            self._write("\n")
        elif name == "fld":
            self._field = attributes.get("type", "")

    def end(self, name: str) -> None:
        if name == "Fallback":
            self._fallback -= 1
        elif name == "t":
            self._text = False
        elif name == "fld":
            self._field = ""
        elif name == "p":
            self._write(" " if self._cells else "\n")
        elif name == "tc":
            self._cells -= 1
            self._after_cell = True
        elif name == "tr":
            self._after_cell = False
            self._write("\n")

    def data(self, text: str) -> None:
        if self._text and self._field != "slidenum":
            self._write(text)

    def _write(self, text: str) -> None:
        if not (self.hidden or self._fallback):
            self._pages.write(text)

    def _separate(self) -> None:
        if self._after_cell:
            self._write("| ")
        self._after_cell = False
