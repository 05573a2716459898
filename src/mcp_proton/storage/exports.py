"""One file into a folder the owner opened: no link leads out of it, nothing in it is overwritten.

Where the system has them, folders are held open and walked name by name without following links, so that nobody can
swap one for a link between the look and the write.
"""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_proton.domain.errors import OutOfBounds

from .files import sync_folder

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import BinaryIO

_HELD = os.open in os.supports_dir_fd and hasattr(os, "O_DIRECTORY")
_MOST_NAMES = 1_000


class Folder:
    """A folder held open (`descriptor`), or named by path where the system cannot hold one."""

    def __init__(self, path: Path, descriptor: int | None) -> None:
        self.path = path
        self.descriptor = descriptor

    def create(self, name: str) -> int:
        """Make a new file and return its descriptor. FileExistsError when the name is taken, by a link too."""
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
        return os.open(self._name(name), flags, 0o600, dir_fd=self.descriptor)

    def replace(self, old: str, new: str) -> None:
        """Give a file another name; one that is there under it is replaced."""
        os.replace(self._name(old), self._name(new), src_dir_fd=self.descriptor, dst_dir_fd=self.descriptor)

    def remove(self, name: str) -> None:
        """Delete a file; one that is not there is gone already."""
        with suppress(FileNotFoundError):
            os.unlink(self._name(name), dir_fd=self.descriptor)

    def close(self) -> None:
        """Let go of the folder."""
        if self.descriptor is not None:
            os.close(self.descriptor)
            self.descriptor = None

    def _name(self, name: str) -> str:
        return name if self.descriptor is not None else str(self.path / name)


class Export:
    """A file on its way into a folder: under a hidden name first, under its own when it is complete."""

    def __init__(self, folder: Folder, name: str) -> None:
        self._folder = folder
        self._name = name
        self._hidden = f".{secrets.token_hex(8)}.part"
        self._finished = False

    def begin(self) -> BinaryIO:
        """Return the file to write to."""
        return os.fdopen(self._folder.create(self._hidden), "wb", buffering=0)

    def finish(self) -> Path:
        """Give the file its name, or the next free one like it, and return where it is."""
        name = self._reserved()
        try:
            self._folder.replace(self._hidden, name)
        except OSError:
            self._folder.remove(name)
            raise
        self._finished = True
        sync_folder(self._folder.path)
        return self._folder.path / name

    def close(self) -> None:
        """Leave nothing behind that was not finished."""
        if not self._finished:
            with suppress(OSError):
                self._folder.remove(self._hidden)
        self._folder.close()

    def _reserved(self) -> str:
        """Take a free name by making an empty file of it: only a file of ours is ever replaced."""
        stem, dot, extension = self._name.rpartition(".")
        if not stem:
            stem, dot, extension = self._name, "", ""
        for number in range(_MOST_NAMES):
            name = f"{stem} ({number}){dot}{extension}" if number else self._name
            with suppress(FileExistsError):
                os.close(self._folder.create(name))
                return name
        raise FileExistsError(17, "too many files of that name")


def open_folder(directory: Path, allowed: Sequence[Path]) -> Folder:
    """Open an export folder. `OutOfBounds` unless, with every link followed, it is one of those allowed or below one."""
    refused = OutOfBounds(
        "this folder is not open for exports", next="ask the owner to add it to `export_directories` in policy.toml"
    )
    if not directory.is_absolute() or ".." in directory.parts:
        raise refused
    real = Path(os.path.realpath(directory))
    for root in allowed:
        top = Path(os.path.realpath(root))
        if real.is_relative_to(top):
            try:
                return _walk(top, real.relative_to(top).parts)
            except OSError:
                raise refused from None
    raise refused


def _walk(top: Path, below: Sequence[str]) -> Folder:
    path = top.joinpath(*below)
    if not _HELD:
        if not path.is_dir():
            raise NotADirectoryError(20, "not a folder")
        return Folder(path, None)
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | getattr(os, "O_CLOEXEC", 0)
    here = os.open(top, flags)
    for name in below:
        try:
            inner = os.open(name, flags, dir_fd=here)
        finally:
            os.close(here)
        here = inner
    return Folder(path, here)
