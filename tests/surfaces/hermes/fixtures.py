"""`hermes`: a real agent that has never run before."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.surfaces.hermes.agent import Hermes

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def hermes(tmp_path: Path) -> Hermes:
    home = tmp_path / "hermes-home"
    home.mkdir()
    return Hermes(home)
