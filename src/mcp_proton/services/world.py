"""World: everything a service is built from. Made once, in `bootstrap`."""

from __future__ import annotations

from dataclasses import dataclass, field
from zoneinfo import ZoneInfo

from mcp_proton.domain.ports import Accounts, Artifacts, Clock, Journal
from mcp_proton.policy.source import PolicySource

from .registry import Catalog


@dataclass(frozen=True)
class Settings:
    """The owner's choices that are not policy."""

    timezone: ZoneInfo = field(default_factory=lambda: ZoneInfo("UTC"))


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
