"""The page for those who come from elsewhere is true: every operation and test that it names exists, no row is missing."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from mcp_proton.services.door import registry

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/coming-from.md").read_text()
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.splitlines() if re.match(r"\| [JA]-\d", line)
]
CATALOG = registry.load()


@cache
def _defined(path: Path) -> frozenset[str]:
    tree = ast.parse(path.read_text())
    return frozenset(one.name for one in ast.walk(tree) if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef))


def test_no_row_is_missing_or_there_twice() -> None:
    wanted = [f"J-{number:02d}" for number in range(1, 49)] + [f"A-{number:02d}" for number in range(1, 26)]
    wanted += [f"A-{number}" for number in range(50, 56)]
    wanted += ["J-83", "J-91", "J-104", "A-66", "A-71", "A-80", "A-81", "A-82", "A-85", "A-86"]
    assert [row[0] for row in ROWS] == wanted


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_what_a_row_names_exists(row: list[str]) -> None:
    """J-05…J-14, J-47, J-48, A-01…A-10, A-50…A-55 among them."""
    proof = row[-1].strip("`")
    path, _, name = proof.partition("::")
    assert name.startswith("test_")
    assert name in _defined(ROOT / "tests" / path), proof
    if len(row) == 5:
        operations = re.findall(r"`([a-z_]+)`", row[2])
        assert operations
        assert [one for one in operations if one not in CATALOG.by_name] == []
