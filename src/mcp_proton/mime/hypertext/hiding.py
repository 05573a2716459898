"""What a person would see of an HTML mail, and what its sender hid: judged from attributes and styles, inherited ones too.

Hidden is what is `display:none`, invisible, transparent, smaller than 2 px, in a box without room, off the screen, clipped or
in the colour of its ground; so are comments, templates and elements marked `hidden`. Not every trick of CSS can be known:
what is found is removed and reported, more is not promised.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from mcp_proton.mime.hypertext import colours, css
from mcp_proton.mime.hypertext.markup import Comment, End, Start, Text, events, names
from mcp_proton.mime.notices import Notice

if TYPE_CHECKING:
    from collections.abc import Iterator

NO_CONTENT = names(
    "script style title head template svg math object applet audio video canvas map datalist select frameset"
)
"""Elements whose text is no part of what is read; a mail reader shows none of it."""

_NO_CLASSES: frozenset[str] = frozenset()
_HIDING = names(
    "display content-visibility opacity filter overflow overflow-x overflow-y position text-indent margin-left margin-top"
    " transform clip clip-path"
)
_REMOTE = re.compile(r"\s*(?:https?:)?//", re.IGNORECASE)
_REMOTE_STYLE = re.compile(r"(?:url\(\s*[\"']?\s*|@import\s+[\"']?)(?:https?:)?//", re.IGNORECASE)
_LOADING = names("src background poster srcset data lowsrc dynsrc")
REMEMBERED = 1_000
_MARKUP = re.compile(r"<[^>]{0,2000}>|\[(?:end)?if[^\]]{0,80}\]|<!|[^\w]+")
_OFF = re.compile(r"scale[xy]?\(\s*0+(?:\.0+)?\s*[,)]|translate[xy]?\(\s*-\d{3,}")
_CLIPPED = re.compile(
    r"rect\(\s*[01](?:px)?[\s,]+[01](?:px)?[\s,]+[01](?:px)?[\s,]+[01](?:px)?\s*\)|inset\(\s*(?:100|[5-9]\d)%|circle\(\s*0"
)
_SIZES = {"1": 10.0, "2": 13.0}
_FONT_SHORTHAND = re.compile(r"(?:^|\s)(\d[\d.]*(?:px|pt|em|rem|%)?)(?:/\S+)?\s")


class _Style(NamedTuple):
    """What text inherits. An unknown ground (a picture) is None: nothing can be said of text on it."""

    text: colours.RGB = colours.BLACK
    ground: colours.RGB | None = colours.WHITE
    size: float = 16.0
    visible: bool = True
    transparent: bool = False

    def shows(self) -> bool:
        alike = self.ground is not None and colours.alike(self.text, self.ground)
        return self.visible and not self.transparent and self.size >= 2 and not alike


def seen(source: str, notices: set[str]) -> Iterator[Start | End | Text]:
    """Yield the events of what can be seen, still balanced. `notices` learns what was removed and not loaded."""
    walk = _Walk(notices)
    try:
        for event in events(source, notices):
            if isinstance(event, Comment):
                walk.comment(event.text)
            elif walk.takes(event):
                yield event
    except css.Exhausted:
        notices.add(Notice.TRUNCATED)
        yield from (End(name) for name in reversed(walk.given))


class _Walk:
    """The state of one pass: open elements with their styles, and how deep inside something hidden we are."""

    def __init__(self, notices: set[str]) -> None:
        self.notices = notices
        self.sheet = css.Stylesheet()
        self.elements: list[css.Element] = []
        self.styles: list[_Style] = [_Style()]
        self.given: list[str] = []
        self.known: dict[str, css.Declarations] = {}
        self.unseen = 0
        self.hidden = 0
        self.in_style = False

    def comment(self, text: str) -> None:
        """Note a comment that says anything."""
        if _MARKUP.sub("", text):
            self.notices.add(Notice.HIDDEN_TEXT_REMOVED)

    def takes(self, event: Start | End | Text) -> bool:
        """Take one event; whether it is passed on."""
        if isinstance(event, Start):
            return self.start(event)
        if isinstance(event, End):
            return self.end()
        return self.text(event.text)

    def start(self, event: Start) -> bool:
        """Open an element: inside something unseen it is only counted."""
        self.in_style = event.name == "style"
        self._look_for_remote(event)
        if self.unseen:
            self.unseen += 1
            self.hidden += 1 if self.hidden else 0
            return False
        if event.name in NO_CONTENT:
            self.unseen = 1
            return False
        element = _element(event)
        said = self.sheet.of(element, self.elements)
        if "style" in event.attributes:
            own = self._declared(event.attributes["style"])
            said = css.overlaid(said, own) if said else own
        if _is_hidden(event, said):
            self.unseen = self.hidden = 1
            return False
        self.elements.append(element)
        self.styles.append(_inherited(self.styles[-1], event, said))
        self.given.append(event.name)
        return True

    def _declared(self, style: str) -> css.Declarations:
        """Read an inline style; the same few come again and again."""
        found = self.known.get(style)
        if found is None:
            found = css.declarations(style)
            if len(self.known) < REMEMBERED:
                self.known[style] = found
        return found

    def end(self) -> bool:
        """Close the innermost element."""
        self.in_style = False
        if self.unseen:
            self.unseen -= 1
            self.hidden = min(self.hidden, self.unseen)
            return False
        self.elements.pop()
        self.styles.pop()
        self.given.pop()
        return True

    def text(self, text: str) -> bool:
        """Whether this text can be seen."""
        if self.in_style:
            self.sheet.add(text)
            if _REMOTE_STYLE.search(text):
                self.notices.add(Notice.REMOTE_CONTENT_BLOCKED)
            return False
        if text.isspace():
            return not self.unseen
        shows = not self.unseen and self.styles[-1].shows()
        if self.hidden or (not self.unseen and not shows):
            self.notices.add(Notice.HIDDEN_TEXT_REMOVED)
        return shows

    def _look_for_remote(self, event: Start) -> None:
        said = event.attributes
        if not said:
            return
        loads = any(_REMOTE.match(said[name]) for name in said.keys() & _LOADING) or (
            event.name == "link" and _REMOTE.match(said.get("href", ""))
        )
        if loads or ("style" in said and _REMOTE_STYLE.search(said["style"])):
            self.notices.add(Notice.REMOTE_CONTENT_BLOCKED)


def _element(event: Start) -> css.Element:
    said = event.attributes
    classes = frozenset(said["class"].split()[:50]) if "class" in said else _NO_CLASSES
    return css.Element(event.name, said.get("id", ""), classes)


def _is_hidden(event: Start, said: css.Declarations) -> bool:
    attributes = event.attributes
    if "hidden" in attributes and not said.get("display", "none").startswith(("block", "inline", "table", "flex")):
        return True
    if event.name == "input" and attributes.get("type", "").lower() == "hidden":
        return True
    if event.name == "dialog" and "open" not in attributes:
        return True
    if _HIDING.isdisjoint(said):
        return False
    return _has_no_room(said) or _is_elsewhere(said) or _is_switched_off(said)


def _is_switched_off(said: css.Declarations) -> bool:
    opacity = colours.pixels(said.get("opacity"), of=1)
    return (
        said.get("display", "").startswith("none")
        or said.get("content-visibility", "").startswith("hidden")
        or (opacity is not None and opacity < 0.05)
        or re.match(r"opacity\(\s*0?(?:\.0\d*)?\s*%?\)", said.get("filter", "")) is not None
    )


def _has_no_room(said: css.Declarations) -> bool:
    overflow = said.get("overflow", said.get("overflow-y", said.get("overflow-x", "")))
    if not overflow.startswith(("hidden", "clip", "scroll", "auto")):
        return False
    sizes = (colours.pixels(said.get(name)) for name in ("height", "max-height", "width", "max-width"))
    return any(size is not None and size <= 1 for size in sizes)


def _is_elsewhere(said: css.Declarations) -> bool:
    placed = said.get("position", "").startswith(("absolute", "fixed", "relative"))
    names = ("left", "top", "right", "bottom") if placed else ()
    moved = [colours.pixels(said.get(name)) for name in (*names, "text-indent", "margin-left", "margin-top")]
    if any(length is not None and length <= -400 for length in moved):
        return True
    if placed and any(length is not None and length >= 5_000 for length in moved):
        return True
    return bool(
        _OFF.search(said.get("transform", "")) or _CLIPPED.search(f"{said.get('clip', '')} {said.get('clip-path', '')}")
    )


def _inherited(outer: _Style, event: Start, said: css.Declarations) -> _Style:
    attributes = event.attributes
    if not said and event.name not in {"a", "font", "body"} and not attributes.keys() & {"bgcolor", "background"}:
        return outer
    text, transparent = _text_colour(outer, event, said)
    visible = outer.visible
    if "visibility" in said:
        visible = not said["visibility"].startswith(("hidden", "collapse"))
    return _Style(text, _ground(outer, attributes, said), _size(outer, event, said), visible, transparent)


def _text_colour(outer: _Style, event: Start, said: css.Declarations) -> tuple[colours.RGB, bool]:
    named = said.get("-webkit-text-fill-color") or said.get("color")
    if named is None:
        named = event.attributes.get("color") if event.name == "font" else event.attributes.get("text")
    found = colours.colour(named)
    if found is not None:
        return found.rgb, found.alpha < 0.1
    if event.name == "a" and named is None and "href" in event.attributes:
        return colours.LINK, False
    if named is not None and not named.startswith(("inherit", "currentcolor")):
        return (127, 127, 127), False  # a colour we do not know: not that of a usual ground
    return outer.text, outer.transparent


def _ground(outer: _Style, attributes: dict[str, str], said: css.Declarations) -> colours.RGB | None:
    named = said.get("background-color") or said.get("background")
    picture = said.get("background-image", said.get("background", ""))
    if "url(" in picture or "gradient" in picture or attributes.get("background"):
        return None
    if named is None:
        named = attributes.get("bgcolor")
    if named is None:
        return outer.ground
    if named.startswith(("none", "inherit", "transparent", "initial", "unset")):
        return outer.ground
    found = colours.colour(named) or colours.colour(named.split(" ", 1)[0])
    if found is None:
        return None
    return outer.ground if found.alpha < 0.05 else found.rgb if found.alpha > 0.9 else None


def _size(outer: _Style, event: Start, said: css.Declarations) -> float:
    named = said.get("font-size")
    if named is None and "font" in said:
        short = _FONT_SHORTHAND.search(said["font"] + " ")
        named = short[1] if short else None
    if named is None and event.name == "font":
        return _SIZES.get(event.attributes.get("size", ""), outer.size)
    size = colours.pixels(named, of=outer.size)
    if size is None:
        return 16.0 if named else outer.size
    return size
