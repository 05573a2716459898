"""Limit and Switches: what the owner set that is counted or kept in the store rather than written in a file."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from mcp_proton.domain.effects import Effect


@dataclass(frozen=True, slots=True)
class Limit:
    """At most `most` units of an effect (see `Plan.units`) in the last `seconds`.

    Counted for one client, for one account, or (both None) for everybody together; `source` is where the owner set it.
    """

    effect: Effect
    most: int
    seconds: int
    client: str | None = None
    account: str | None = None
    source: str = ""


@dataclass(frozen=True, slots=True)
class Granted:
    """A rule with an end, given at run time. `verdict` is allow, ask or deny; `place` as the owner writes it."""

    id: str
    effects: frozenset[Effect]
    verdict: str
    until: datetime
    client: str | None = None
    account: str | None = None
    place: str | None = None


@dataclass(frozen=True, slots=True)
class Switches:
    """What the owner switched at run time, on any surface, for every process at once."""

    paused_clients: frozenset[str] = frozenset()
    revoked_clients: frozenset[str] = frozenset()
    paused_accounts: frozenset[str] = frozenset()
    all_paused: bool = False
    frozen: frozenset[tuple[str, Effect]] = frozenset()
    """Account and effect that are denied to every client since mail was lost by it, until the owner thaws them."""
    granted: tuple[Granted, ...] = ()
