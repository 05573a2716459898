"""The ports: what the services need from the world. Small protocols; no library types, no `dict[str, Any]`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from .caller import Caller
from .consequences import EffectTable
from .handles import Handle
from .limits import Limit
from .mail import Envelope, Identity, Mailbox, Structure
from .outcome import Fate, Record, Status
from .plan import Plan
from .query import Query


class Standing(StrEnum):
    """Whether a feature can be relied upon on this server, in this version (P-09)."""

    AVAILABLE = "available"
    UNAVAILABLE = "unavailable"
    UNVERIFIED = "unverified"


@dataclass(frozen=True, slots=True)
class FlagChange:
    """Flags to add and to remove. Never a replacement."""

    add: frozenset[str] = frozenset()
    remove: frozenset[str] = frozenset()


class Order(StrEnum):
    """By date received."""

    NEWEST = "newest"
    OLDEST = "oldest"


@dataclass(frozen=True, slots=True)
class Page:
    """How much is wanted. `continuation` is the backend's own word from the page before; `budget` is in seconds."""

    limit: int = 25
    order: Order = Order.NEWEST
    continuation: str | None = None
    budget: float = 20.0


@dataclass(frozen=True, slots=True)
class Covered:
    """What of one mailbox was looked at. `ranges` is a UID set in IMAP's notation, or empty where there are no UIDs."""

    mailbox: str
    looked_at: int
    of: int | None
    ranges: str = ""


@dataclass(frozen=True, slots=True)
class Coverage:
    """How far an answer can be relied upon (N-3).

    `complete`: nothing that matches was left out up to and including the last row (or at all, without continuation).
    `order` says in words how rows are sorted. `by_server` and `by_us` name the criteria each side decided.
    """

    complete: bool
    order: str
    mailboxes: tuple[Covered, ...] = ()
    why: str | None = None
    by_server: tuple[str, ...] = ()
    by_us: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """A page of rows. `continuation` is None only when nothing is left."""

    rows: Sequence[Envelope]
    coverage: Coverage
    continuation: str | None = None


@dataclass(frozen=True, slots=True)
class Health:
    """What a look at the account showed. `mode` is combined or split (Bridge); `syncing` None: it cannot be known."""

    connected: bool
    server: str = ""
    version: str = ""
    mode: str | None = None
    capabilities: tuple[str, ...] = ()
    syncing: bool | None = None
    code: str | None = None
    why: str | None = None
    next: str | None = None


class MailBackend(Protocol):
    """One account. Handles in, handles out. Never marks anything read by looking.

    Every method may raise `Unavailable` (with its kinds) and nothing else that is not ours; one that takes a handle
    raises `Stale` when it no longer points at its message.
    """

    def features(self) -> Mapping[str, Standing]:
        """What this server can do, by our own words, without asking it anything."""
        ...

    def consequences(self) -> EffectTable:
        """What each verb really does here."""
        ...

    async def health(self) -> Health:
        """Look whether the account works. Never raises: trouble is in the answer."""
        ...

    async def mailboxes(self, *, counts: bool = False, fresh: bool = False) -> Sequence[Mailbox]:
        """Return all mailboxes, parents first. May be up to a minute old unless `fresh`; `counts` asks for totals."""
        ...

    async def search(self, scope: Sequence[Mailbox], query: Query, page: Page) -> Found:
        """Return matching envelopes by date. Stops at `page.limit` rows or when `page.budget` is used up."""
        ...

    async def envelopes(self, handles: Sequence[Handle]) -> Sequence[Envelope]:
        """Return the envelopes of those handles that still point at a message, in the order asked."""
        ...

    async def structure(self, handle: Handle) -> Structure:
        """Return envelope and parts of one message, without content."""
        ...

    def fetch(
        self, handle: Handle, part: str = "", *, start: int = 0, limit: int | None = None
    ) -> AsyncIterator[bytes]:
        """Yield octets of a section in chunks: "" is the whole message, "HEADER" its header, "1.2" a part as encoded.

        From octet `start`, at most `limit`. Bounded memory whatever the size. `NotFound` for a section that is not there.
        """
        ...

    async def headers(self, handles: Sequence[Handle]) -> Mapping[Handle, bytes]:
        """Return the raw header blocks of those handles that still point at a message, each at most 256 KiB."""
        ...

    async def set_flags(self, handles: Sequence[Handle], change: FlagChange) -> Sequence[Fate]:
        """Add and remove flags; one fate a handle."""
        ...

    async def identities(self) -> Sequence[Identity]:
        """Return the addresses this account may send as."""
        ...

    async def aclose(self) -> None:
        """Close every connection."""
        ...


@dataclass(frozen=True, slots=True)
class Opening:
    """What the journal is told before anything happens."""

    caller: Caller
    operation: str
    plan: Plan
    digest: str
    body: str
    summary: str
    status: Status
    expires: datetime | None = None
    limits: tuple[Limit, ...] = ()


class Journal(Protocol):
    """The memory of what was asked and what became of it. All but `glance` are atomic, and durable when they return."""

    async def open(self, opening: Opening) -> Record:
        """Write down the intent. Side effects wait for this; it raises `Unavailable` when the disk does not take it.

        `OverLimit` when one of the opening's limits would be exceeded: counted and written in one step, so that two
        processes cannot both take the last place. What is later denied, expired or withdrawn gives its place back.
        """
        ...

    async def usage(self, limits: Sequence[Limit], *, but: str | None = None) -> Mapping[Limit, int]:
        """Return how much of each limit is used now, leaving one operation (`but`) out of account."""
        ...

    def glance(self, opening: Opening, status: Status) -> None:
        """Note a finished read. Queued and written in batches within a second; never waits."""
        ...

    async def read(self, operation_id: str, caller: Caller) -> Record:
        """Return a record of this caller's (all are the owner's). `NotFound` for a foreign and a missing one alike."""
        ...

    async def recent(self, caller: Caller, *, limit: int = 50, statuses: Sequence[Status] = ()) -> Sequence[Record]:
        """Return the caller's latest records, newest first (the owner sees all)."""
        ...

    async def body(self, operation_id: str) -> str:
        """Return the stored request. `NotFound` once it was purged."""
        ...

    async def advance(self, operation_id: str, before: Status, after: Status, *, code: str | None = None) -> Record:
        """Compare-and-set along the table of legal moves. `Conflict` when somebody else was first."""
        ...

    async def note(self, operation_id: str, fates: Sequence[Fate]) -> None:
        """Write down how items ended."""
        ...

    async def fates(self, operation_id: str) -> Sequence[Fate]:
        """Return how the items ended so far."""
        ...

    async def expire(self, now: datetime) -> int:
        """Expire what waited too long; return how many."""
        ...


@dataclass(frozen=True, slots=True)
class Artifact:
    """Octets held for the agent under a name we made. `id` is unguessable and bound to its caller."""

    id: str
    filename: str
    media_type: str
    size: int
    sha256: str
    path: Path | None = None


class ArtifactWriter(Protocol):
    """An artifact being written: chunk by chunk, nothing visible before it is complete."""

    async def write(self, chunk: bytes) -> None:
        """Append octets. `OverLimit` past the owner's ceiling."""
        ...

    async def done(self) -> Artifact:
        """Make it complete and visible."""
        ...


class Artifacts(Protocol):
    """Octets on the way in or out. Nothing is ever overwritten; an abandoned one leaves nothing behind."""

    def create(self, caller: Caller, filename: str, media_type: str) -> AbstractAsyncContextManager[ArtifactWriter]:
        """Begin an artifact in the managed store."""
        ...

    def export(self, directory: Path, filename: str, media_type: str) -> AbstractAsyncContextManager[ArtifactWriter]:
        """Begin a file in an export folder of the owner's, under a safe, new name. `OutOfBounds` elsewhere."""
        ...

    async def find(self, artifact_id: str, caller: Caller) -> Artifact:
        """Return an artifact of this caller's. `NotFound` otherwise."""
        ...

    def read(self, artifact: Artifact) -> AsyncIterator[bytes]:
        """Yield its octets in chunks."""
        ...


class Accounts(Protocol):
    """The accounts the owner configured. Backends are made when first needed."""

    @property
    def names(self) -> Sequence[str]:
        """All slugs, in the order of the configuration."""
        ...

    @property
    def default(self) -> str | None:
        """The account meant where none is named: the only one, or the owner's choice."""
        ...

    def backend(self, name: str) -> MailBackend:
        """Return the account's backend. `NotFound` for an unknown one."""
        ...


class Clock(Protocol):
    """Time, so that tests can wind it."""

    def now(self) -> datetime:
        """The present instant, aware, in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds on a clock that never jumps."""
        ...


class SecretProvider(Protocol):
    """Where passwords come from."""

    async def secret(self, account: str) -> str:
        """Return the account's password. `AuthFailed` with what to do when it is not there."""
        ...
