"""FileDateIndexes: the order by date of mailboxes, kept between runs as one small file each.

A mere memory in the cache folder: no subject, no address, only which UID came when. Anything in it may be forgotten at
any time, so nothing here raises. The owner can switch it off, and then nothing is kept and nothing is left.
"""

from __future__ import annotations

import asyncio
import re
import shutil
import struct
from contextlib import suppress
from typing import TYPE_CHECKING

from mcp_proton.domain.handles import SLUG
from mcp_proton.storage.files import write_private

if TYPE_CHECKING:
    from pathlib import Path

_HEAD = struct.Struct(">4sQ")
_MAGIC = b"mpd1"
_NAME = re.compile(rf"{SLUG}\.[a-z2-7]{{6}}")
MOST_OCTETS = 16 << 20


class FileDateIndexes:
    """Indexes in `folder`, at most `most_octets` of them together: the ones unused longest go first."""

    def __init__(self, folder: Path, *, enabled: bool = True, most_octets: int = 128 << 20) -> None:
        self._folder = folder
        self._enabled = enabled
        self._most = most_octets
        if not enabled:
            self.forget()

    async def load(self, account: str, tag: str, uidvalidity: int) -> bytes | None:
        """Return what was saved for this mailbox in this generation, None when there is nothing."""
        if not self._enabled:
            return None
        return await asyncio.to_thread(self._load, account, tag, uidvalidity)

    async def save(self, account: str, tag: str, uidvalidity: int, octets: bytes) -> None:
        """Keep an index in the place of what was saved for this mailbox before."""
        if self._enabled and len(octets) <= MOST_OCTETS:
            await asyncio.to_thread(self._save, account, tag, uidvalidity, octets)

    def forget(self, account: str | None = None) -> None:
        """Delete the indexes of an account, or all of them."""
        if account is None:
            shutil.rmtree(self._folder, ignore_errors=True)
            return
        for path in self._files():
            if path.name.partition(".")[0] == account:
                path.unlink(missing_ok=True)

    def _load(self, account: str, tag: str, uidvalidity: int) -> bytes | None:
        path = self._path(account, tag)
        if path is None:
            return None
        try:
            content = path.read_bytes()
            path.touch()
        except OSError:
            return None
        if len(content) < _HEAD.size or _HEAD.unpack_from(content) != (_MAGIC, uidvalidity):
            return None
        return content[_HEAD.size :]

    def _save(self, account: str, tag: str, uidvalidity: int, octets: bytes) -> None:
        path = self._path(account, tag)
        if path is None or not 0 <= uidvalidity < 1 << 64:
            return
        with suppress(OSError):
            write_private(path, _HEAD.pack(_MAGIC, uidvalidity) + octets)
            self._make_room()

    def _make_room(self) -> None:
        found = sorted(((path.stat(), path) for path in self._files()), key=lambda one: one[0].st_mtime_ns)
        total = sum(stat.st_size for stat, _ in found)
        for stat, path in found[:-1]:
            if total <= self._most:
                return
            path.unlink(missing_ok=True)
            total -= stat.st_size

    def _files(self) -> list[Path]:
        try:
            return [path for path in self._folder.iterdir() if _NAME.fullmatch(path.name)]
        except OSError:
            return []

    def _path(self, account: str, tag: str) -> Path | None:
        name = f"{account}.{tag}"
        return self._folder / name if _NAME.fullmatch(name) else None
