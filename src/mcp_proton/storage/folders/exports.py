"""One file into a folder the owner opened: no link leads out of it, nothing in it is overwritten.

Where the system has them, folders are held open and walked name by name without following links, so that nobody can
swap one for a link between the look and the write.
"""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_proton.domain.errors import OutOfBounds
from mcp_proton.storage.files import sync_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import BinaryIO

_HELD = os.open in os.supports_dir_fd and hasattr(os, "O_DIRECTORY")
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
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

    def read(self, name: str) -> int:
        """Open a plain file for reading and return its descriptor. OSError for a link, pipe, device or folder."""
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
        found = os.open(self._name(name), flags, dir_fd=self.descriptor)
        if not stat.S_ISREG(os.fstat(found).st_mode):
            os.close(found)
            raise FileNotFoundError(2, "this is no plain file")
        return found

    def below(self, name: str) -> Folder:
        """Open the folder of that name in this one. OSError for a link, or where there is none."""
        return _step(self, name)

    def append(self, name: str) -> int:
        """Open a file that is there, for reading and writing, and return its descriptor. No link, pipe or device."""
        flags = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
        found = os.open(self._name(name), flags, dir_fd=self.descriptor)
        if not stat.S_ISREG(os.fstat(found).st_mode):
            os.close(found)
            raise FileExistsError(17, "this is no plain file")
        return found

    def within(self, name: str) -> Folder:
        """Open the folder of that name in this one; a new one where there is none."""
        with suppress(FileExistsError):
            os.mkdir(self._name(name), 0o700, dir_fd=self.descriptor)
        return _step(self, name)

    def sizes(self) -> dict[str, int]:
        """Return the sizes of the plain files in it, by name."""
        found: dict[str, int] = {}
        with os.scandir(self.path if self.descriptor is None else self.descriptor) as entries:
            for entry in entries:
                if entry.is_file(follow_symlinks=False):
                    found[entry.name] = entry.stat(follow_symlinks=False).st_size
        return found

    def names(self) -> list[str]:
        """Return the names of all that is in it, sorted."""
        with os.scandir(self.path if self.descriptor is None else self.descriptor) as entries:
            return sorted(entry.name for entry in entries)

    def look(self, name: str) -> os.stat_result:
        """Return what is known of a name; of a link, not of where it leads. OSError where it is nothing's."""
        return os.lstat(self._name(name), dir_fd=self.descriptor)

    def holds(self, name: str) -> bool:
        """Whether something has that name, be it a link that leads nowhere."""
        try:
            self.look(name)
        except FileNotFoundError:
            return False
        return True

    def same(self, one: str, other: str) -> bool:
        """Whether two names are of one file."""
        try:
            return os.path.samestat(self.look(one), self.look(other))
        except FileNotFoundError:
            return False

    def discard(self, name: str) -> None:
        """Delete a folder, if there is nothing in it."""
        with suppress(OSError):
            os.rmdir(self._name(name), dir_fd=self.descriptor)

    def replace(self, old: str, new: str) -> None:
        """Give a file another name; one that is there under it is replaced."""
        os.replace(self._name(old), self._name(new), src_dir_fd=self.descriptor, dst_dir_fd=self.descriptor)

    def settle(self, old: str, new: str) -> None:
        """Give a file its name. FileExistsError when the name is taken, by a link too: nothing is replaced."""
        here = self.descriptor
        try:
            os.link(self._name(old), self._name(new), src_dir_fd=here, dst_dir_fd=here, follow_symlinks=False)
        except FileExistsError:
            raise
        except (OSError, NotImplementedError):
            self._settle_unlinked(old, new)
        else:
            self.remove(old)

    def _settle_unlinked(self, old: str, new: str) -> None:
        """The same on a file system without hard links: by an empty file of ours, which is replaced."""
        os.close(self.create(new))
        try:
            self.replace(old, new)
        except OSError:
            self.remove(new)
            raise

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
        name = self._settled()
        self._finished = True
        sync_folder(self._folder.path)
        return self._folder.path / name

    def close(self) -> None:
        """Leave nothing behind that was not finished."""
        if not self._finished:
            with suppress(OSError):
                self._folder.remove(self._hidden)
        self._folder.close()

    def _settled(self) -> str:
        for name in alike(self._name):
            with suppress(FileExistsError):
                self._folder.settle(self._hidden, name)
                return name
        raise FileExistsError(17, "too many files of that name")


def alike(name: str) -> Iterator[str]:
    """Yield a name, and then others like it: `a.eml`, `a (1).eml` …"""
    stem, dot, extension = name.rpartition(".")
    if not stem:
        stem, dot, extension = name, "", ""
    yield name
    for number in range(1, _MOST_NAMES):
        yield f"{stem} ({number}){dot}{extension}"


def open_folder(directory: Path, allowed: Sequence[Path], key: str = "export_directories") -> Folder:
    """Open a folder of the owner's. `OutOfBounds` unless, with every link followed, it is one of those allowed or below one."""
    what = "exports" if key == "export_directories" else "imports"
    refused = OutOfBounds(
        f"this folder is not open for {what}", next=f"ask the owner to add it to `{key}` in policy.toml"
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
    here = Folder(top, os.open(top, _FOLDER))
    for name in below:
        try:
            inner = _step(here, name)
        finally:
            here.close()
        here = inner
    return here


def _step(folder: Folder, name: str) -> Folder:
    path = folder.path / name
    if folder.descriptor is None:
        if path.is_symlink() or not path.is_dir():
            raise NotADirectoryError(20, "not a folder")
        return Folder(path, None)
    return Folder(path, os.open(name, _FOLDER, dir_fd=folder.descriptor))
