"""Files that hold mail, opened for import: an EML file, a folder of them, an mbox, a Maildir.

Hostile input is bounded: links, pipes and devices are no files here, what is too large for a message is said to be so, and
of no file is more in memory than a piece. An mbox is read once to find its messages, and by place after that.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from mcp_proton.domain.errors import Conflict, Invalid, NotFound
from mcp_proton.domain.transfer import Entry
from mcp_proton.mime import incoming, mbox
from mcp_proton.mime.neutral import neutralise

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp_proton.storage.folders.exports import Folder

MOST_ENTRIES = 50_000
LARGEST = 100 << 20
"""Octets of one message: more than any server takes."""
LARGEST_MBOX = 64 << 30
LONGEST_GAP = 1 << 30
"""Octets without the beginning of a message: whatever it is, it is no mbox."""
_BLOCK = 1 << 20
_MAILDIR = re.compile(r":2,([A-Za-z]*)\Z")
_MAILDIR_FLAGS = {"S": "seen", "R": "answered", "F": "flagged", "D": "draft", "T": "deleted", "P": "forwarded"}
_ENTRY = re.compile(rb"\n\r?\n(From [^\n]{0,510})(?=\n)")
_OVERLAP = 1024
_LAST_BLANK = re.compile(rb"\n\r?\n\Z")
_MANIFEST = ".manifest.jsonl"
_LONGEST_MANIFEST_LINE = 64 << 10


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a message is: a file (below which folder), from where, how long; and what is known of it from outside."""

    folder: str | None
    name: str
    label: str
    start: int
    length: int
    flags: frozenset[str] = frozenset()
    received: datetime | None = None
    quoted: bool = False


class Files:
    """What was found at a name in a folder. Everything here blocks: it is for a thread."""

    def __init__(self, folder: Folder, name: str) -> None:
        self._folder, self._name = folder, name
        self._stamp = hashlib.sha256()
        self.kind = ""
        self.spots: list[Spot] = []
        try:
            found = folder.look(name)
        except OSError:
            raise _nothing() from None
        if stat.S_ISDIR(found.st_mode):
            self._look_into_folder()
        elif stat.S_ISREG(found.st_mode):
            self._look_into_file(found)
        else:
            raise Invalid(
                "this is neither a file nor a folder", code="no_mail", next="name an EML file, mbox or Maildir"
            )
        if not self.spots:
            raise Invalid("there is no mail in it", code="no_mail", next="name an EML file, mbox or Maildir")

    @property
    def stamp(self) -> str:
        """What changes when any of the files does."""
        return self._stamp.hexdigest()[:32]

    def close(self) -> None:
        """Let go of the folder."""
        self._folder.close()

    def entry(self, number: int) -> Entry:
        """Read a message's header, and say what it is."""
        spot = self.spots[number - 1]
        known = Entry(number, spot.label, size=spot.length)
        if spot.length > LARGEST:
            return _problem(known, "too_large")
        try:
            with _opened(self._open(spot)) as file:
                block = _head_of(file, spot)
        except OSError:
            return _problem(known, "unreadable")
        if block is None or not (head := incoming.head(block)).is_mail:
            return _problem(known, "no_message")
        made = not head.message_id
        message_id = incoming.made_id(self._digest(spot)) if made else head.message_id
        return Entry(
            number,
            spot.label,
            message_id=message_id,
            identity=incoming.identity(message_id),
            size=spot.length,
            flags=spot.flags or head.flags,
            received=spot.received or head.received,
            made=made,
        )

    def pieces(self, entry: Entry) -> Iterator[bytes]:
        """Yield a message as it is stored. FileNotFoundError where it is not what it was."""
        spot = self.spots[entry.number - 1]
        ends = incoming.LineEnds()
        with _opened(self._open(spot)) as file:
            stream = _body(file, spot)
            block = bytearray()
            for chunk in stream:
                block += chunk
                if (end := incoming.header_end(block)) is not None:
                    break
                if len(block) > incoming.LONGEST_HEADER:
                    raise FileNotFoundError(2, "the header has no end")
            else:
                end = len(block)
            head = incoming.head(bytes(block[:end]))
            if head.message_id != ("" if entry.made else entry.message_id):
                raise FileNotFoundError(2, "another message is there now")
            dated = None if head.dated else entry.received or datetime.fromtimestamp(0, UTC)
            yield incoming.completed(head.kept, message_id=entry.message_id if entry.made else None, dated=dated)
            yield ends.feed(bytes(block[end:]))
            for chunk in stream:
                yield ends.feed(chunk)
            yield ends.finish()

    def _open(self, spot: Spot) -> int:
        folder = self._folder
        opened = []
        try:
            for name in spot.folder.split("/") if spot.folder else ():
                folder = folder.below(name)
                opened.append(folder)
            return folder.read(spot.name)
        finally:
            for one in opened:
                one.close()

    def _digest(self, spot: Spot) -> str:
        digest = hashlib.sha256()
        ends = incoming.LineEnds()
        with _opened(self._open(spot)) as file:
            for chunk in _body(file, spot):
                digest.update(ends.feed(chunk))
        digest.update(ends.finish())
        return digest.hexdigest()

    def _look_into_file(self, found: os.stat_result) -> None:
        self._note(self._name, found)
        with _opened(self._folder.read(self._name)) as file:
            first = os.read(file, mbox.LONGEST_SEPARATOR).partition(b"\n")[0]
            if not mbox.begins(first):
                self.kind = "EML file"
                self.spots = [Spot(None, self._name, _label(self._name), 0, found.st_size)]
                return
            if found.st_size > LARGEST_MBOX:
                raise Invalid("this mbox is too large", code="too_large", next="split it into smaller ones")
            self.kind = "mbox"
            for number, (start, length, when) in enumerate(entries(file), 1):
                self._add(Spot(None, self._name, f"message {number}", start, length, received=when, quoted=True))

    def _look_into_folder(self) -> None:
        with closing(self._folder.below(self._name)) as folder:
            names = set(folder.names())
            if {"cur", "new"} <= names:
                self.kind = "Maildir"
                for part in ("cur", "new"):
                    with closing(folder.below(part)) as inner:
                        self._look_at_letters(inner, f"{self._name}/{part}", maildir=True)
            else:
                self.kind = "folder of EML files"
                self._look_at_letters(folder, self._name, maildir=False)

    def _look_at_letters(self, folder: Folder, path: str, *, maildir: bool) -> None:
        told = {} if maildir else self._told()
        for name in folder.names():
            if name.startswith(".") or not (maildir or name.lower().endswith(".eml")):
                continue
            found = folder.look(name)
            if not stat.S_ISREG(found.st_mode):
                continue
            self._note(name, found)
            flags, when = told.get(name, (frozenset[str](), None))
            if maildir:
                info = _MAILDIR.search(name)
                flags = frozenset(_MAILDIR_FLAGS[one] for one in (info[1] if info else "") if one in _MAILDIR_FLAGS)
                when = datetime.fromtimestamp(found.st_mtime, UTC)
            self._add(Spot(path, name, _label(name), 0, found.st_size, flags, when))

    def _told(self) -> dict[str, tuple[frozenset[str], datetime | None]]:
        """Return what the manifest of an export of ours, beside the folder, says of its files."""
        told: dict[str, tuple[frozenset[str], datetime | None]] = {}
        try:
            descriptor = self._folder.read(self._name + _MANIFEST)
        except OSError:
            return told
        with os.fdopen(descriptor, "rb") as file:
            while len(told) < MOST_ENTRIES and (line := file.readline(_LONGEST_MANIFEST_LINE)):
                with suppress(ValueError, KeyError, TypeError, AttributeError):
                    about = json.loads(line)
                    when = datetime.fromisoformat(about["received"]) if "received" in about else None
                    told[str(about["file"])] = (frozenset(map(str, about.get("flags", ()))), when)
        return told

    def _add(self, spot: Spot) -> None:
        if len(self.spots) >= MOST_ENTRIES:
            raise Conflict(
                f"there are more than {MOST_ENTRIES} messages in it",
                code="too_many",
                next="split it into smaller parts",
            )
        self.spots.append(spot)

    def _note(self, name: str, found: os.stat_result) -> None:
        told = (name, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)
        self._stamp.update(repr(told).encode("utf-8", "surrogateescape"))


def entries(file: int) -> Iterator[tuple[int, int, datetime | None]]:
    """Find the messages of an mbox: where each begins (after its separator), how long it is, and its separator's date.

    An entry begins at a separator after an empty line; the empty line is not of the message before it.
    """
    os.lseek(file, 0, os.SEEK_SET)
    text, at = os.read(file, _BLOCK), 0
    line = text.partition(b"\n")[0]
    begun, when, last = len(line) + 1, mbox.received(line), 0
    while True:
        for found in _ENTRY.finditer(text):
            start = at + found.start(1)
            if start > last and mbox.begins(found[1]):
                yield begun, max(0, at + found.start() + 1 - begun), when
                begun, when, last = at + found.end() + 1, mbox.received(found[1]), start
        block = os.read(file, _BLOCK)
        if not block:
            break
        if at + len(text) - begun > LONGEST_GAP:
            raise Invalid(
                "there is no message in a gigabyte of this file",
                code="no_mail",
                next="name an EML file, mbox or Maildir",
            )
        held = text[-_OVERLAP:]
        at += len(text) - len(held)
        text = held + block
    blank = _LAST_BLANK.search(text)
    end = at + (blank.start() + 1 if blank else len(text))
    yield begun, max(0, end - begun), when


def _body(file: int, spot: Spot) -> Iterator[bytes]:
    """Yield the octets of a message, unquoted where it is in an mbox."""
    os.lseek(file, spot.start, os.SEEK_SET)
    left = spot.length
    unquoting = mbox.Unquoting() if spot.quoted else None
    while left > 0 and (block := os.read(file, min(_BLOCK, left))):
        left -= len(block)
        yield block if unquoting is None else unquoting.feed(block)
    if left > 0:
        raise FileNotFoundError(2, "the file is shorter than it was")
    if unquoting is not None:
        yield unquoting.finish()


def _head_of(file: int, spot: Spot) -> bytes | None:
    """Return a message's header; None where it has no end within bounds."""
    block = bytearray()
    for chunk in _body(file, spot):
        block += chunk
        if (end := incoming.header_end(block)) is not None:
            return bytes(block[:end])
        if len(block) > incoming.LONGEST_HEADER:
            return None
    return bytes(block)


@contextmanager
def _opened(file: int) -> Iterator[int]:
    try:
        yield file
    finally:
        os.close(file)


def _problem(entry: Entry, code: str) -> Entry:
    return replace(entry, problem=code)


def _label(name: str) -> str:
    return neutralise(name.encode("utf-8", "replace").decode("utf-8", "replace"))[:120]


def _nothing() -> NotFound:
    return NotFound("there is no such file or folder", code="no_such_file")
