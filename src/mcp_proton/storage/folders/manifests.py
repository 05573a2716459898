"""The manifest of an export: one line of JSON a message, written after the message is safely on the disk.

A line that was cut short by a crash is no line: it is dropped, and its message is written again.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcp_proton.domain.errors import Conflict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcp_proton.domain.transfer import Form
    from mcp_proton.storage.folders.exports import Folder

try:
    import fcntl
except ImportError:  # pragma: no cover - no such locks on Windows
    fcntl = None  # type: ignore[assignment]

_VERSION = 1
_LONGEST = 64 << 10
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class Line:
    """One message: where it is (`at` and `length` in an mbox), and what the server said of it."""

    handle: str
    file: str
    size: int
    sha256: str
    received: str | None = None
    flags: tuple[str, ...] = ()
    message_id: str = ""
    at: int = 0
    length: int = 0

    @property
    def end(self) -> int:
        """Where it ends in an mbox."""
        return self.at + self.length


_FIELDS = Line.__slots__
_ENCODE = json.JSONEncoder(separators=(",", ":")).encode


class Manifest:
    """The file `name`, held by one export at a time."""

    def __init__(self, folder: Folder, name: str, form: Form) -> None:
        self.path = folder.path / name
        self.lines: list[Line] = []
        self._folder, self._name, self._form = folder, name, form
        self.is_new = False
        try:
            self._file = folder.append(name)
        except FileNotFoundError:
            self._file = folder.create(name)
            os.close(self._file)
            self._file = folder.append(name)
            self.is_new = True
        try:
            self._lock()
            self._begin()
        except BaseException:
            os.close(self._file)
            raise

    def add(self, lines: Sequence[Line]) -> None:
        """Write lines down. A line that a power cut takes costs nothing: its message is found, or written again."""
        self._write(_encoded({name: getattr(line, name) for name in _FIELDS}) for line in lines)
        self.lines.extend(lines)

    def sync(self) -> None:
        """Make it durable."""
        os.fsync(self._file)

    def close(self, *, forget: bool = False) -> None:
        """Let go of it. `forget` deletes it."""
        os.close(self._file)
        if forget:
            with suppress(OSError):
                self._folder.remove(self._name)

    def _begin(self) -> None:
        head = _encoded({"manifest": _VERSION, "form": self._form.value})
        lines, torn, end = self._read()
        if not lines and head.startswith(torn):
            self.is_new = True
            os.ftruncate(self._file, 0)
            self._write([head])
            return
        if not lines or _decoded(lines[0]) != _decoded(head):
            raise taken("an export of that name, in another form or of another program, is there already")
        self.lines = [line for one in lines[1:] if (line := _line(_decoded(one))) is not None]
        if torn:
            os.ftruncate(self._file, end)

    def _read(self) -> tuple[list[bytes], bytes, int]:
        """Return the whole lines, what is behind the last one, and where that begins."""
        lines: list[bytes] = []
        waiting, end = b"", 0
        os.lseek(self._file, 0, os.SEEK_SET)
        while block := os.read(self._file, _BLOCK):
            *whole, waiting = (waiting + block).split(b"\n")
            lines += whole
            end += sum(len(one) + 1 for one in whole)
            if len(waiting) > _LONGEST:
                raise taken("the file beside the export is no manifest of ours")
        return lines, waiting, end

    def _write(self, lines: Iterator[bytes] | Sequence[bytes]) -> None:
        end = os.lseek(self._file, 0, os.SEEK_END)
        text = b"".join(lines)
        try:
            write_all(self._file, text)
        except OSError:
            os.ftruncate(self._file, end)
            raise

    def _lock(self) -> None:
        if fcntl is None:
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise Conflict(
                "this export is being written already", code="in_use", next="wait for it; operations_status tells"
            ) from None


def write_all(file: int, data: bytes | bytearray) -> None:
    """Write all of it, however often the system takes less."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(file, rest) :]


def taken(why: str) -> Conflict:
    """The error for a name that something else has."""
    return Conflict(why, code="name_taken", next="choose another `name`; nothing was written")


def _line(about: dict[str, object]) -> Line | None:
    """Read a line. What cannot be one of ours is passed over: its message is written again."""
    kept = {key: tuple(value) if isinstance(value, list) else value for key, value in about.items()}
    with suppress(TypeError):
        line = Line(**kept)  # type: ignore[arg-type]  # checked in the next line
        numbers = (line.size, line.at, line.length)
        words = (line.handle, line.file, line.sha256, line.message_id, *line.flags)
        if all(type(one) is int and one >= 0 for one in numbers) and all(isinstance(one, str) for one in words):
            return line
    return None


def _encoded(values: dict[str, object]) -> bytes:
    kept = {key: value for key, value in values.items() if value not in (None, "", (), 0) or key == "size"}
    return _ENCODE(kept).encode() + b"\n"


def _decoded(line: bytes) -> dict[str, object]:
    try:
        found = json.loads(line)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise taken("the file beside the export is no manifest of ours")
    return found
