"""FileArtifacts: octets held for agents, each in a folder of its own under a name nobody can guess; and exports.

An artifact is complete or not there at all; it belongs to its caller; nothing is ever overwritten. Writing streams:
memory does not grow with size. An export goes only into a folder the owner opened, whatever links stand in the way.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import secrets
import shutil
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

from mcp_proton.domain.errors import NotFound, OverLimit
from mcp_proton.domain.ports import Artifact
from mcp_proton.mime.file_names import file_name
from mcp_proton.storage.files import on_disk, private_folder, sync_folder
from mcp_proton.storage.folders.exports import Export, open_folder
from mcp_proton.storage.instants import moment, ticks
from mcp_proton.storage.names import new_id

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence
    from pathlib import Path
    from typing import Any, BinaryIO

    from mcp_proton.domain.caller import Caller
    from mcp_proton.domain.ports import Clock

_ID = re.compile(r"art_[a-z2-7]{16}")
_CHUNK = 256 << 10
_UNFINISHED = timedelta(days=1)


class FileArtifacts:
    """The managed store in `folder` and the owner's export folders (`exports` returns them as they are now).

    `most_octets` bounds the store and any single export; an artifact is forgotten after `keep`.
    """

    def __init__(
        self,
        folder: Path,
        clock: Clock,
        *,
        keep: timedelta = timedelta(days=1),
        most_octets: int = 1 << 30,
        exports: Callable[[], Sequence[Path]] = tuple,
    ) -> None:
        self._folder = folder
        self._clock = clock
        self._keep = keep
        self._most = most_octets
        self._exports = exports

    def name(self) -> str:
        """Return an id for one that is yet to be made; see the port."""
        return new_id("art")

    @asynccontextmanager
    async def create(
        self, caller: Caller, filename: str, media_type: str, *, id: str | None = None
    ) -> AsyncIterator[Writer]:
        """Begin an artifact in the managed store; see the port."""
        unfinished = self._folder / f".new-{secrets.token_hex(8)}"

        def begin() -> tuple[BinaryIO, int]:
            private_folder(unfinished)
            return _new_file(unfinished / "octets"), self._most - self._taken()

        def finish(size: int, sha256: str) -> Artifact:
            made = Artifact(id or self.name(), file_name(filename), media_type, size, sha256)
            told = {**_told(made), "caller": caller.name, "created": ticks(self._clock.now())}
            with _new_file(unfinished / "about.json") as about:
                about.write(json.dumps(told).encode())
                about.flush()
                os.fsync(about.fileno())
            unfinished.rename(self._folder / made.id)
            sync_folder(self._folder)
            return made

        writer = await _opened(begin, finish)
        try:
            yield writer
        finally:
            writer.close()
            await asyncio.to_thread(shutil.rmtree, unfinished, ignore_errors=True)

    @asynccontextmanager
    async def export(self, directory: Path, filename: str, media_type: str) -> AsyncIterator[Writer]:
        """Begin a file in an export folder of the owner's; see the port."""
        export: Export | None = None

        def begin() -> tuple[BinaryIO, int]:
            nonlocal export
            export = Export(open_folder(directory, self._exports()), file_name(filename))
            return export.begin(), self._most

        def finish(size: int, sha256: str) -> Artifact:
            if export is None:
                raise NotFound("the export was not begun")
            path = export.finish()
            return Artifact(new_id("art"), path.name, media_type, size, sha256, path)

        writer = await _opened(begin, finish)
        try:
            yield writer
        finally:
            writer.close()
            if export is not None:
                await asyncio.to_thread(export.close)

    async def find(self, artifact_id: str, caller: Caller) -> Artifact:
        """Return an artifact of this caller's; see the port. The owner finds every one."""
        about = await asyncio.to_thread(self._about, artifact_id) if _ID.fullmatch(artifact_id) else None
        if about is None or not (caller.is_owner or about["caller"] == caller.name) or self._is_over(about):
            raise NotFound("there is no such artifact of yours", code="no_such_artifact")
        return Artifact(about["id"], about["filename"], about["media_type"], about["size"], about["sha256"])

    async def read(self, artifact: Artifact) -> AsyncIterator[bytes]:
        """Yield its octets in chunks of at most 256 KiB."""
        path = artifact.path or self._folder / artifact.id / "octets"
        try:
            file = await asyncio.to_thread(path.open, "rb")
        except OSError:
            raise NotFound("the artifact is no longer there", code="no_such_artifact") from None
        try:
            while chunk := await asyncio.to_thread(file.read, _CHUNK):
                yield chunk
        finally:
            file.close()

    async def purge(self) -> int:
        """Forget what is over and what was left behind by processes that ended; return how many went."""
        return await asyncio.to_thread(self._purge)

    def _purge(self) -> int:
        gone = 0
        oldest = (self._clock.now() - _UNFINISHED).timestamp()
        for path in self._entries():
            about = self._about(path.name) if _ID.fullmatch(path.name) else None
            over = self._is_over(about) if about else path.stat().st_mtime < oldest
            if over:
                shutil.rmtree(path, ignore_errors=True)
                gone += 1
        return gone

    def _taken(self) -> int:
        sizes = [about["size"] for path in self._entries() if (about := self._about(path.name)) is not None]
        return sum(sizes)

    def _entries(self) -> list[Path]:
        try:
            return list(self._folder.iterdir())
        except OSError:
            return []

    def _about(self, artifact_id: str) -> dict[str, Any] | None:
        try:
            found: dict[str, Any] = json.loads((self._folder / artifact_id / "about.json").read_bytes())
        except (OSError, ValueError):
            return None
        return found

    def _is_over(self, about: dict[str, Any]) -> bool:
        return moment(about["created"]) + self._keep <= self._clock.now()


class Writer:
    """An artifact being written; see the port's ArtifactWriter."""

    def __init__(self, file: BinaryIO, room: int, finish: Callable[[int, str], Artifact]) -> None:
        self._file = file
        self._room = room
        self._finish = finish
        self._waiting = bytearray()
        self._hash = hashlib.sha256()
        self._size = 0

    async def write(self, chunk: bytes) -> None:
        """Append octets. `OverLimit` past the owner's ceiling, `Unavailable` when the disk does not take them."""
        self._size += len(chunk)
        if self._size > self._room:
            raise OverLimit("this is larger than what may be kept", next="ask the owner to raise `artifact_megabytes`")
        self._waiting += chunk
        if len(self._waiting) >= _CHUNK:
            await on_disk(self._drain)

    async def done(self) -> Artifact:
        """Make it complete, durable and visible."""
        return await on_disk(self._complete)

    def close(self) -> None:
        """Let go of the file; what was not done is gone."""
        self._waiting.clear()
        self._file.close()

    def _drain(self) -> None:
        self._hash.update(self._waiting)
        self._file.write(self._waiting)
        self._waiting.clear()

    def _complete(self) -> Artifact:
        self._drain()
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        return self._finish(self._size, self._hash.hexdigest())


async def _opened(begin: Callable[[], tuple[BinaryIO, int]], finish: Callable[[int, str], Artifact]) -> Writer:
    file, room = await on_disk(begin)
    return Writer(file, room, finish)


def _new_file(path: Path) -> BinaryIO:
    return os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb", buffering=0)


def _told(made: Artifact) -> dict[str, Any]:
    return {
        "id": made.id,
        "filename": made.filename,
        "media_type": made.media_type,
        "size": made.size,
        "sha256": made.sha256,
    }
