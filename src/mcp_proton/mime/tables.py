"""Separated values (RFC 4180 and what is written instead) → text, one row a line."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

from mcp_proton.mime.decoding.characters import line
from mcp_proton.mime.notices import Notice

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_CELLS = 500
LONGEST_CELL = 5_000

_SEPARATORS = ",;\t|"


class Rows:
    """The rows of a table, as lines with ` | ` between cells. Never raises; what is left out of a row is reported.

    From a quote on that is never closed, lines stand as they are: nothing is lost in a cell that has no end.
    """

    def __init__(self, text: str, notices: set[str]) -> None:
        self._lines = text.replace("\0", "").splitlines(keepends=True)
        self._separator = _separator(text[:20_000])
        self._notices = notices
        self._read = 0

    @property
    def left(self) -> int:
        """How many letters come after the row that was given last."""
        return sum(map(len, self._lines[self._read :]))

    def __iter__(self) -> Iterator[str]:
        reader = csv.reader(self._lines, delimiter=self._separator)
        while True:
            begun = reader.line_num
            try:
                row = next(reader, None)
            except csv.Error:
                break  # a cell without an end
            if row is None:
                return
            if reader.line_num == len(self._lines) and _is_open(self._lines[begun:]):
                break
            self._read = reader.line_num
            yield self._joined(row)
        self._notices.add(Notice.TABLE_DAMAGED)
        for number, said in enumerate(self._lines[begun:], begun + 1):
            self._read = number
            yield line(said)

    def _joined(self, row: list[str]) -> str:
        if len(row) > MOST_CELLS or any(len(cell) > LONGEST_CELL for cell in row):
            self._notices.add(Notice.TRUNCATED)
        return " | ".join(line(cell[:LONGEST_CELL]) for cell in row[:MOST_CELLS])


def _is_open(lines: list[str]) -> bool:
    """Whether the last row, which took these lines, has a quote that was not closed."""
    return len(lines) > 1 and sum(said.count('"') for said in lines) % 2 == 1


def _separator(sample: str) -> str:
    """Choose the mark that cuts the first lines into the same number of cells, most cells first."""
    lines = [said for said in sample.split("\n")[:20] if said.strip()]
    best = (0, ",")
    for mark in _SEPARATORS:
        counts = [said.count(mark) for said in lines]
        alike = max((counts.count(count) * min(count, 50) for count in set(counts) if count), default=0)
        best = max(best, (alike, mark), key=lambda scored: scored[0])
    return best[1]
