"""A fresh store for each test."""

from __future__ import annotations

import shutil
from datetime import timedelta

import pytest

from mcp_proton.storage.database import Database
from mcp_proton.storage.journals.journal import SqlJournal
from mcp_proton.storage.migrating import migrate

from .worlds import Clock


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def place(tmp_path):
    return tmp_path / "state" / "store.sqlite3"


@pytest.fixture(scope="session")
def template(tmp_path_factory):
    """A fresh store, migrated once for all tests."""
    path = tmp_path_factory.mktemp("template") / "store.sqlite3"
    migrate(path)
    return path


@pytest.fixture
async def database(place, template):
    database = Database(place, lambda path: shutil.copyfile(template, path))
    yield database
    await database.aclose()


@pytest.fixture
async def journal(database, clock):
    journal = SqlJournal(database, clock, timedelta(0))
    yield journal
    await journal.aclose()
