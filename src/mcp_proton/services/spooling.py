"""Spooling: mail on its way, in a file without a name that nobody else can open and that ends with the process."""

from __future__ import annotations

import asyncio
import hashlib
import tempfile
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import BinaryIO

from mcp_proton.domain.errors import Unavailable

CHUNK = 64 << 10
_GATHERED = 512 << 10


class Spooled:
    """A whole message, or an attachment, on disk: the `Octets` of what is sent. `sha256` is the digest of its octets."""

    def __init__(self, file: BinaryIO, size: int, sha256: str) -> None:
        self._file = file
        self._turn = threading.Lock()
        self.size = size
        self.sha256 = sha256

    @property
    def descriptor(self) -> int:
        """The open file itself, for as long as it is held."""
        return self._file.fileno()

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the octets from the start. Readers may take turns, each with a place of its own."""
        at = 0
        while chunk := await asyncio.to_thread(self._read, at):
            at += len(chunk)
            yield chunk

    def _read(self, at: int) -> bytes:
        with self._turn:
            self._file.seek(at)
            return self._file.read(CHUNK)


@asynccontextmanager
async def spooled(octets: AsyncIterator[bytes], folder: Path | None) -> AsyncIterator[Spooled]:
    """Hold what is sent or read. `Unavailable` (`storage_unavailable`) when the disk does not take it."""
    file = await asyncio.to_thread(_made, folder)
    try:
        digest, size, waiting = hashlib.sha256(), 0, bytearray()
        async for chunk in octets:
            digest.update(chunk)
            size += len(chunk)
            waiting += chunk
            if len(waiting) >= _GATHERED:
                await asyncio.to_thread(_write, file, bytes(waiting))
                waiting.clear()
        await asyncio.to_thread(_write, file, bytes(waiting))
        yield Spooled(file, size, digest.hexdigest())
    finally:
        file.close()


def _made(folder: Path | None) -> BinaryIO:
    try:
        return tempfile.TemporaryFile(dir=folder, buffering=0)
    except OSError as error:
        raise _unavailable(error) from None


def _write(file: BinaryIO, octets: bytes) -> None:
    try:
        left = memoryview(octets)
        while left:
            left = left[file.write(left) :]
    except OSError as error:
        raise _unavailable(error) from None


def _unavailable(error: OSError) -> Unavailable:
    return Unavailable(
        f"it cannot be put on the disk ({error.strerror})",
        code="storage_unavailable",
        next="nothing was sent or changed; see that there is room on the disk",
    )
