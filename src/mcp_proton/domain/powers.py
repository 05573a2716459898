"""ServerPowers: what some servers do for an account beyond keeping its mail. Each may be missing, and says so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from mcp_proton.domain.errors import Unsupported
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.mail import Envelope, Identity, Mailbox


@dataclass(frozen=True, slots=True)
class Vacation:
    """The answer a server gives by itself to who writes: from `since` to before `until`, either of which may be open."""

    enabled: bool
    text: str = ""
    subject: str = ""
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Quota:
    """How much of something is used, of how much. `unit` is octets or count; `limit` None: no limit is told."""

    name: str
    unit: str
    used: int
    limit: int | None


@dataclass(frozen=True, slots=True)
class Conversation:
    """What a server takes for one conversation: occurrences in any order, and the ids that each refers to.

    `texts` are those that were told along, each as reading the message would give it; the others are to be read.
    """

    rows: Sequence[Envelope]
    references: Mapping[Handle, Sequence[str]]
    texts: Mapping[Handle, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Correspondence:
    """Mail exchanged with some people: what lies in Sent, and what was received. `more`: these are the latest, not all."""

    sent: Sequence[Envelope]
    received: Sequence[Envelope]
    more: bool = False


class ServerPowers(Protocol):
    """What a server may do for an account. Every method raises `Unsupported` where this one does not."""

    async def conversation(self, handle: Handle, scope: Sequence[Mailbox]) -> Conversation:
        """Return the conversation of a message, as far as it lies in these mailboxes and in the message's own."""
        ...

    async def correspondence(self, addresses: Sequence[str]) -> Correspondence:
        """Return mail in Sent to these, and received mail from them, as the server's own index finds it.

        An index may miss some, and find others'. Only sender and recipients are told of each.
        """
        ...

    async def vacation(self) -> Vacation:
        """Return the answer as it is set, on or off."""
        ...

    async def set_vacation(self, vacation: Vacation) -> Vacation:
        """Set it, once, and return what the server then has. `Ambiguous` where nobody knows whether it was set."""
        ...

    async def create_identity(self, identity: Identity) -> Identity:
        """Make an address to send as, once. `Conflict` (`name_taken`) where there is one of that address.

        `Invalid` (`sender_refused`) where the server does not let this login send as it.
        """
        ...


def lacking(what: str) -> Unsupported:
    """The error for a power that a server has not; `what` is what it does not do."""
    return Unsupported(
        f"this account's server does not {what}",
        code="not_on_this_server",
        next="nothing was done; the owner can set it in the mail provider's own settings, if it is there",
    )
