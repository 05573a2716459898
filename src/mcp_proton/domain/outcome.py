"""How a request goes on and ends: the journal's states and their legal moves, fates, records, outcomes (P-33)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Generic, TypeVar

from .effects import Effect
from .errors import Conflict, MailError
from .handles import Handle


class Status(StrEnum):
    """The state of a record."""

    PENDING = "pending"
    APPROVED = "approved"
    DENIED = "denied"
    EXPIRED = "expired"
    EXECUTING = "executing"
    SUCCEEDED = "succeeded"
    PARTIALLY_SUCCEEDED = "partially_succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    DELIVERY_UNKNOWN = "delivery_unknown"


MOVES: Mapping[Status, frozenset[Status]] = {
    Status.PENDING: frozenset({Status.APPROVED, Status.DENIED, Status.EXPIRED, Status.CANCELLED}),
    Status.APPROVED: frozenset({Status.EXECUTING, Status.EXPIRED, Status.CANCELLED, Status.DENIED}),
    Status.EXECUTING: frozenset(
        {Status.SUCCEEDED, Status.PARTIALLY_SUCCEEDED, Status.FAILED, Status.CANCELLED, Status.DELIVERY_UNKNOWN}
    ),
    Status.DELIVERY_UNKNOWN: frozenset({Status.SUCCEEDED, Status.PARTIALLY_SUCCEEDED, Status.FAILED}),
    Status.PARTIALLY_SUCCEEDED: frozenset({Status.SUCCEEDED, Status.FAILED}),
    Status.DENIED: frozenset(),
    Status.EXPIRED: frozenset(),
    Status.SUCCEEDED: frozenset(),
    Status.FAILED: frozenset(),
    Status.CANCELLED: frozenset(),
}
"""Every legal move. PARTIALLY_SUCCEEDED moves on only when its uncertain items are settled by looking."""

SETTLED = frozenset({Status.DENIED, Status.EXPIRED, Status.SUCCEEDED, Status.FAILED, Status.CANCELLED})
"""States that nothing leaves."""


def check_move(before: Status, after: Status) -> None:
    """Raise `Conflict` unless the move is legal."""
    if after not in MOVES[before]:
        raise Conflict(f"an operation that is {before} cannot become {after}", code="illegal_move")


class Ending(StrEnum):
    """How one item ended."""

    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"
    UNCERTAIN = "uncertain"


@dataclass(frozen=True, slots=True)
class Fate:
    """How one item of a batch ended. `now` is its handle afterwards, where it has a new one."""

    handle: Handle
    ending: Ending
    code: str | None = None
    why: str | None = None
    now: Handle | None = None

    @classmethod
    def done(cls, handle: Handle, now: Handle | None = None) -> Fate:
        """It happened."""
        return cls(handle, Ending.DONE, now=now)

    @classmethod
    def of_error(cls, handle: Handle, error: MailError) -> Fate:
        """It did not happen, for this reason; or, where the error says so, nobody knows yet."""
        ending = Ending.UNCERTAIN if error.status == "unsure" else Ending.FAILED
        return cls(handle, ending, code=error.code, why=error.message)


@dataclass(frozen=True, slots=True)
class Record:
    """One line of the journal: a request that was made. Never holds content."""

    id: str
    caller: str
    operation: str
    accounts: frozenset[str]
    effects: frozenset[Effect]
    digest: str
    status: Status
    created: datetime
    expires: datetime | None = None
    ended: datetime | None = None
    summary: str = ""
    code: str | None = None
    counts: Mapping[str, int] = field(default_factory=dict)


Res = TypeVar("Res")


@dataclass(frozen=True, slots=True)
class Outcome(Generic[Res]):
    """How the whole ended, as told to the caller. `result` is there exactly when there is something to show."""

    status: str
    result: Res | None = None
    operation_id: str | None = None
    code: str | None = None
    why: str | None = None
    next: str | None = None
    summary: str | None = None
    expires_at: datetime | None = None
    state: Status | None = None
