"""Every row of the requirements that is met today is named by a test, in the file where it would fail."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
MET = (Path(__file__).parent / "rows_met.txt").read_text().split()


def named() -> dict[str, set[str]]:
    """Return which files name which rows; `P-10…P-13` names all four."""
    found: dict[str, set[str]] = {}
    for path in TESTS.rglob("test_*.py"):
        if path != Path(__file__):
            for row in rows(path.read_text()):
                found.setdefault(row, set()).add(path.name)
    return found


def rows(text: str) -> set[str]:
    found = set(re.findall(r"\b[PJABN]-\d{1,3}\b", text))
    for kind, first, last in re.findall(r"\b([PJABN])-(\d{1,3})(?:…|\.\.\.|–)(?:[PJABN]-)?(\d{1,3})\b", text):
        found |= {f"{kind}-{number:0{len(first)}d}" for number in range(int(first), int(last) + 1)}
    return found


NAMED = named()


@pytest.mark.parametrize("row", MET)
def test_a_row_that_is_met_is_named_by_a_test(row: str) -> None:
    assert NAMED.get(row), f"no test names {row}"
