"""The owner's files on disk: private folders, whole writes, and no reading of what others could have written."""

from __future__ import annotations

import asyncio
import os
import secrets
import stat
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from mcp_proton.domain.complaint import Complaint, Misconfigured
from mcp_proton.domain.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_MOST = 1 << 20
_POSIX = os.name == "posix"

T = TypeVar("T")
Stamp = tuple[int, int, int, int]
"""What of a file changes when its content does."""


def private_folder(path: Path) -> Path:
    """Make a folder (and those above it) that only the owner may enter, and return it."""
    if not path.parent.exists():
        private_folder(path.parent)
    path.mkdir(mode=0o700, exist_ok=True)
    if _POSIX and stat.S_IMODE(path.stat().st_mode) & 0o077 and path.stat().st_uid == os.getuid():
        path.chmod(0o700)
    return path


def write_private(path: Path, content: bytes) -> None:
    """Put content in place as a whole, readable by the owner only, or leave everything as it was. Durable on return."""
    if not path.parent.is_dir():
        private_folder(path.parent)
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        handle = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    except BaseException:
        with suppress(OSError):
            unfinished.unlink()
        raise
    sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Make a rename in a folder durable, where the system can."""
    if not _POSIX:
        return
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def begin_writing(file: int) -> None:
    """Have what is in a file on its way to the disk, where the system can (Linux): a later `fsync` waits less."""
    if _POSIX and hasattr(os, "posix_fadvise"):
        with suppress(OSError):
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)


def stamp(path: Path) -> Stamp | None:
    """Return a file's stamp, or None when it is not there."""
    try:
        found = path.stat()
    except OSError:
        return None
    return _stamp(found)


def read_owned(path: Path) -> tuple[str, Stamp]:
    """Return the text of a file of the owner's, with its stamp. FileNotFoundError when it is not there.

    `Misconfigured` when others may write it (who writes the rules makes the rules), or when it is not text of at most
    1 MiB.
    """
    with path.open("rb") as file:
        found = os.fstat(file.fileno())
        _check_writers(path, found)
        content = file.read(_MOST + 1)
    if len(content) > _MOST:
        raise Misconfigured([Complaint((), "is larger than 1 MiB", path.name)])
    try:
        return content.decode("utf-8-sig"), _stamp(found)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise Misconfigured([Complaint((), "is not UTF-8", path.name, line)]) from None


def _check_writers(path: Path, found: os.stat_result) -> None:
    if not _POSIX:
        return
    if found.st_uid not in (os.getuid(), 0):
        raise Misconfigured([Complaint((), "belongs to somebody else", path.name)])
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        mode = stat.S_IMODE(found.st_mode)
        raise Misconfigured([Complaint((), f"can be written by others (mode {mode:04o}); chmod 600", path.name)])


def _stamp(found: os.stat_result) -> Stamp:
    return (found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size)


async def on_disk(work: Callable[[], T]) -> T:
    """Work on files in a thread. What the system refuses is `Unavailable`, in words."""
    try:
        return await asyncio.to_thread(work)
    except OSError as error:
        raise refused(error) from None


def refused(error: OSError) -> Unavailable:
    """What the system said of a file, in words."""
    return Unavailable(
        f"the file cannot be written ({error.strerror})",
        code="storage_unavailable",
        next="see that there is room on the disk and that the folder can be written",
    )
