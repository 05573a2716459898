"""Who asks, and through which surface. Nothing a client says about itself is in here (P-41)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from mcp_proton.domain.effects import Effect


class Audience(StrEnum):
    """Whom an operation is for."""

    AGENT = "agent"
    OWNER = "owner"


class Surface(StrEnum):
    """The way a call came in."""

    TOOL = "tool"
    RESOURCE = "resource"
    CLI = "cli"
    WEB = "web"
    JOB = "job"


@dataclass(frozen=True, slots=True)
class Caller:
    """An authenticated caller: the owner, or a client by the label the owner gave it.

    `accounts` are the accounts this client was given; None means all of them. `effects` are all that the scopes of its token
    leave open, whatever the rules say; None means that what it showed has no scopes.
    """

    name: str
    audience: Audience
    surface: Surface
    accounts: frozenset[str] | None = None
    effects: frozenset[Effect] | None = None

    @property
    def is_owner(self) -> bool:
        """Whether the owner asks, at the owner's own surface."""
        return self.audience is Audience.OWNER


def owner(surface: Surface = Surface.CLI) -> Caller:
    """Return the owner as a caller."""
    return Caller(name="owner", audience=Audience.OWNER, surface=surface)
