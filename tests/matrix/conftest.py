"""What the cells share: the program that forks the processes that are hit, and an empty store to begin from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcp_proton.storage.migrating import migrate
from tests.matrix.process import Nursery

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    made = Nursery()
    yield made
    made.close()


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that nothing was written to yet."""
    path = tmp_path_factory.mktemp("template") / "store.sqlite3"
    migrate(path)
    return path
