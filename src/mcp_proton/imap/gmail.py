"""Gmail, known by what it advertises: mailboxes are labels there, so an effect table of its own holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_proton.imap import effect_tables

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from mcp_proton.domain.consequences import EffectTable
    from mcp_proton.imap.login.providers import Provider

EXTENSION = "X-GM-EXT-1"


def is_meant(capabilities: AbstractSet[str] | None, provider: Provider | None) -> bool:
    """Whether a server is Gmail's: it says so, or its owner does."""
    return EXTENSION in (capabilities or ()) or (provider is not None and provider.labels)


def table() -> EffectTable:
    """What verbs do there."""
    return effect_tables.load("mcp_proton.imap", "gmail.yaml")
