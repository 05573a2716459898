"""How a request goes on and ends: the journal's states and their legal moves, fates, records, outcomes (P-33)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Generic, TypeVar

from mcp_proton.domain.effects import Effect
from mcp_proton.domain.errors import Conflict, MailError
from mcp_proton.domain.handles import Handle


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

OVER = SETTLED | {Status.PARTIALLY_SUCCEEDED, Status.DELIVERY_UNKNOWN}
"""States in which nothing is done any more: what leaves them was found out by looking."""


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


class Proof(StrEnum):
    """How well it is known where a changed message is: named by the answer, seen there, in no place, or nowhere."""

    COPYUID = "copyuid"
    SEEN = "seen"
    ORPHANED = "orphaned"
    LOST = "lost"


UNGUARDED = "unguarded"


@dataclass(frozen=True, slots=True)
class Fate:
    """How one item of a batch ended. `now` is its handle afterwards, where it has a new one.

    `proof` None: there is nothing to prove. `identity` is what the backend finds the message again by; opaque, not for
    showing.
    """

    handle: Handle
    ending: Ending
    code: str | None = None
    why: str | None = None
    now: Handle | None = None
    proof: Proof | None = None
    identity: str | None = None

    @classmethod
    def done(
        cls, handle: Handle, now: Handle | None = None, *, proof: Proof | None = None, identity: str | None = None
    ) -> Fate:
        """It happened."""
        return cls(handle, Ending.DONE, None, None, now, proof, identity)

    @classmethod
    def skipped(cls, handle: Handle, code: str, why: str) -> Fate:
        """Nothing had to be done."""
        return cls(handle, Ending.SKIPPED, code=code, why=why)

    @classmethod
    def unguarded(cls, handle: Handle) -> Fate:
        """Its flags were changed, without the guard that was asked for."""
        return cls(handle, Ending.DONE, UNGUARDED, "this server cannot tell whether it was changed since it was read")

    @classmethod
    def of_error(cls, handle: Handle, error: MailError) -> Fate:
        """It did not happen, for this reason; or, where the error says so, nobody knows yet."""
        ending = Ending.UNCERTAIN if error.status == "unsure" else Ending.FAILED
        return cls(handle, ending, code=error.code, why=error.message)


@dataclass(frozen=True, slots=True)
class Record:
    """One line of the journal: a request that was made. Never holds content.

    `counts` says how many items ended how, `proofs` how well that is known; `total` how many there are, `begun` how many of
    them (in their order) may have been acted upon. `outline` is the request without its messages: with the fates, enough
    to prove or undo it.
    """

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
    proofs: Mapping[str, int] = field(default_factory=dict)
    total: int = 0
    begun: int = 0
    background: bool = False
    stopping: bool = False
    outline: str | None = None


INLINE = 50
"""How many items an answer names; the rest are counted, and told by `operations_status`."""


@dataclass
class Tally:
    """How the items of an operation ended: all are counted, the first of each kind are kept.

    `left` counts those that were not begun, `stopped` is the code of why.
    """

    total: int
    counts: dict[Ending, int] = field(default_factory=lambda: dict.fromkeys(Ending, 0))
    done: list[Fate] = field(default_factory=list)
    others: list[Fate] = field(default_factory=list)
    proof: Proof | None = None
    left: int = 0
    stopped: str | None = None

    def add(self, fates: Sequence[Fate]) -> None:
        """Count these in."""
        for fate in fates:
            self.counts[fate.ending] += 1
            kept = self.done if fate.ending is Ending.DONE else self.others
            if len(kept) < INLINE:
                kept.append(fate)
            if fate.ending is Ending.DONE and fate.proof is not None:
                self.proof = weakest([fate.proof, *([self.proof] if self.proof else [])])

    def stop(self, code: str, why: str, left: Sequence[Handle]) -> None:
        """Say that these were not begun, and why."""
        self.stopped, self.left = code, len(left)
        room = INLINE - len(self.others)
        self.others.extend(Fate.skipped(handle, code, why) for handle in left[: max(0, room)])

    @property
    def is_open(self) -> bool:
        """Whether some items must still be looked at."""
        return self.counts[Ending.UNCERTAIN] > 0 or self.proof is Proof.COPYUID

    @property
    def ended(self) -> Status:
        """The state of the whole. What needed no doing counts as done."""
        if self.counts[Ending.UNCERTAIN]:
            return Status.PARTIALLY_SUCCEEDED
        undone = self.counts[Ending.FAILED] + self.left
        if undone == 0:
            return Status.SUCCEEDED
        if undone < self.total:
            return Status.PARTIALLY_SUCCEEDED
        return Status.CANCELLED if self.stopped == "cancelled" else Status.FAILED


_DOUBT = (Proof.SEEN, Proof.COPYUID, Proof.ORPHANED, Proof.LOST)


def weakest(proofs: Iterable[str]) -> Proof | None:
    """Return the proof that leaves most to worry about."""
    return max((Proof(one) for one in proofs), key=_DOUBT.index, default=None)


def is_open(fate: Fate) -> bool:
    """Whether an item must still be looked at."""
    return fate.ending is Ending.UNCERTAIN or fate.proof is Proof.COPYUID


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
