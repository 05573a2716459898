"""The ports: what the services need from the world. Small protocols; no library types, no `dict[str, Any]`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from mcp_proton.domain.backend import (
    HOME,
    LARGEST_VERSION,
    Coverage,
    Covered,
    FlagChange,
    Found,
    Health,
    Home,
    MailBackend,
    Order,
    Page,
    Standing,
)
from mcp_proton.domain.caller import Caller
from mcp_proton.domain.limits import Limit
from mcp_proton.domain.outcome import Fate, Record, Status
from mcp_proton.domain.plan import Plan

__all__ = [
    "HOME",
    "LARGEST_VERSION",
    "Accounts",
    "Artifact",
    "ArtifactWriter",
    "Artifacts",
    "Clock",
    "Coverage",
    "Covered",
    "FlagChange",
    "Found",
    "Health",
    "Home",
    "Journal",
    "MailBackend",
    "Opening",
    "Order",
    "Page",
    "SecretProvider",
    "Standing",
]


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
    background: bool = False
    outline: str | None = None
    total: int | None = None
    """How many items there are; None: as many as the plan has targets."""
    shown: str | None = None
    """What the owner is shown of it where the account cannot be looked into again; kept with the body, and as long."""


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

    async def shown(self, operation_id: str) -> str | None:
        """Return what was kept for the owner to be shown; None where nothing was, or once it was purged."""
        ...

    async def advance(self, operation_id: str, before: Status, after: Status, *, code: str | None = None) -> Record:
        """Compare-and-set along the table of legal moves. `Conflict` when somebody else was first.

        What is executing belongs to this process from then on.
        """
        ...

    async def begin(
        self, operation_id: str, upto: int, fates: Sequence[Fate] = (), intents: Sequence[Fate] = ()
    ) -> bool:
        """Write down, in one step, how earlier items ended and that those up to `upto` are about to be acted upon.

        `intents` are the fates they have if nothing more is ever heard. False when the operation was asked to stop:
        only the earlier fates are kept, nothing more may be begun. `Conflict` (`taken_over`) when another process has
        taken the operation for dead and settles it: nothing is kept.
        """
        ...

    async def stop(self, operation_id: str) -> Record:
        """Ask a running operation, in whatever process, to stop between items."""
        ...

    async def adopt(self, operation_id: str | None = None) -> Sequence[Record]:
        """Take over what is executing in a process that is gone. Each is given to one process.

        One that is named is taken over from this process as well: the caller knows that it does not run here.
        """
        ...

    async def unproved(self, account: str) -> Sequence[Record]:
        """Return the account's records with items whose end is uncertain or not proved yet, the oldest first."""
        ...

    async def note(self, operation_id: str, fates: Sequence[Fate]) -> None:
        """Write down how items ended."""
        ...

    async def fates(self, operation_id: str, start: int = 0, limit: int | None = None) -> Sequence[Fate]:
        """Return how the items ended so far, in the order they were first noted; `limit` of them from `start`."""
        ...

    async def open_ends(self, operation_id: str) -> Sequence[Fate]:
        """Return the fates that must still be looked at: uncertain, or named by an answer and not seen yet."""
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

    def name(self) -> str:
        """Return an id for an artifact that is yet to be made: unguessable, and nobody's so far."""
        ...

    def create(
        self, caller: Caller, filename: str, media_type: str, *, id: str | None = None
    ) -> AbstractAsyncContextManager[ArtifactWriter]:
        """Begin an artifact in the managed store, under the id that `name` gave, or a new one."""
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

    async def keep(self, account: str, secret: str) -> None:
        """Store another in its place. `AuthFailed` where the place is not one that can be written."""
        ...
