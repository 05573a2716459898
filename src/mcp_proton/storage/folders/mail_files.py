"""FileMailFiles: the folders the owner opened for mail in files."""

from __future__ import annotations

import asyncio
import tempfile
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from mcp_proton.domain.errors import NotFound
from mcp_proton.mime.file_names import file_name
from mcp_proton.storage.files import on_disk
from mcp_proton.storage.folders.exports import open_folder
from mcp_proton.storage.folders.mail_sources import Files
from mcp_proton.storage.folders.mail_writing import MANIFEST, FileExport

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence
    from pathlib import Path
    from typing import IO

    from mcp_proton.domain.transfer import Entry, Form


SMALL = 256 << 10
"""A message up to this size is held in memory."""


class FileMailFiles:
    """`exports` and `imports` return the folders that are open for each, as they are now."""

    def __init__(
        self, exports: Callable[[], Sequence[Path]] = tuple, imports: Callable[[], Sequence[Path]] = tuple
    ) -> None:
        self._exports, self._imports = exports, imports

    @asynccontextmanager
    async def export(self, folder: Path, name: str, form: Form) -> AsyncIterator[FileExport]:
        """Begin an export or go on with it; see the port."""
        export = await on_disk(lambda: FileExport(open_folder(folder, self._exports()), file_name(name), form))
        try:
            yield export
        finally:
            await asyncio.to_thread(export.close)

    async def exported(self, folder: Path, name: str, form: Form) -> frozenset[str]:
        """Return the handles of what an export holds; see the port."""

        def look() -> frozenset[str]:
            opened = open_folder(folder, self._exports())
            if not opened.holds(file_name(name) + MANIFEST):
                opened.close()
                return frozenset()
            export = FileExport(opened, file_name(name), form)
            try:
                return frozenset(export.written)
            finally:
                export.close()

        return await on_disk(look)

    @asynccontextmanager
    async def source(self, path: Path) -> AsyncIterator[FileSource]:
        """Open files that hold mail; see the port."""

        def look() -> FileSource:
            allowed = self._imports()
            above = open_folder(path.parent, allowed, "import_directories")
            try:
                return FileSource(Files(above, path.name))
            except BaseException:
                above.close()
                raise

        source = await on_disk(look)
        try:
            yield source
        finally:
            await source.aclose()


class FileSource:
    """Files that hold mail; see the port's Source. While a message is held, the next one is read already."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self.kind, self.stamp = files.kind, files.stamp
        self.entries = [files.entry(number) for number in range(1, len(files.spots) + 1)]
        self._ahead: tuple[Entry, asyncio.Task[HeldOctets]] | None = None

    @asynccontextmanager
    async def held(self, entry: Entry) -> AsyncIterator[HeldOctets]:
        """Hold a message in memory, a large one on disk."""
        octets = await self._take(entry)
        try:
            self._read_ahead(entry.number + 1)
            yield octets
        finally:
            octets.close()

    async def aclose(self) -> None:
        """Let go of the files."""
        await self._drop_ahead()
        self._files.close()

    async def _take(self, entry: Entry) -> HeldOctets:
        ahead = self._ahead
        if ahead is None or ahead[0] is not entry:
            await self._drop_ahead()
            return await on_disk(lambda: self._hold(entry))
        octets = await asyncio.shield(ahead[1])
        self._ahead = None
        return octets

    def _read_ahead(self, number: int) -> None:
        if self._ahead is None and number <= len(self.entries) and self.entries[number - 1].problem is None:
            entry = self.entries[number - 1]
            task = asyncio.get_running_loop().create_task(on_disk(lambda: self._hold(entry)))
            self._ahead = entry, task

    async def _drop_ahead(self) -> None:
        """Whatever became of what was read ahead, nobody asked for it."""
        ahead, self._ahead = self._ahead, None
        if ahead is not None:
            (octets,) = await asyncio.gather(ahead[1], return_exceptions=True)
            if isinstance(octets, HeldOctets):
                octets.close()

    def _hold(self, entry: Entry) -> HeldOctets:
        file = tempfile.SpooledTemporaryFile(max_size=SMALL)  # noqa: SIM115 - closed with what holds it
        try:
            for piece in self._files.pieces(entry):
                file.write(piece)
            return HeldOctets(file, file.tell())
        except FileNotFoundError:
            file.close()
            raise NotFound("this message is no longer in the file", code="changed_elsewhere") from None
        except BaseException:
            file.close()
            raise


class HeldOctets:
    """A whole message, in memory or in a file without a name."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        self._file = file
        self.size = size

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield it in pieces. For one reader at a time."""
        self._file.seek(0)
        while chunk := self._file.read(SMALL):
            yield chunk

    def close(self) -> None:
        """Let go of it."""
        self._file.close()
