"""How every connection to the store is set up."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Protocol

from mcp_proton.storage.files import private_folder

if TYPE_CHECKING:
    from pathlib import Path

BUSY_SECONDS = 10
"""How long a writer waits for another process before it gives up."""

_PRAGMAS = ("foreign_keys = ON", "synchronous = FULL", "secure_delete = ON", "temp_store = MEMORY")


class Cursor(Protocol):
    """As much of a DB-API cursor as is needed here."""

    def execute(self, statement: str, /) -> object:
        """Run one statement."""
        ...

    def close(self) -> object:
        """Let go."""
        ...


def prepare(cursor: Cursor) -> None:
    """Set up one connection: write-ahead log, durable commits, checked references, deleted content overwritten."""
    cursor.execute(f"PRAGMA busy_timeout = {BUSY_SECONDS * 1000}")
    cursor.execute("PRAGMA journal_mode = WAL")
    for pragma in _PRAGMAS:
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def make_file(path: Path) -> None:
    """Make the store's file, the owner's only, where there is none. Its log files take the same mode from it."""
    private_folder(path.parent)
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        return
