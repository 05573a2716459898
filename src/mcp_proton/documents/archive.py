"""The files inside a document that is a ZIP archive, opened within limits (APPNOTE 6.3; OPC, ECMA-376 part 2)."""

from __future__ import annotations

import zipfile
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO

from mcp_proton.documents.refusals import MOST_UNPACKED, Reason, Unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_ENTRIES = 20_000
_CHUNK = 64 << 10
_ENCRYPTED = 0x1

_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError, ValueError)


class Archive:
    """An archive whose parts together unpack to at most `MOST_UNPACKED` octets, whatever their headers say."""

    def __init__(self, file: BinaryIO) -> None:
        with _damage():
            self._zip = zipfile.ZipFile(file)
        entries = self._zip.infolist()
        if len(entries) > MOST_ENTRIES:
            raise Unreadable(Reason.ZIP_BOMB)
        if any(entry.flag_bits & _ENCRYPTED for entry in entries):
            raise Unreadable(Reason.ENCRYPTED)
        self.names = frozenset(entry.filename for entry in entries)
        self._left = MOST_UNPACKED

    def bound(self, ending: str) -> None:
        """Refuse an archive whose parts of that ending say that they are too large: for readers that open it themselves.

        `zipfile` reads no more of a part than its header says, so what is said here holds.
        """
        said = sum(entry.file_size for entry in self._zip.infolist() if entry.filename.lower().endswith(ending))
        if said > MOST_UNPACKED:
            raise Unreadable(Reason.ZIP_BOMB)

    def chunks(self, name: str) -> Iterator[bytes]:
        """Yield a part's octets, unpacked. `Unreadable` for a part that is missing, broken or too large."""
        with _damage():
            if name not in self.names:
                raise Unreadable(Reason.DAMAGED)
            if self._zip.getinfo(name).file_size > self._left:
                raise Unreadable(Reason.ZIP_BOMB)
            with self._zip.open(name) as part:
                while chunk := part.read(_CHUNK):
                    self._left -= len(chunk)
                    if self._left < 0:
                        raise Unreadable(Reason.ZIP_BOMB)
                    yield chunk


@contextmanager
def _damage() -> Iterator[None]:
    try:
        yield
    except _BROKEN:
        raise Unreadable(Reason.DAMAGED) from None
