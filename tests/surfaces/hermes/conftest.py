"""`trash`: what the agent is told to delete from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.surfaces.hermes.trash import Trash, filled

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def trash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Trash]:
    with filled(tmp_path / "home", monkeypatch, capsys) as one:
        yield one
