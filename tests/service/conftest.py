"""A service over an account in memory, with rules that a test sets."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from mcp_proton.documents.reading import ChildDocuments
from mcp_proton.domain.caller import Audience, Caller, Surface, owner
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.links import Links
from mcp_proton.domain.transfer import MailFiles
from mcp_proton.policy.model import Policy
from mcp_proton.policy.reading import PolicyReader
from mcp_proton.services.door import registry
from mcp_proton.services.door.service import MailService
from mcp_proton.services.door.world import World
from mcp_proton.services.presenting.answers import answer
from mcp_proton.testing import (
    EPOCH,
    FixedClock,
    FixedPolicy,
    MemoryAccount,
    MemoryAccounts,
    MemoryArtifacts,
    MemoryJournal,
    MemoryRemote,
)

CATALOG = registry.load()


def letter(
    subject: str = "Hello",
    text: str = "How are you?",
    *,
    sender: str = "Anna Example <anna@example.org>",
    to: str = "me@example.org",
    message_id: str = "<a@example.org>",
    more: str = "",
) -> bytes:
    """Return the source of a plain message."""
    return (
        (
            f"From: {sender}\nTo: {to}\nSubject: {subject}\nMessage-ID: {message_id}\nDate: Mon, 30 Nov 2026 10:00:00 +0000\n"
            f"{more}MIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\n\n{text}\n"
        )
        .replace("\n", "\r\n")
        .encode()
    )


@dataclass
class House:
    """Everything behind a service, within reach of a test."""

    personal: MemoryAccount = field(default_factory=lambda: MemoryAccount("personal"))
    work: MemoryAccount = field(default_factory=lambda: MemoryAccount("work"))
    clock: FixedClock = field(default_factory=FixedClock)
    artifacts: MemoryArtifacts = field(default_factory=MemoryArtifacts)
    files: MailFiles | None = None
    remote: MemoryRemote = field(default_factory=MemoryRemote)
    links: Links | None = None
    agent: Caller = field(default_factory=lambda: Caller("hermes", Audience.AGENT, Surface.TOOL))

    def __post_init__(self) -> None:
        self.journal = MemoryJournal(self.clock)
        self.policies = FixedPolicy(Policy())
        self.rules(preset="assistant")
        self.service = MailService(
            World(
                catalog=CATALOG,
                accounts=MemoryAccounts(self.personal, self.work),
                policies=self.policies,
                journal=self.journal,
                artifacts=self.artifacts,
                clock=self.clock,
                files=self.files,
                remote=self.remote,
                links=self.links,
                documents=ChildDocuments(),
            )
        )

    def rules(self, **document: Any) -> None:
        """Put rules in force, as policy.toml would."""
        self.policies.policy = PolicyReader(home=Path("/home/owner"), clients={"hermes", "other"}).read(document)

    async def ask(self, operation: str, /, caller: Caller | None = None, **arguments: Any) -> dict[str, Any]:
        """Submit a request by name and return the answer as a client sees it."""
        request = CATALOG.by_name[operation].request.model_validate(arguments)
        return answer(await self.service.submit(caller or self.agent, request))

    async def owner_asks(self, operation: str, /, **arguments: Any) -> dict[str, Any]:
        """The same, as the owner."""
        return await self.ask(operation, owner(), **arguments)

    def receive(
        self, *args: Any, mailbox: str = "INBOX", hours_ago: float = 1, seen: bool = False, **kwargs: Any
    ) -> Handle:
        """Put a letter into a mailbox."""
        flags = frozenset({"seen"}) if seen else frozenset()
        return self.personal.add(
            mailbox, letter(*args, **kwargs), received=EPOCH - timedelta(hours=hours_ago), flags=flags
        )


@pytest.fixture
def house() -> House:
    """A service with an empty mailbox and the preset assistant."""
    return House()


def held(house: House, path: str) -> int:
    """Return how many messages a mailbox of the personal account holds."""
    return len(house.personal.boxes[path].mail)


def fill(house: House, count: int, mailbox: str = "INBOX") -> list[str]:
    """Put so many different letters into a mailbox and return their handles."""
    return [
        str(house.receive(f"Letter {number}", mailbox=mailbox, message_id=f"<{mailbox}-{number}@example.org>"))
        for number in range(count)
    ]
