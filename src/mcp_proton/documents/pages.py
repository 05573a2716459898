"""Pages as they are read: only those wanted are kept, and of them no more than is to be shown.

What is kept is neutralised page by page, so that an offset into a page means the same in every excerpt.
"""

from __future__ import annotations

from mcp_proton.documents.refusals import Reason, Unreadable
from mcp_proton.domain.documents import Excerpt, Passage, Span
from mcp_proton.mime.decoding.characters import line, visible
from mcp_proton.mime.neutral import neutralise

MOST_PAGES = 500
"""At most so many pages are in one excerpt, however empty they are."""
_MARGIN = 512
_LONGEST_TITLE = 120


class Pages:
    """Takes the pages of a document in their order and makes an excerpt of those wanted."""

    def __init__(self, span: Span, letters: int, unit: str = "page") -> None:
        self.unit = unit
        self.total = 0
        self.notices: set[str] = set()
        self._span = span
        self._letters = letters
        self._passages: list[Passage] = []
        self._following: Span | None = None
        self.blank = True
        """Whether the page that is open holds no text so far."""
        self._begun = False
        self._title = ""
        self._raw: list[str] = []
        self._held = 0
        self._cut = False
        self._stopped = False
        self._written = 0
        self._left = 0

    @property
    def first(self) -> int:
        """The first page that is wanted."""
        return self._span.first

    @property
    def full(self) -> bool:
        """Whether nothing more can be shown: what comes is only counted."""
        return self._stopped or self._following is not None

    @property
    def wanted(self) -> bool:
        """Whether the page that is open is to be shown, and more text for it is of use."""
        return self._begun and self._within and not self.full and not self._cut

    def begin(self, title: str = "") -> None:
        """Open the next page."""
        self.end()
        self.total += 1
        self._begun, self._title = True, title
        self._raw, self._held, self._cut, self.blank, self._written = [], 0, False, True, 0

    def alone(self, text: str) -> None:
        """Open the only page of what is text by itself."""
        self.unit = "text"
        self.begin()
        self.write(text)

    def write(self, text: str) -> None:
        """Add text to the page that is open. What is of no use is let go at once."""
        if not text.isspace() and text:
            self.blank = False
        if self.wanted:
            seen, room = visible(text).text, self._room - self._held
            self._cut = len(seen) > room
            self._written += len(seen)
            self._raw.append(seen[:room])
            self._held += min(len(seen), room)

    def leave(self, letters: int) -> None:
        """Pass over so many letters of the page that is open, and of no use any more."""
        self._written += letters

    def end(self) -> None:
        """Close the page that is open."""
        if not self._begun:
            return
        self._begun = False
        if self._within and not self.full:
            self._keep(neutralise("".join(self._raw)))

    def stop(self) -> None:
        """Take no more pages: what is left cannot be read."""
        self.end()
        self._stopped = True

    def skip_to(self, number: int) -> None:
        """Pass over pages that are not wanted, where a document can be opened in its middle."""
        self.end()
        self.total = number - 1

    def excerpt(self, total: int | None = None) -> Excerpt:
        """Return what was kept; `total` where it is known without having counted."""
        self.end()
        total = self.total if total is None else total
        if self._span.first > max(1, total):
            raise Unreadable(Reason.NO_SUCH_PAGE)
        following = self._following
        if self._stopped or (following and following.first > min(total, self._span.last or total)):
            following = None
        left = self._left if self.unit == "text" and following else 0
        return Excerpt(self.unit, total, tuple(self._passages), following, frozenset(self.notices), left)

    @property
    def _within(self) -> bool:
        return self._span.first <= self.total and (self._span.last is None or self.total <= self._span.last)

    @property
    def _offset(self) -> int:
        return self._span.offset if self.total == self._span.first else 0

    @property
    def _room(self) -> int:
        """How much of the open page is read at most: what is passed over, what is shown, and a margin to neutralise it in."""
        return self._offset + self._letters + _MARGIN

    def _keep(self, text: str) -> None:
        text = text.strip("\n")  # at the cut end as well: nobody misses a line end there
        shown = text[self._offset : self._offset + self._letters]
        self._passages.append(Passage(self.total, line(self._title)[:_LONGEST_TITLE], shown))
        self._letters -= len(shown)
        if shown and (self._cut or self._offset + len(shown) < len(text)):
            done = self._offset + len(shown)
            self._following = Span(self.total, self._span.last, done)
            self._left = max(1, max(self._written, len(text)) - done)
        elif self._letters <= 0 or len(self._passages) >= MOST_PAGES:
            self._following = Span(self.total + 1, self._span.last)
