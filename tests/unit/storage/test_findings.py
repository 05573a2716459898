"""What trials showed, kept in the state folder (N-8)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from mcp_proton.domain.findings import Finding, Trace
from mcp_proton.storage.findings import FileFindings

if TYPE_CHECKING:
    from pathlib import Path

NOW = datetime(2026, 12, 1, tzinfo=UTC)
MOVED, LOST = Finding("move", True, NOW), Finding("label", False, NOW, "it is in no place")


async def test_findings_are_kept_by_account_and_version(tmp_path: Path) -> None:
    """N-8."""
    book = FileFindings(tmp_path / "findings")
    assert book.of("me", "3.27.0") == {}
    await book.record("me", "3.27.0", MOVED)
    await book.record("me", "3.27.0", LOST)
    await book.record("me", "3.28.0", MOVED)
    again = FileFindings(tmp_path / "findings")
    assert again.of("me", "3.27.0") == {"move": MOVED, "label": LOST}
    assert again.of("me", "3.28.0") == {"move": MOVED}
    assert again.of("other", "3.27.0") == {}


async def test_what_one_process_finds_holds_in_another_at_once(tmp_path: Path) -> None:
    """N-8: disproved families fall to Deny at once."""
    one, other = FileFindings(tmp_path), FileFindings(tmp_path)
    assert other.of("me", "3.27.0") == {}
    await one.record("me", "3.27.0", LOST)
    assert other.of("me", "3.27.0") == {"label": LOST}
    assert other.of("me", "3.27.0") is other.of("me", "3.27.0"), "read when it changed, and not each time"


@pytest.mark.parametrize("text", ["", "{", "[]", '{"3.27.0": {"move": {}}}', '{"3.27.0": 1}', "\udcff"])
async def test_what_cannot_be_understood_proves_nothing(text: str, tmp_path: Path) -> None:
    """N-8: None, which is less than nothing found."""
    (tmp_path / "me.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    assert FileFindings(tmp_path).of("me", "3.27.0") is None


async def test_the_trace_of_a_trial_outlives_the_process_until_it_is_gone(tmp_path: Path) -> None:
    """N-8: what is about to be made is written down before."""
    book = FileFindings(tmp_path / "findings")
    assert book.trace("me") is None
    await book.forget("me")
    await book.keep("me", Trace("abc", "3.27.0"))
    await book.keep("me", Trace("abc", "3.27.0", "1.2.x"))
    assert FileFindings(tmp_path / "findings").trace("me") == Trace("abc", "3.27.0", "1.2.x")
    await book.forget("me")
    assert FileFindings(tmp_path / "findings").trace("me") is None
