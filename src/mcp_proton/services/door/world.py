"""World: everything a service is built from. Made once, in `bootstrap`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from zoneinfo import ZoneInfo

from mcp_proton.domain.documents import Documents
from mcp_proton.domain.draft_notes import DraftNotes
from mcp_proton.domain.effects import Effect
from mcp_proton.domain.lease import Leases
from mcp_proton.domain.links import Links
from mcp_proton.domain.ports import Accounts, Artifacts, Clock, Journal
from mcp_proton.domain.remote import Remote
from mcp_proton.domain.review import Channels
from mcp_proton.domain.sendings import Sendings
from mcp_proton.domain.transfer import MailFiles
from mcp_proton.policy.source import PolicySource
from mcp_proton.services.door.registry import Catalog
from mcp_proton.services.in_memory.draft_notes import InMemoryNotes
from mcp_proton.services.in_memory.lease import InProcess
from mcp_proton.services.in_memory.sendings import InMemory


@dataclass(frozen=True)
class Settings:
    """The owner's choices that are not policy."""

    timezone: ZoneInfo = field(default_factory=lambda: ZoneInfo("UTC"))
    accounts_of: Callable[[str], frozenset[str] | None] = lambda _: None
    """The accounts a client was given; None: all of them."""
    of_caller: Callable[[str], bool] = lambda _: False
    """Whether an account is reached with its caller's token: only while that caller asks can it be looked into."""
    reviews: Callable[[str], bool] = lambda _: False
    """Whether the owner declared a client a review channel."""
    background_from: int = 500
    """An operation over more messages goes on in the background once its caller has waited `patience` seconds."""
    patience: float = 20.0
    prove_after: float = 45.0
    """Seconds until a server's own view shows what it was told to do (Bridge: its events take up to 40)."""
    sent_after: float = 90.0
    """Seconds until a mail that was sent is in Sent, or was not sent (Bridge: its own tries take 45, then two polls)."""
    spool: Path | None = None
    """Where mail is held on its way; None: the system's folder for temporary files."""


Alarm = Callable[[str, frozenset[Effect]], Awaitable[None]]


@dataclass(frozen=True)
class World:
    """The parts of a running service."""

    catalog: Catalog
    accounts: Accounts
    policies: PolicySource
    journal: Journal
    artifacts: Artifacts
    clock: Clock
    settings: Settings = field(default_factory=Settings)
    leases: Leases = field(default_factory=InProcess)
    sendings: Sendings = field(default_factory=InMemory)
    draft_notes: DraftNotes = field(default_factory=InMemoryNotes)
    channels: Channels | None = None
    files: MailFiles | None = None
    remote: Remote | None = None
    links: Links | None = None
    documents: Documents | None = None
    alarm: Alarm | None = None
    """Called once when a message was lost: shuts what lost it, for every process."""
    clear: Callable[[], Awaitable[None]] | None = None
    """Takes away what an interrupted trial of ours left in an account."""
