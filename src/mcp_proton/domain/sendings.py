"""Sendings: what is remembered of every mail that was about to leave, so that what became of it can be found out.

    begun → accepted → found in Sent (or possibly swallowed)
          → not sent
          → unknown → found in Sent, or not sent

Of the mail itself nothing is kept: its Message-ID, digests, envelope and times. Written before anything is sent.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol

from mcp_proton.domain.handles import Handle
from mcp_proton.domain.outgoing import Accepted


class Stage(StrEnum):
    """How far a mail has come, as far as is known."""

    BEGUN = "begun"
    ACCEPTED = "accepted"
    FOUND = "found"
    """It is in Sent."""
    SWALLOWED = "swallowed"
    """It was accepted, and is not in Sent: possibly taken for a repeat and dropped (B-04)."""
    NOT_SENT = "not_sent"
    UNKNOWN = "unknown"


OPEN = frozenset({Stage.BEGUN, Stage.ACCEPTED, Stage.UNKNOWN, Stage.SWALLOWED})
"""What must still be looked for."""
MAY_HAVE_LEFT = frozenset(Stage) - {Stage.NOT_SENT}
BOUNCES_FOR = timedelta(days=5)
"""How long after sending a notice of non-delivery is looked for (RFC 5321 §4.5.4.1: servers try for four to five days)."""


@dataclass(frozen=True, slots=True)
class Bounce:
    """What a delivery report said of one recipient (RFC 3464): `action` is failed or delayed, `status` like 5.1.1."""

    recipient: str
    action: str
    status: str
    notice: Handle


@dataclass(frozen=True, slots=True)
class Sending:
    """One mail on its way.

    `wire` is the digest of its octets, `receipt` that over octets and envelope; `content` says what it says, whatever its
    Message-ID; `key` is what the server takes for a repeat, where it does such a thing. `ended` is when the server
    answered or was lost. `stray`: the server may have left a draft behind, still to be looked for; `draft` is the owner's
    draft that it was made from, as long as that may still be there.
    """

    operation: str
    account: str
    message_id: str
    sender: str
    recipients: tuple[str, ...]
    wire: str
    size: int
    receipt: str
    content: str
    begun: datetime
    key: str | None = None
    stage: Stage = Stage.BEGUN
    ended: datetime | None = None
    code: str | None = None
    answers: tuple[Accepted, ...] = ()
    sent: Handle | None = None
    draft: Handle | None = None
    stray: bool = False
    bounces: tuple[Bounce, ...] = ()
    looked: datetime | None = None
    """Since when every look reached the server and did not find it."""
    why: str = ""
    """What was said of it, perhaps by the server: told at once, and not remembered."""

    @property
    def is_open(self) -> bool:
        """Whether it must still be looked for, or what was left of it removed."""
        return self.stage in OPEN or self.stray or (self.stage is Stage.FOUND and self.draft is not None)

    @property
    def refused(self) -> tuple[Accepted, ...]:
        """The recipients that the server did not take."""
        return tuple(one for one in self.answers if not one.accepted)


class Sendings(Protocol):
    """The memory of sendings. Every change is durable when the call returns."""

    async def begin(self, sending: Sending) -> None:
        """Write down that it is about to leave. `Unavailable` when the disk does not take it: then it must not."""
        ...

    async def write(self, sending: Sending) -> None:
        """Write down what is known of it now."""
        ...

    async def find(self, operation_id: str) -> Sending | None:
        """Return the sending of an operation, where it came that far."""
        ...

    async def alike(
        self, account: str, since: datetime, *, key: str | None = None, content: str | None = None
    ) -> Sequence[Sending]:
        """Return the account's sendings begun since then that have this key, or else this content; the newest first."""
        ...

    async def waiting(self, account: str, since: datetime) -> Sequence[Sending]:
        """Return the sendings that are open, whenever they began, and all that began since then."""
        ...

    async def tally(self) -> Mapping[Stage, int]:
        """Return how many mails are remembered at each stage, in all accounts."""
        ...

    async def reached(self, account: str, recipients: Collection[str]) -> frozenset[str]:
        """Return those (in lower case) that a mail of this account was accepted for before."""
        ...
