"""HTML → readable text, and HTML → safe HTML. Both hold only what a person would see, and nothing is ever loaded.

Links become numbered references, table rows lines, lists and quotes what they are in plain text. Time and memory are
bounded whatever the input.
"""

from __future__ import annotations

import html as escaping
import re
from typing import NamedTuple

import nh3

from mcp_proton.mime.decoding.characters import visible
from mcp_proton.mime.hypertext.hiding import seen
from mcp_proton.mime.hypertext.links import Links
from mcp_proton.mime.hypertext.markup import BLOCKS, VOID, End, Start, Text, names
from mcp_proton.mime.hypertext.page import Page
from mcp_proton.mime.limits import DEFAULT
from mcp_proton.mime.notices import Notice

_TAGS = names(
    "a abbr b blockquote br caption center cite code dd del div dl dt em h1 h2 h3 h4 h5 h6 hr i img ins"
    " li mark ol p pre q s small span strike strong sub sup table tbody td tfoot th thead tr u ul"
)
_ATTRIBUTES = {
    "a": {"href", "title"},
    "img": {"src", "alt"},
    "td": {"colspan", "rowspan"},
    "th": {"colspan", "rowspan"},
}
_SCHEMES = {"http", "https", "mailto", "tel", "cid", "data"}
_PICTURE = re.compile(r"cid:|data:image/(?:png|gif|jpeg|webp);base64,", re.IGNORECASE)
_SPACES = re.compile(r"[ \t\n\f\r]+")
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_LAID_OUT = BLOCKS | {"a", "br", "hr", "img", "input"}
_PARAGRAPHS = _HEADINGS | {"p", "table", "ul", "ol", "dl", "pre", "blockquote"}


class Rendered(NamedTuple):
    """Text or HTML, and what was hidden, blocked or left out on the way to it."""

    text: str
    notices: frozenset[str] = frozenset()


def to_text(source: str, *, limit: int = DEFAULT.html) -> Rendered:
    """Return the readable text of an HTML document. Never raises; beyond `limit` characters nothing is read."""
    notices: set[str] = {Notice.HTML_CONVERTED}
    if len(source) > limit:
        source = source[:limit]
        notices.add(Notice.TRUNCATED)
    renderer = _Renderer()
    for event in seen(source, notices):
        if isinstance(event, Text):
            renderer.text(event.text)
        elif isinstance(event, Start):
            renderer.start(event)
        else:
            renderer.end(event.name)
    read = visible(renderer.finish())
    if renderer.links.differs:
        notices.add(Notice.LINK_TEXT_DIFFERS)
    if renderer.links.left_out:
        notices.add(Notice.TRUNCATED)
    return Rendered(read.text, frozenset(notices) | read.notices)


def safe(source: str, *, limit: int = DEFAULT.html) -> str:
    """Return the HTML without scripts, styles, forms, hidden text and anything that loads (P-95). Never raises."""
    return cleaned(source, limit=limit).text


def cleaned(source: str, *, limit: int = DEFAULT.html) -> Rendered:
    """Return what `safe` returns, with what was hidden, blocked or left out on the way."""
    notices: set[str] = {Notice.TRUNCATED} if len(source) > limit else set()
    written: list[str] = []
    for event in seen(source[:limit], notices):
        match event:
            case Start(name, attributes) if name in _TAGS:
                kept = _ATTRIBUTES.get(name, set()) & attributes.keys()
                said = "".join(f' {key}="{escaping.escape(attributes[key])}"' for key in sorted(kept))
                written.append(f"<{name}{said}>")
            case End(name) if name in _TAGS and name not in VOID:
                written.append(f"</{name}>")
            case Text(text):
                written.append(escaping.escape(text, quote=False))
    sanitised = nh3.clean(
        visible("".join(written)).text,
        tags=set(_TAGS),
        attributes=_ATTRIBUTES,
        attribute_filter=_kept,
        url_schemes=_SCHEMES,
        link_rel="noopener noreferrer",
        strip_comments=True,
    )
    read = visible(sanitised)
    return Rendered(read.text, frozenset(notices) | read.notices)


def _kept(tag: str, attribute: str, value: str) -> str | None:
    if tag == "img" and attribute == "src":
        return value if _PICTURE.match(value.strip()) else None
    if attribute == "href" and value.strip().lower().startswith("data:"):
        return None
    return value


class _Renderer:
    """Events in, lines out."""

    def __init__(self) -> None:
        self.page = Page()
        self.links = Links()
        self.link: tuple[str, list[str]] | None = None
        self.pre = 0
        self.lists: list[int | None] = []

    def start(self, event: Start) -> None:
        """Begin an element."""
        name = event.name
        if name not in _LAID_OUT:
            return
        match name:
            case "br":
                self.page.newline()
            case "hr":
                self.page.block()
                self.page.write("---")
                self.page.block()
            case "img":
                self.picture(event.attributes)
            case "a" if event.attributes.get("href"):
                self.link = (event.attributes["href"], [])
            case "input":
                if event.attributes.get("type", "").lower() in {"submit", "button"}:
                    self.text(event.attributes.get("value", ""))
            case "ul" | "ol":
                self.lists.append(1 if name == "ol" else None)
        if name in BLOCKS:
            self.page.block(blank=name in _PARAGRAPHS and not (name in {"ul", "ol"} and len(self.lists) > 1))
        self.open_frame(name)

    def open_frame(self, name: str) -> None:
        """Begin an element whose lines are gathered before they are placed."""
        match name:
            case "td" | "th":
                self.page.open_cell()
            case "tr":
                self.page.open_row()
            case "blockquote":
                self.page.open("> ", "> ")
            case "li":
                number = self.lists[-1] if self.lists else None
                mark = "- " if number is None else f"{number}. "
                if self.lists and number is not None:
                    self.lists[-1] = number + 1
                self.page.open(mark, " " * len(mark))
            case "pre":
                self.pre += 1

    def end(self, name: str) -> None:
        """End an element."""
        if name not in _LAID_OUT:
            return
        match name:
            case "td" | "th":
                self.page.close_cell()
            case "tr":
                self.page.close_row()
            case "blockquote" | "li":
                self.page.close()
            case "pre":
                self.pre -= 1
            case "ul" | "ol":
                self.lists.pop()
            case "a" if self.link:
                self.end_link()
        if name in BLOCKS:
            self.page.block(blank=name in _PARAGRAPHS and not (name in {"ul", "ol"} and self.lists))

    def end_link(self) -> None:
        """Put the reference behind a link's text; a link without text (a tracker) is none."""
        href, words = self.link or ("", [])
        self.link = None
        said = "".join(words).strip()
        if said:
            self.page.write(self.links.mark(href, said))

    def picture(self, attributes: dict[str, str]) -> None:
        """Show what a picture says of itself; a tracker says nothing."""
        alternative = _SPACES.sub(" ", attributes.get("alt", "")).strip()
        tiny = {attributes.get("width", "").strip("px "), attributes.get("height", "").strip("px ")} <= {"0", "1"}
        if alternative and not tiny:
            self.text(f"[image: {alternative[:500]}]")

    def text(self, text: str) -> None:
        """Write text, white space collapsed except in `pre`."""
        said = text if self.pre else _SPACES.sub(" ", text)
        self.page.write(said, exact=self.pre > 0)
        if self.link:
            self.link[1].append(said)

    def finish(self) -> str:
        """Return everything, with the list of links at the end."""
        body = self.page.finish()
        listed = self.links.listed()
        return f"{body}\n\n{listed}" if body and listed else body or listed
