"""Every row of the requirements that is met today is named by a test, in the file where it would fail."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
MET = """
P-01 P-02 P-03 P-04 P-05 P-07 P-08 P-09 P-10 P-11 P-12 P-13 P-14 P-15 P-16 P-17 P-19 P-20 P-21 P-22 P-23
P-30 P-31 P-32 P-33 P-34 P-35 P-36 P-37 P-38 P-40 P-41 P-50 P-51 P-52 P-53 P-54 P-65 P-70 J-135 J-138
P-80 P-81 P-82 P-83 P-84 P-86 P-90 P-91 P-94 P-95 P-98
B-01 B-02 B-03 B-09 N-3 N-10 N-11 N-15
J-01 J-04 J-05 J-06 J-07 J-08 J-09 J-10 J-11 J-12 J-13 J-14 J-43 J-44 J-45 J-46 J-47 J-48 J-80 J-105 J-131
J-120 J-121 J-122 J-123 A-60 A-61 A-62 A-63 A-64 A-65 A-67 A-68 A-69 A-70 A-72
P-18 P-39 P-55 P-56 P-57 P-58 P-61 P-62 P-76 P-85 P-93 P-97 N-5 N-6 N-9 N-16 N-17 A-11 A-12 A-15 A-16 A-17 A-18
A-19 A-90 A-91 A-92 A-93 A-94 A-95 J-16 J-17 J-18 J-19 J-20 J-21 J-22 J-23 J-32 J-33 J-34 J-35 J-36 J-37 J-38 J-39
J-40 J-41 J-42 J-81 J-82 J-87 J-89 J-100 J-101 J-102 J-130 J-134 A-31 B-07 B-08 N-8 N-18
P-59 P-63 A-13 A-14 A-24 J-30 J-31 B-05 B-06
P-60 P-92 J-02 J-03 A-42 A-46 A-20 A-21 A-22 A-23 A-25 A-40 A-41 A-43 A-44 A-45 A-47 J-24 J-25 J-28 J-29 J-137 N-2 N-7 B-04
J-15 J-60 J-61 J-62 J-63 J-64 J-65 J-66 J-67 J-68 J-69 J-70 J-71 J-72 J-73 J-74 J-75 J-76 J-90 N-4
J-103 J-106 N-12 J-132 J-133
J-26 J-27 J-110 J-111
N-1 N-13
A-83 A-84
A-30 A-32 A-33 J-84 J-85 J-86 J-88 J-92
J-04 J-05 J-06 J-07 J-09 J-11 J-12 J-13 J-14 J-48 A-01 A-02 A-03 A-04 A-05 A-06 A-07 A-08 A-09 A-10
A-50 A-51 A-52 A-53 A-54 A-55
J-83 J-91 J-104 A-66 A-71 A-80 A-81 A-82 A-85 A-86
A-30 A-32 A-33 A-34 J-84 J-85 J-86 J-88 J-92 J-93
""".split()  # noqa: SIM905 - easier to read and edit than a list


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
