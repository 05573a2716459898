"""Loaded by every Python that a test starts, and by those it starts: a copy of its standard error goes into a file.

Of `serve`, which answers nobody there, standard output too. The file's first line is the command.
"""

import io
import os
import sys


class Copied(io.FileIO):
    """A stream whose octets are written into a file as well."""

    def __init__(self, number: int, copy: int) -> None:
        super().__init__(number, "wb", closefd=False)
        self._copy = copy

    def write(self, octets) -> int | None:  # type: ignore[no-untyped-def, override]  # what io.RawIOBase says
        os.write(self._copy, octets)
        return super().write(octets)


def _copied(stream: io.TextIOWrapper, copy: int) -> io.TextIOWrapper:
    raw = Copied(stream.fileno(), copy)
    # Without a buffer where it had none (PYTHONUNBUFFERED): what is said is on the screen at once.
    below = io.BufferedWriter(raw) if isinstance(stream.buffer, io.BufferedWriter) else raw
    return io.TextIOWrapper(
        below, stream.encoding, stream.errors, line_buffering=stream.line_buffering, write_through=stream.write_through
    )


def _listen(folder: str) -> None:
    name = f"{folder}/{os.getpid()}-{os.urandom(4).hex()}"
    copy = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    os.write(copy, (" ".join(sys.orig_argv).replace("\n", " ")[:200] + "\n").encode(errors="replace"))
    kept.append(sys.stderr)
    sys.stderr = sys.__stderr__ = _copied(sys.stderr, copy)  # type: ignore[misc]
    if "serve" in sys.orig_argv:
        kept.append(sys.stdout)
        sys.stdout = sys.__stdout__ = _copied(sys.stdout, copy)  # type: ignore[misc]


kept: list[object] = []  # one that is let go closes its file
if (_folder := os.environ.get("CANARIES_FOLDER")) and sys.stderr is not None and os.access(_folder, os.W_OK):
    _listen(_folder)
