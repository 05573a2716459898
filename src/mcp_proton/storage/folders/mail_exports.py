"""Exports of mail: messages on their way into EML files of one folder, or into one mbox, with a manifest beside them.

INVARIANT: nothing that was not made by this export is changed. An EML file appears under its name when it is whole; an
mbox ends in `.part` until it is finished, and only that is ever cut back to what its manifest names.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from mcp_proton.domain.errors import Conflict
from mcp_proton.mime import mbox
from mcp_proton.mime.file_names import file_name
from mcp_proton.storage.files import begin_writing, sync_folder
from mcp_proton.storage.folders.exports import alike
from mcp_proton.storage.folders.manifests import Line, taken, write_all

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from mcp_proton.domain.mail import Envelope
    from mcp_proton.storage.folders.exports import Folder

_LONGEST_SUBJECT = 80
_AT_ONCE = 16
_BLOCK = 1 << 20
PART = ".part"


class Shelf(Protocol):
    """Where messages are put, one at a time: by `put`, or by `begin`, `write` …, then `end` or `drop`.

    `kept`: what is there of earlier. Only what `hardening` has returned from is sure to outlast a power cut.
    """

    path: Path
    kept: list[Line]

    def put(self, envelope: Envelope, octets: bytes, sha256: str) -> Line: ...

    def begin(self, envelope: Envelope) -> None: ...

    def write(self, chunk: bytes) -> None: ...

    def drop(self) -> None: ...

    def end(self, envelope: Envelope, size: int, sha256: str) -> Line: ...

    def hardening(self) -> Callable[[], None]:
        """Return what makes durable all that is ended by now. It may run beside what is put next."""
        ...

    def rewind(self, lines: Sequence[Line]) -> None:
        """Count on no more than these."""
        ...

    def finish(self) -> None: ...

    def close(self, *, forget: bool) -> bool: ...


class Letters:
    """A folder of EML files, each the octets of a message as they are (RFC 5322)."""

    def __init__(self, parent: Folder, name: str, lines: Sequence[Line], *, is_new: bool) -> None:
        if is_new and parent.holds(name):
            raise taken("something of that name is in the folder already")
        self.path = parent.path / name
        self._parent, self._name = parent, name
        self._folder = parent.within(name)
        sizes = self._folder.sizes()
        for left in [one for one in sizes if one.startswith(".") and one.endswith(PART)]:
            self._folder.remove(left)
        self.kept = [line for line in lines if sizes.get(line.file) == line.size]
        self._mine = {line.file for line in self.kept}
        self._file: int | None = None
        self._hidden = self._wish = ""
        self._ended: list[int] = []
        self._open: set[int] = set()
        self._several = ThreadPoolExecutor(_AT_ONCE)

    def put(self, envelope: Envelope, octets: bytes, sha256: str) -> Line:
        """Write a message that is whole."""
        self.begin(envelope)
        self.write(octets)
        return self.end(envelope, len(octets), sha256)

    def begin(self, envelope: Envelope) -> None:
        """Begin a file under a hidden name."""
        self._hidden, self._wish = f".{secrets.token_hex(8)}{PART}", letter_name(envelope)
        self._file = self._folder.create(self._hidden)

    def write(self, chunk: bytes) -> None:
        """Append octets."""
        if self._file is not None:
            write_all(self._file, chunk)

    def drop(self) -> None:
        """Leave nothing of it."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
            self._folder.remove(self._hidden)

    def end(self, envelope: Envelope, size: int, sha256: str) -> Line:
        """Give it its name. A file of just these octets that an earlier call left without a line is taken for it."""
        if self._file is None:
            raise Conflict("no message was begun")
        begin_writing(self._file)
        self._ended.append(self._file)
        self._open.add(self._file)
        self._file = None
        name = self._named(size, sha256)
        self._mine.add(name)
        return described(envelope, name, size, sha256)

    def hardening(self) -> Callable[[], None]:
        """See the protocol. Asked for together, many files cost the disk little more than one."""
        waiting, self._ended = self._ended, []

        def harden() -> None:
            try:
                list(self._several.map(os.fsync, waiting))
            finally:
                self._let_go(waiting)
            sync_folder(self.path)

        return harden

    def rewind(self, lines: Sequence[Line]) -> None:
        """What is left without a line is taken for what it holds when that comes again."""
        self._mine = {line.file for line in lines}

    def finish(self) -> None:
        """Every file has its name already."""

    def close(self, *, forget: bool) -> bool:
        """Let go of the folder; `forget` deletes it, if it is empty. Return whether it is gone."""
        with suppress(OSError):
            self.drop()
        self._several.shutdown()
        self._let_go(list(self._open))
        self._folder.close()
        if forget:
            self._parent.discard(self._name)
        return forget and not self._parent.holds(self._name)

    def _let_go(self, files: Sequence[int]) -> None:
        for file in files:
            os.close(file)
        self._open.difference_update(files)

    def _named(self, size: int, sha256: str) -> str:
        for name in alike(self._wish):
            try:
                self._folder.settle(self._hidden, name)
            except FileExistsError:
                if name not in self._mine and self._is(name, size, sha256):
                    self._folder.remove(self._hidden)
                    return name
            else:
                return name
        raise FileExistsError(17, "too many files of that name")

    def _is(self, name: str, size: int, sha256: str) -> bool:
        try:
            file = self._folder.append(name)
        except OSError:
            return False
        try:
            if os.fstat(file).st_size != size:
                return False
            digest = hashlib.sha256()
            while block := os.read(file, _BLOCK):
                digest.update(block)
            return digest.hexdigest() == sha256
        finally:
            os.close(file)


class Mbox:
    """One file in mboxrd, with LF and the flags in `Status` and `X-Status`; in `.part` until it is finished."""

    def __init__(self, folder: Folder, name: str, lines: Sequence[Line], *, is_new: bool) -> None:
        self.path = folder.path / name
        self.kept = list(lines)
        self._folder, self._name, self._part = folder, name, name + PART
        self._end = max((line.end for line in lines), default=0)
        self._at = self._end
        self._quoting = mbox.Quoting()
        self._file: int | None = None
        self._is_finished = folder.holds(name)
        if is_new and (self._is_finished or folder.holds(self._part)):
            raise taken("something of that name is in the folder already")
        if self._is_finished and self._size(name) != self._end:
            raise _changed()
        if not self._is_finished and lines and self._size(self._part) < self._end:
            raise _changed()
        if self._is_finished and folder.same(name, self._part):
            folder.remove(self._part)  # the last step of finishing, which a crash left out

    def put(self, envelope: Envelope, octets: bytes, sha256: str) -> Line:
        """Write an entry at once."""
        entry = _beginning(envelope) + mbox.quoted(octets)
        write_all(self._opened(), entry)
        at, self._end = self._end, self._end + len(entry)
        return described(envelope, self._name, len(octets), sha256, at=at, length=len(entry))

    def begin(self, envelope: Envelope) -> None:
        """Begin an entry."""
        file = self._opened()
        self._quoting, self._at = mbox.Quoting(), self._end
        write_all(file, _beginning(envelope))

    def write(self, chunk: bytes) -> None:
        """Append octets, quoted."""
        write_all(self._opened(), self._quoting.feed(chunk))

    def drop(self) -> None:
        """Leave nothing of it."""
        if self._file is not None:
            os.ftruncate(self._file, self._end)
            os.lseek(self._file, self._end, os.SEEK_SET)

    def end(self, envelope: Envelope, size: int, sha256: str) -> Line:
        """End it with an empty line."""
        file = self._opened()
        rest = self._quoting.finish()
        write_all(file, rest + (b"\n" if self._quoting.at_start else b"\n\n"))
        self._end = os.lseek(file, 0, os.SEEK_CUR)
        return described(envelope, self._name, size, sha256, at=self._at, length=self._end - self._at)

    def hardening(self) -> Callable[[], None]:
        """See the protocol."""
        file = self._file
        return lambda: None if file is None else os.fsync(file)

    def rewind(self, lines: Sequence[Line]) -> None:
        """Cut back to the last of these."""
        self._end = max((line.end for line in lines), default=0)
        self.drop()

    def finish(self) -> None:
        """Give the file its name."""
        if self._is_finished:
            return
        self._opened()
        try:
            self._folder.settle(self._part, self._name)
        except FileExistsError:
            raise taken("something else has the name of this export by now") from None
        sync_folder(self._folder.path)
        self._is_finished = True

    def close(self, *, forget: bool) -> bool:
        """Let go of the file; `forget` deletes it. Return whether it is gone."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
        if forget:
            with suppress(OSError):
                self._folder.remove(self._part)
        return forget and not self._folder.holds(self._part)

    def _opened(self) -> int:
        """Return the file, which is in `.part` from now on, cut back to what the manifest names."""
        if self._file is None:
            if self._is_finished:
                self._folder.replace(self._name, self._part)
                self._is_finished = False
            try:
                self._file = self._folder.append(self._part)
            except FileNotFoundError:
                self._file = self._folder.create(self._part)
            self.drop()
        return self._file

    def _size(self, name: str) -> int:
        try:
            file = self._folder.append(name)
        except OSError:
            return -1
        try:
            return os.fstat(file).st_size
        finally:
            os.close(file)


def described(envelope: Envelope, file: str, size: int, sha256: str, *, at: int = 0, length: int = 0) -> Line:
    """Return the manifest's line for a message that is in a file."""
    when = envelope.received or envelope.date
    received, flags = when.isoformat() if when else None, tuple(sorted(envelope.flags))
    return Line(str(envelope.handle), file, size, sha256, received, flags, envelope.message_id, at, length)


def _beginning(envelope: Envelope) -> bytes:
    """Return the separator of an entry, and the flags as header lines."""
    sender = envelope.sender[0].email if envelope.sender else ""
    return mbox.separator(sender, envelope.received or envelope.date) + mbox.status(envelope.flags)


def letter_name(envelope: Envelope) -> str:
    """Return a file name that says when and what, whoever chose the subject."""
    when = envelope.received or envelope.date
    day = when.strftime("%Y-%m-%d %H.%M") if when else "undated"
    subject = file_name(envelope.subject.replace("/", "-").replace("\\", "-") or "no subject")
    return file_name(f"{day} {subject[:_LONGEST_SUBJECT].rstrip('. ')}.eml")


def _changed() -> Conflict:
    return Conflict(
        "this export was changed since it was written",
        code="changed_elsewhere",
        next="choose another `name`; nothing was written",
    )
