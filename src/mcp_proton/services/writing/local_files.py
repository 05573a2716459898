"""The owner's files on their way in: opened where they really are, whatever links stand in the way (P-95).

A path is resolved once and judged as what it resolves to; opening follows no link, so that nobody can swap a folder for
one between the judgement and the reading.
"""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import AsyncIterator
from pathlib import Path
from typing import BinaryIO

from mcp_proton.domain.errors import Invalid, NotFound

CHUNK = 256 << 10
_HELD = os.open in os.supports_dir_fd and hasattr(os, "O_DIRECTORY")


def real(path: Path) -> Path:
    """Return where a path leads. `Invalid` for a relative one: nobody knows from where."""
    if not path.expanduser().is_absolute():
        raise Invalid("a file is named by its whole path", code="invalid_path")
    return Path(os.path.realpath(path.expanduser()))


async def chunks(path: Path) -> AsyncIterator[bytes]:
    """Yield a file's octets. `NotFound` where there is no plain file at exactly this path."""
    file = await asyncio.to_thread(_opened, path)
    try:
        while chunk := await asyncio.to_thread(file.read, CHUNK):
            yield chunk
    finally:
        file.close()


def _opened(path: Path) -> BinaryIO:
    try:
        descriptor = _walk(path)
    except (OSError, ValueError):
        raise NotFound("there is no such file, or it cannot be read", code="no_such_file") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise NotFound("this is not a file", code="no_such_file")
    return os.fdopen(descriptor, "rb", buffering=0)


def _walk(path: Path) -> int:
    """Open a file without following a link; a pipe or a device is opened without waiting for it, and refused then."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    if not _HELD:
        return os.open(path, flags)
    here = os.open(path.anchor, os.O_RDONLY | os.O_DIRECTORY)
    for name in path.relative_to(path.anchor).parts[:-1]:
        try:
            inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=here)
        finally:
            os.close(here)
        here = inner
    try:
        return os.open(path.name, flags, dir_fd=here)
    finally:
        os.close(here)
