"""Mail in files: what is written into the owner's folders, and what is read from them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from mcp_proton.domain.mail import Envelope
from mcp_proton.domain.outgoing import Octets


class Form(StrEnum):
    """How messages are kept in files: each in one of its own (RFC 5322 as it is), or all in one mbox (mboxrd)."""

    EML = "eml"
    MBOX = "mbox"


@dataclass(frozen=True, slots=True)
class Whole:
    """A message as a whole: `octets` can be read once, before the next message is asked for."""

    envelope: Envelope
    octets: AsyncIterator[bytes]


@dataclass(frozen=True, slots=True)
class Written:
    """A message that is in an export. `sha256` and `size` are those of its octets as the server has them.

    `again`: the same octets were in the export already, under another handle.
    """

    handle: str
    file: str
    size: int
    sha256: str
    again: bool = False


class Export(Protocol):
    """An export that is being written, and its manifest beside it: one line of JSON a message.

    What the manifest names is there, whole, even after a power cut.
    """

    @property
    def path(self) -> Path:
        """The folder or file it is, or will be when it is finished."""
        ...

    @property
    def manifest(self) -> Path:
        """The file beside it."""
        ...

    @property
    def written(self) -> Mapping[str, Written]:
        """All that is in it, by handle; from earlier calls too."""
        ...

    async def add(self, messages: AsyncIterator[Whole]) -> None:
        """Write some more; durable on return. `Unavailable` when the disk takes no more: the manifest tells how far."""
        ...

    async def finish(self) -> None:
        """Give the export its final name. `Conflict` where that is taken by now."""
        ...


@dataclass(frozen=True, slots=True)
class Entry:
    """A message in a file. `label` says which one, in words that are safe to show; `number` counts from 1.

    `message_id` as it is stored: one of the file's, or one made of the content (`made`). `identity` is what it is known
    again by. `flags` and `received` are what the file says. `problem` is why it cannot be a message, if it cannot.
    """

    number: int
    label: str
    message_id: str = ""
    identity: str = ""
    size: int = 0
    flags: frozenset[str] = frozenset()
    received: datetime | None = None
    made: bool = False
    problem: str | None = None


class Source(Protocol):
    """Files that hold mail, as they were when they were opened. `stamp` is another when they are."""

    @property
    def kind(self) -> str:
        """EML file, folder of EML files, mbox or Maildir."""
        ...

    @property
    def stamp(self) -> str:
        """What changes when anything in them does."""
        ...

    @property
    def entries(self) -> Sequence[Entry]:
        """The messages, in a fixed order."""
        ...

    def held(self, entry: Entry) -> AbstractAsyncContextManager[Octets]:
        """Hold a message as it is stored. `NotFound` where it is no longer there, `Unavailable` when the disk fails."""
        ...


class MailFiles(Protocol):
    """The owner's folders, as far as they are open for mail. Nothing in them is overwritten; no link leads out of them."""

    def export(self, folder: Path, name: str, form: Form) -> AbstractAsyncContextManager[Export]:
        """Begin an export, or go on with the one of that name. `OutOfBounds` outside the export folders.

        `Conflict` (`name_taken`) where something else has that name, or somebody changed what was exported.
        """
        ...

    async def exported(self, folder: Path, name: str, form: Form) -> frozenset[str]:
        """Return the handles of what an export holds; none where there is no such export."""
        ...

    def source(self, path: Path) -> AbstractAsyncContextManager[Source]:
        """Open files that hold mail. `OutOfBounds` outside the import folders.

        `NotFound` where there are none, `Invalid` (`no_mail`) for what holds no mail, `Conflict` (`too_many`) beyond 50,000.
        """
        ...
