"""FileSightings: what was last seen of an account's sync, a small file each in the state folder. Nothing of mail is in it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from mcp_proton.domain.complaint import Misconfigured
from mcp_proton.storage.files import read_owned, write_private

if TYPE_CHECKING:
    from pathlib import Path


class FileSightings:
    """Sightings in `folder`. A full disk or a damaged file costs a sign, and raises nothing."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def load(self, account: str) -> str | None:
        """What was saved."""
        with suppress(OSError, Misconfigured):
            return (await asyncio.to_thread(read_owned, self._file(account)))[0]
        return None

    async def save(self, account: str, text: str) -> None:
        """Keep it in the place of what was saved before."""
        with suppress(OSError):
            await asyncio.to_thread(write_private, self._file(account), text.encode())

    def _file(self, account: str) -> Path:
        return self._folder / f"{account}.json"
