"""FileExport: messages into files, in three steps that run beside each other: read, write, make durable and note.

INVARIANT: a message is on the disk before the manifest says so. What fails leaves nothing behind that is counted on.
"""

from __future__ import annotations

import asyncio
import hashlib
from contextlib import suppress
from typing import TYPE_CHECKING

from mcp_proton.domain.errors import MailError, NotFound, Stale
from mcp_proton.domain.transfer import Form, Written
from mcp_proton.storage.files import on_disk, refused
from mcp_proton.storage.folders.mail_exports import Letters, Mbox, described
from mcp_proton.storage.folders.manifests import Manifest

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence
    from pathlib import Path

    from mcp_proton.domain.mail import Envelope
    from mcp_proton.domain.transfer import Whole
    from mcp_proton.storage.folders.exports import Folder
    from mcp_proton.storage.folders.mail_exports import Shelf
    from mcp_proton.storage.folders.manifests import Line

MANIFEST = ".manifest.jsonl"
SMALL = 1 << 20
"""A message up to this size is written together with others."""
TOGETHER = 4 << 20
MOST_TOGETHER = 125
LEAST_TOGETHER = 512 << 10
"""A group this large is written when the disk has nothing else to do: it sets the pace, and the first has not to wait."""


class FileExport:
    """An export being written; see the port's Export."""

    def __init__(self, folder: Folder, name: str, form: Form) -> None:
        self._folder = folder
        self._small: list[tuple[Envelope, bytes]] = []
        self._weight = 0
        self._writing: asyncio.Task[None] | None = None
        self._noting: asyncio.Task[None] | None = None
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
        self._certain = list(self._shelf.kept)
        self._files = {line.sha256: line for line in self._certain}
        self._noted = {line.sha256 for line in self._manifest.lines}
        self.written = {line.handle: _written(line) for line in self._certain}

    @property
    def path(self) -> Path:
        """The folder or file it is when it is finished."""
        return self._shelf.path

    @property
    def manifest(self) -> Path:
        """The file beside it."""
        return self._manifest.path

    async def add(self, messages: AsyncIterator[Whole]) -> None:
        """Write some more; see the port."""
        try:
            try:
                async for message in messages:
                    await self._take(message)
            finally:
                try:
                    await self._flush()
                finally:
                    await self._settle()
        except MailError:
            with suppress(OSError):
                await asyncio.to_thread(self._rewind)
            raise

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
        pieces: list[bytes] = []
        size = 0
        try:
            async for chunk in message.octets:
                pieces.append(chunk)
                size += len(chunk)
                if size > SMALL:
                    await self._flush()
                    await self._settle()
                    await self._stream(message, b"".join(pieces))
                    return
        except (Stale, NotFound):
            return
        self._small.append((message.envelope, pieces[0] if len(pieces) == 1 else b"".join(pieces)))
        self._weight += size
        if self._weight >= TOGETHER or len(self._small) >= MOST_TOGETHER or self._may_begin():
            await self._flush()

    def _may_begin(self) -> bool:
        busy = any(task is not None and not task.done() for task in (self._writing, self._noting))
        return self._weight >= LEAST_TOGETHER and not busy

    async def _stream(self, message: Whole, begun: bytes) -> None:
        digest, size = hashlib.sha256(), 0

        def write(chunk: bytes) -> None:
            digest.update(chunk)
            self._shelf.write(chunk)

        await on_disk(lambda: self._shelf.begin(message.envelope))
        try:
            await on_disk(lambda: write(begun))
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
        await on_disk(lambda: self._end(message.envelope, size, digest.hexdigest()))

    async def _flush(self) -> None:
        """Begin to write what is kept, when what was before it is written. INVARIANT: nothing follows what failed."""
        group, self._small, self._weight = self._small, [], 0
        writing, self._writing = self._writing, None
        if writing is not None:
            await writing
        if group:
            self._writing = asyncio.get_running_loop().create_task(self._write(group))

    async def _settle(self) -> None:
        """Wait until all that was begun is noted."""
        writing, self._writing = self._writing, None
        try:
            if writing is not None:
                await writing
        finally:
            noting, self._noting = self._noting, None
            if noting is not None:
                await noting

    async def _write(self, group: Sequence[tuple[Envelope, bytes]]) -> None:
        """Write a group; have it noted when the one before it is, while the next one is written."""
        lines, error = await on_disk(lambda: self._put(group))
        harden = self._shelf.hardening()
        noting, self._noting = self._noting, None
        if noting is not None:
            await noting
        self._noting = asyncio.get_running_loop().create_task(on_disk(lambda: self._note(lines, harden)))
        if error is not None:
            raise refused(error)

    def _put(self, group: Sequence[tuple[Envelope, bytes]]) -> tuple[list[Line], OSError | None]:
        """Write what the disk takes; return the lines of it, and what stood in the way of the rest."""
        lines: list[Line] = []
        for envelope, octets in group:
            sha256 = hashlib.sha256(octets).hexdigest()
            line = self._again(envelope, sha256)
            try:
                if line is None:
                    line = self._files[sha256] = self._shelf.put(envelope, octets, sha256)
            except OSError as error:
                self._shelf.drop()
                return lines, error
            lines.append(line)
        return lines, None

    def _again(self, envelope: Envelope, sha256: str) -> Line | None:
        """The line for octets that are in the export already."""
        known = self._files.get(sha256)
        if known is None:
            return None
        return described(envelope, known.file, known.size, sha256, at=known.at, length=known.length)

    def _end(self, envelope: Envelope, size: int, sha256: str) -> None:
        line = self._again(envelope, sha256)
        if line is None:
            line = self._files[sha256] = self._shelf.end(envelope, size, sha256)
        else:
            self._shelf.drop()
        self._note([line], self._shelf.hardening())

    def _note(self, lines: Sequence[Line], harden: Callable[[], None]) -> None:
        if not lines:
            return
        harden()
        self._manifest.add(lines)
        self._certain += lines
        for line in lines:
            self.written[line.handle] = _written(line, again=line.sha256 in self._noted)
            self._noted.add(line.sha256)

    def _rewind(self) -> None:
        """Forget what was written and not noted."""
        self._files = {line.sha256: line for line in self._certain}
        self._shelf.rewind(self._certain)


def _written(line: Line, *, again: bool = False) -> Written:
    return Written(line.handle, line.file, line.size, line.sha256, again)
