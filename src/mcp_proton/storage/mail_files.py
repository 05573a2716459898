"""FileMailFiles: the folders the owner opened for mail in files."""

from __future__ import annotations

import asyncio
import hashlib
import tempfile
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from mcp_proton.domain.errors import NotFound, Stale
from mcp_proton.domain.transfer import Form, Written
from mcp_proton.mime.file_names import file_name

from .exports import open_folder
from .files import on_disk
from .mail_exports import Letters, Mbox
from .mail_sources import Files
from .manifests import Manifest

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence
    from pathlib import Path
    from typing import IO

    from mcp_proton.domain.mail import Envelope
    from mcp_proton.domain.transfer import Entry, Whole

    from .exports import Folder
    from .mail_exports import Shelf
    from .manifests import Line

MANIFEST = ".manifest.jsonl"
SMALL = 256 << 10
"""A message up to this size is written together with others."""
TOGETHER = 4 << 20
MOST_TOGETHER = 250


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
            source.close()


class FileSource:
    """Files that hold mail; see the port's Source."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self.kind, self.stamp = files.kind, files.stamp
        self.entries = [files.entry(number) for number in range(1, len(files.spots) + 1)]

    @asynccontextmanager
    async def held(self, entry: Entry) -> AsyncIterator[HeldOctets]:
        """Hold a message in memory, a large one on disk."""

        def hold() -> HeldOctets:
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

        octets = await on_disk(hold)
        try:
            yield octets
        finally:
            octets.close()

    def close(self) -> None:
        """Let go of the files."""
        self._files.close()


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


class FileExport:
    """An export being written; see the port's Export."""

    def __init__(self, folder: Folder, name: str, form: Form) -> None:
        self._folder = folder
        self._small: list[tuple[Envelope, bytes]] = []
        self._weight = 0
        self._writing: asyncio.Task[None] | None = None
        try:
            self._manifest = Manifest(folder, name + MANIFEST, form)
        except BaseException:
            folder.close()
            raise
        try:
            kind, title = (Letters, name) if form is Form.EML else (Mbox, f"{name}.mbox")
            self._shelf: Shelf = kind(folder, title, self._manifest.lines, is_new=self._manifest.is_new)
        except BaseException:
            self._manifest.close(forget=self._manifest.is_new)
            folder.close()
            raise
        self.written = {line.handle: _written(line) for line in self._shelf.kept}
        self._files = {line.sha256: line for line in self._shelf.kept}

    @property
    def path(self) -> Path:
        """The folder or file it is when it is finished."""
        return self._shelf.path

    @property
    def manifest(self) -> Path:
        """The file beside it."""
        return self._manifest.path

    async def add(self, messages: AsyncIterator[Whole]) -> None:
        """Write some more; see the port. While some are written the next ones are read."""
        try:
            async for message in messages:
                await self._take(message)
        finally:
            try:
                await self._flush()
            finally:
                await self._settle()

    async def finish(self) -> None:
        """Give it its final name."""
        await on_disk(self._manifest.sync)
        await on_disk(self._shelf.finish)

    def close(self) -> None:
        """Let go of it. Nothing is left of an export in which nothing is."""
        nothing = False
        try:
            nothing = self._shelf.close(forget=not self._manifest.lines)
        finally:
            self._manifest.close(forget=nothing)
            self._folder.close()

    async def _take(self, message: Whole) -> None:
        """Keep a small message for later, write a large one as it comes. One that vanishes meanwhile is left out."""
        held = bytearray()
        try:
            async for chunk in message.octets:
                held += chunk
                if len(held) > SMALL:
                    await self._flush()
                    await self._settle()
                    await self._stream(message, held)
                    return
        except (Stale, NotFound):
            return
        self._small.append((message.envelope, bytes(held)))
        self._weight += len(held)
        if self._weight >= TOGETHER or len(self._small) >= MOST_TOGETHER:
            await self._flush()

    async def _stream(self, message: Whole, begun: bytearray) -> None:
        digest, size = hashlib.sha256(), 0

        def write(chunk: bytes) -> None:
            digest.update(chunk)
            self._shelf.write(chunk)

        await on_disk(lambda: self._shelf.begin(message.envelope))
        try:
            await on_disk(lambda: write(bytes(begun)))
            size = len(begun)
            async for chunk in message.octets:
                await on_disk(lambda chunk=chunk: write(chunk))  # type: ignore[misc]
                size += len(chunk)
        except (Stale, NotFound):
            await on_disk(self._shelf.drop)
            return
        except BaseException:
            with suppress(OSError):
                await asyncio.to_thread(self._shelf.drop)
            raise
        await on_disk(lambda: self._note([self._end(message.envelope, size, digest.hexdigest())]))

    async def _flush(self) -> None:
        """Begin to write what is kept, when what was before it is written."""
        await self._settle()
        group, self._small, self._weight = self._small, [], 0
        if group:
            self._writing = asyncio.get_running_loop().create_task(on_disk(lambda: self._put(group)))

    async def _settle(self) -> None:
        writing, self._writing = self._writing, None
        if writing is not None:
            await writing

    def _put(self, group: Sequence[tuple[Envelope, bytes]]) -> None:
        lines: list[Line] = []
        try:
            for envelope, octets in group:
                sha256 = hashlib.sha256(octets).hexdigest()
                known = self._files.get(sha256)
                if known is not None:
                    lines.append(_described(replace(known, handle=str(envelope.handle)), envelope))
                    continue
                try:
                    self._shelf.begin(envelope)
                    self._shelf.write(octets)
                    line = self._end(envelope, len(octets), sha256)
                except BaseException:
                    self._shelf.drop()
                    raise
                self._files[sha256] = line
                lines.append(line)
        finally:
            self._note(lines)

    def _end(self, envelope: Envelope, size: int, sha256: str) -> Line:
        known = self._files.get(sha256)
        if known is not None:
            self._shelf.drop()
            return _described(replace(known, handle=str(envelope.handle)), envelope)
        return _described(self._shelf.end(str(envelope.handle), size, sha256), envelope)

    def _note(self, lines: Sequence[Line]) -> None:
        """INVARIANT: the messages are on the disk before the manifest says so."""
        self._shelf.sync()
        known = {line.sha256 for line in self._manifest.lines}
        self._manifest.add(lines)
        for line in lines:
            self.written[line.handle] = _written(line, again=line.sha256 in known)
            known.add(line.sha256)


def _written(line: Line, *, again: bool = False) -> Written:
    return Written(line.handle, line.file, line.size, line.sha256, again)


def _described(line: Line, envelope: Envelope) -> Line:
    when = envelope.received or envelope.date
    return replace(
        line,
        received=when.isoformat() if when else None,
        flags=tuple(sorted(envelope.flags)),
        message_id=envelope.message_id,
    )
