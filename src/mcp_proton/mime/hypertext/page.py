"""Page: lines being laid out, with frames (list items, quotes, table cells) whose lines are gathered, then placed.

Frames nest to a small depth only; deeper ones are plain blocks, so that no line is copied more often than that.
"""

from __future__ import annotations

import re

NESTED = 8

_BLANK_LINES = re.compile(r"\n[ \t]*\n(?:[ \t]*\n)+")
_TRAILING = re.compile(r"[ \t\u00a0]+\n")


class _Lines:
    """Text with the line breaks that are due before the next word."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.due = 0
        self.at_line_start = True
        self.after_space = False

    def block(self, *, blank: bool) -> None:
        """End the line; `blank` asks for an empty one before what comes next."""
        self.due = max(self.due, 2 if blank else 1)

    def newline(self) -> None:
        """Break the line here."""
        if self.due == 0 or not self.pieces:
            self.due = max(self.due, 1)
        else:
            self.due = min(self.due + 1, 2)

    def write(self, text: str, *, exact: bool) -> None:
        """Append text; blanks at the beginning of a line or after a blank are dropped unless `exact`."""
        if not exact and (self.due or self.at_line_start or self.after_space):
            text = text.lstrip(" ")
        if not text:
            return
        if self.due and self.pieces:
            self.pieces.append("\n" * self.due)
        self.due = 0
        self.pieces.append(text)
        self.at_line_start = text.endswith("\n")
        self.after_space = text.endswith(" ")

    def text(self) -> str:
        """Return the lines, without blanks at their ends and with one empty line at most between two."""
        joined = _TRAILING.sub("\n", "".join(self.pieces) + "\n")
        return _BLANK_LINES.sub("\n\n", joined).strip("\n").rstrip()


class Page:
    """Where a renderer writes."""

    def __init__(self) -> None:
        self.lines = _Lines()
        self.frames: list[tuple[_Lines, str, str]] = []
        self.rows: list[tuple[_Lines, list[str]]] = []
        self.cells: list[_Lines | None] = []
        self.frames_passed_over = 0
        self.rows_passed_over = 0

    def write(self, text: str, *, exact: bool = False) -> None:
        """Append text to the innermost frame."""
        self.lines.write(text, exact=exact)

    def block(self, *, blank: bool = False) -> None:
        """End the line if anything is on it."""
        self.lines.block(blank=blank)

    def newline(self) -> None:
        """Break the line."""
        self.lines.newline()

    def open(self, first: str, other: str) -> None:
        """Begin a frame whose first line is led in by `first` and the others by `other`."""
        if len(self.frames) >= NESTED:
            self.frames_passed_over += 1
            return
        self.frames.append((self.lines, first, other))
        self.lines = _Lines()

    def close(self) -> None:
        """End the innermost frame and place its lines."""
        if self.frames_passed_over:
            self.frames_passed_over -= 1
            return
        text = self.lines.text()
        self.lines, first, other = self.frames.pop()
        if text:
            indented = text.replace("\n", f"\n{other}")
            self.lines.write(_TRAILING.sub("\n", f"{first}{indented}"), exact=True)

    def open_row(self) -> None:
        """Begin a table row."""
        if len(self.rows) >= NESTED:
            self.rows_passed_over += 1
            return
        self.rows.append((self.lines, []))

    def close_row(self) -> None:
        """End the row: cells of one line stand side by side, others below one another."""
        if self.rows_passed_over:
            self.rows_passed_over -= 1
            return
        self.lines, cells = self.rows.pop()
        said = [cell for cell in cells if cell]
        side_by_side = len(said) > 1 and not any("\n" in cell for cell in said)
        self.lines.write((" | " if side_by_side else "\n").join(said), exact=True)

    def open_cell(self) -> None:
        """Begin a cell; one outside of a row, or nested too deep, is a block."""
        if not self.rows or self.rows_passed_over or len(self.cells) >= NESTED:
            self.cells.append(None)
            return
        self.cells.append(self.lines)
        self.lines = _Lines()

    def close_cell(self) -> None:
        """End a cell."""
        outer = self.cells.pop()
        if outer is None:
            self.lines.block(blank=False)
            return
        text = self.lines.text()
        self.lines = outer
        self.rows[-1][1].append(text)

    def finish(self) -> str:
        """Return everything written."""
        return self.lines.text()
