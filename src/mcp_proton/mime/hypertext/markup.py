"""HTML → a balanced stream of starts, texts and ends, in one pass: bounded in time, depth and memory by construction.

The tokens are those of the HTML standard (§13.2.5: tags, attributes, comments, raw text), the tree is simpler: every
start gets its end, in order, and nothing below the depth limit is passed on. A tree-building parser is not used
because hostile nesting makes those quadratic (a megabyte of `<div>` kept one busy for minutes).
"""

from __future__ import annotations

import html
import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from mcp_proton.mime.notices import Notice

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

DEPTH = 500
ELEMENTS = 30_000


def names(text: str) -> frozenset[str]:
    """Return the element names of a list with blanks."""
    return frozenset(text.split())


VOID = names("area base br col embed hr img input link meta param source track wbr")
BLOCKS = names(
    "address article aside blockquote body caption center dd details dialog div dl dt fieldset figcaption"
    " figure footer form h1 h2 h3 h4 h5 h6 header hr html li main nav ol p pre section summary table tbody"
    " td tfoot th thead tr ul"
)
_RAW = names("script style title textarea xmp iframe noembed noframes")
_SCOPES = frozenset({"td", "th", "caption", "table"})
_CLOSES: dict[str, frozenset[str]] = {
    "li": frozenset({"li"}),
    "dt": frozenset({"dt", "dd"}),
    "dd": frozenset({"dt", "dd"}),
    "option": frozenset({"option"}),
    "td": frozenset({"td", "th"}),
    "th": frozenset({"td", "th"}),
    "tr": frozenset({"td", "th", "tr"}),
    "tbody": frozenset({"td", "th", "tr", "tbody", "thead", "tfoot"}),
    "thead": frozenset({"td", "th", "tr", "tbody", "thead", "tfoot"}),
    "tfoot": frozenset({"td", "th", "tr", "tbody", "thead", "tfoot"}),
    "a": frozenset({"a"}),
}
_STOPS: dict[str, frozenset[str]] = {
    "li": frozenset({"ul", "ol", "table", "td", "blockquote"}),
    "dt": frozenset({"dl", "table", "td"}),
    "dd": frozenset({"dl", "table", "td"}),
    "a": frozenset({"table", "td", "th"}),
}
_TABLE = frozenset({"table"})

_ATTRIBUTES = (
    r"(?>(?:[\s/]+|[^\s/>][^\s/>=]*+"
    r"(?:\s*+=\s*+(?:\"[^\"]*+\"|'[^']*+'|(?=[\"'])[\s\S]*+\Z|[^\s>\"'][^\s>]*+|(?=>)))?+)*+)"
)
_TOKEN = re.compile(
    r"<!--(?:>|->|(?P<comment>[\s\S]*?)(?:--!?>|\Z))"
    rf"|<(?P<close>/?)(?P<name>[A-Za-z][^\s/>]*+)(?P<attributes>{_ATTRIBUTES})>"
    r"|<(?:[!?]|/[^A-Za-z>])(?P<bogus>[^>]*+)(?:>|\Z)"
)
_ATTRIBUTE = re.compile(r"([^\s/>][^\s/>=]*+)(?:\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s>\"'][^\s>]*+)|(?=>)))?+")
_TAG_BEGINS = re.compile(r"<(?=[A-Za-z!?]|/[^>])")
_LONG_NUMBER = re.compile(r"&#0*[0-9]{8,};?")


class Start(NamedTuple):
    """An element begins. `attributes` have lower-case names and decoded values; the first of a name counts."""

    name: str
    attributes: dict[str, str]


class End(NamedTuple):
    """An element ends; every `Start` has one."""

    name: str


class Text(NamedTuple):
    """Decoded text; of `style`, `script` and `title` the raw content."""

    text: str


class Comment(NamedTuple):
    """A comment's content."""

    text: str


Event = Start | End | Text | Comment


def unescape(text: str) -> str:
    """Decode character references; an impossible number becomes U+FFFD."""
    if "&" not in text:
        return text
    return html.unescape(_LONG_NUMBER.sub("\ufffd", text))


def events(source: str, notices: set[str]) -> Iterator[Event]:
    """Yield the balanced stream; `notices` learns `html_damaged`, `nested_too_deep` and `truncated`."""
    tree = _Tree(notices)
    for token in _tokens(source, notices):
        if isinstance(token, Start):
            yield from tree.start(token)
            if tree.count > ELEMENTS:
                notices.add(Notice.TRUNCATED)
                break
        elif isinstance(token, End):
            yield from tree.end(token.name)
        elif not tree.too_deep:
            yield token
    yield from tree.close_down_to(0)


def _tokens(source: str, notices: set[str]) -> Iterator[Event]:
    at = 0
    while at < len(source):
        begin = _TAG_BEGINS.search(source, at)
        if begin is None:
            yield Text(unescape(source[at:]))
            return
        if begin.start() > at:
            yield Text(unescape(source[at : begin.start()]))
        token = _TOKEN.match(source, begin.start())
        if token is None:
            notices.add(Notice.HTML_DAMAGED)
            return
        at = token.end()
        name = token["name"]
        if name is None:
            content = token["comment"] or token["bogus"] or ""
            if content and not content.startswith("DOCTYPE"):
                yield Comment(content)
        elif token["close"]:
            yield End(name.lower())
        else:
            start = Start(name.lower(), _attributes(token["attributes"]))
            yield start
            if start.name in _RAW:
                end = _raw_end(source, at, start.name)
                yield Text(source[at:end] if start.name in {"style", "script"} else unescape(source[at:end]))
                yield End(start.name)
                at = end


def _attributes(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    if not text or text.isspace():
        return found
    for name, double, single, bare in _ATTRIBUTE.findall(text):
        found.setdefault(name.lower(), unescape(double or single or bare))
    return found


def _raw_end(source: str, at: int, name: str) -> int:
    found = re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE).search(source, at)
    return found.start() if found else len(source)


class _Tree:
    """The open elements, with as much of HTML's optional tags as mail needs."""

    def __init__(self, notices: set[str]) -> None:
        self.notices = notices
        self.open: list[str] = []
        self.counts: Counter[str] = Counter()
        self.below: Counter[str] = Counter()
        self.too_deep = 0
        self.count = 0

    def start(self, token: Start) -> Sequence[Event]:
        """Open an element, closing what it ends by implication."""
        self.count += 1
        name = token.name
        if self.too_deep or len(self.open) >= DEPTH:
            self._descend(name)
            return ()
        closed: list[Event] = []
        if name in _CLOSES:
            closed = self._imply(_CLOSES[name], _STOPS.get(name, _TABLE))
        elif name in BLOCKS and self.open and self.open[-1] == "p":
            closed = self.close_down_to(len(self.open) - 1)
        if name in VOID:
            return (*closed, token, End(name))
        self.open.append(name)
        self.counts[name] += 1
        return (*closed, token)

    def end(self, name: str) -> Sequence[Event]:
        """Close the nearest element of that name; a stray end closes nothing, nor does one cross a table cell."""
        if self.too_deep:
            self._ascend(name)
            return ()
        if not self.counts.get(name) or not self._in_scope(name):
            return ()
        place = len(self.open) - 1
        while self.open[place] != name:
            place -= 1
        return self.close_down_to(place)

    def close_down_to(self, place: int) -> list[Event]:
        """Close the elements from this place on, innermost first."""
        closed: list[Event] = []
        while len(self.open) > place:
            name = self.open.pop()
            self.counts[name] -= 1
            closed.append(End(name))
        return closed

    def _in_scope(self, name: str) -> bool:
        if name in _SCOPES or name in {"tr", "tbody", "thead", "tfoot", "body", "html"}:
            return True
        for open_name in reversed(self.open):
            if open_name == name:
                return True
            if open_name in _SCOPES:
                return False
        return False

    def _imply(self, closed: frozenset[str], stops: frozenset[str]) -> list[Event]:
        """Close the outermost of these elements above the nearest stop, with all that is in it."""
        cut = len(self.open)
        for place in range(len(self.open) - 1, -1, -1):
            if self.open[place] in stops:
                break
            if self.open[place] in closed:
                cut = place
        return self.close_down_to(cut)

    def _descend(self, name: str) -> None:
        self.notices.add(Notice.NESTED_TOO_DEEP)
        if name not in VOID:
            self.too_deep += 1
            self.below[name] += 1

    def _ascend(self, name: str) -> None:
        if self.below[name]:
            self.below[name] -= 1
            self.too_deep -= 1
