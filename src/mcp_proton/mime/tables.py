"""Separated values (RFC 4180 and what is written instead) → text, one row a line."""

from __future__ import annotations

import csv

from .characters import line
from .notices import Decoded, Notice

MOST_ROWS = 2_000
MOST_CELLS = 200
LONGEST_CELL = 500

_SEPARATORS = ",;\t|"


def to_text(text: str) -> Decoded:
    """Return rows as lines with ` | ` between cells. Never raises; what is beyond the limits is reported."""
    notices: set[str] = set()
    separator = _separator(text[:20_000])
    rows: list[str] = []
    try:
        for row in csv.reader(text.replace("\0", "").splitlines(keepends=True), delimiter=separator):
            if len(rows) >= MOST_ROWS:
                notices.add(Notice.TRUNCATED)
                break
            if len(row) > MOST_CELLS or any(len(cell) > LONGEST_CELL for cell in row):
                notices.add(Notice.TRUNCATED)
            rows.append(" | ".join(line(cell[:LONGEST_CELL]) for cell in row[:MOST_CELLS]))
    except csv.Error:
        notices.add(Notice.TRUNCATED)
    return Decoded("\n".join(rows).strip(), frozenset(notices))


def _separator(sample: str) -> str:
    """Choose the mark that cuts the first lines into the same number of cells, most cells first."""
    lines = [said for said in sample.split("\n")[:20] if said.strip()]
    best = (0, ",")
    for mark in _SEPARATORS:
        counts = [said.count(mark) for said in lines]
        alike = max((counts.count(count) * min(count, 50) for count in set(counts) if count), default=0)
        best = max(best, (alike, mark), key=lambda scored: scored[0])
    return best[1]
