"""A whole service without a disk or a network, and the rules a test gives it."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from mcp_proton.mcp import server
from mcp_proton.mcp.identity import agent
from mcp_proton.mcp.profiles import Profile
from mcp_proton.policy.model import Policy
from mcp_proton.policy.presets import Choice, Preset
from mcp_proton.policy.rules import Rule, Verdict
from mcp_proton.services.door.registry import load
from mcp_proton.services.door.service import MailService
from mcp_proton.services.door.world import World
from mcp_proton.testing import (
    EPOCH,
    FixedClock,
    FixedPolicy,
    MemoryAccount,
    MemoryAccounts,
    MemoryArtifacts,
    MemoryJournal,
)

if TYPE_CHECKING:
    from fastmcp import FastMCP

    from mcp_proton.domain.effects import Effect

CLIENT = "hermes"
ERAS = ("legacy", "2026-07-28")


def letter(subject: str, text: str, *, sender: str = "Anna Berg <anna@example.org>", number: int = 1) -> bytes:
    """Return a plain message."""
    return (
        f"From: {sender}\r\nTo: personal@example.org\r\nSubject: {subject}\r\n"
        f"Date: Mon, 30 Nov 2026 09:00:00 +0000\r\nMessage-ID: <m{number}@example.org>\r\n"
        f"Content-Type: text/plain; charset=utf-8\r\n\r\n{text}\r\n"
    ).encode()


def policy(preset: Preset | None = Preset.ASSISTANT, *rules: Rule) -> Policy:
    """Return a policy with one client."""
    chosen = (Choice(preset),) if preset else ()
    return Policy(presets=chosen, rules=rules, clients=frozenset({CLIENT}))


def rule(verdict: Verdict, *effects: Effect) -> Rule:
    """Return a rule about everything."""
    return Rule(verdict, frozenset(effects), source="rule 1")


class Lab:
    """One account with three letters, one client, and a server for it."""

    def __init__(self, given: Policy | None = None) -> None:
        self.account = MemoryAccount("personal")
        self.handles = [
            str(
                self.account.add(
                    "INBOX",
                    letter(f"Letter {number}", f"Text of letter {number}.", number=number),
                    received=EPOCH - timedelta(hours=number),
                )
            )
            for number in (1, 2, 3)
        ]
        self.policies = FixedPolicy(policy() if given is None else given)
        self.clock = FixedClock()
        self.journal = MemoryJournal(self.clock)
        self.artifacts = MemoryArtifacts()
        self.service = MailService(
            World(
                catalog=load(),
                accounts=MemoryAccounts(self.account),
                policies=self.policies,
                journal=self.journal,
                artifacts=self.artifacts,
                clock=self.clock,
            )
        )

    def server(self, profile: Profile = Profile.CORE, *, output_schemas: bool = False) -> FastMCP:
        """Return the client's server."""
        return server.build(self.service, agent(CLIENT), profile, output_schemas=output_schemas)
