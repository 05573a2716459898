"""Hints: what a tool may do, as MCP's annotations, read off effects. A tool that says it only reads cannot do more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_types import ToolAnnotations

from mcp_proton.domain.effects import DESTRUCTIVE, REACHING, READING, Effect
from mcp_proton.services.door.registry import primitive
from mcp_proton.services.fields import additions, ours

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcp_proton.services.door.registry import Definition


def hints(effects: Iterable[Effect], *, repeatable: bool) -> ToolAnnotations:
    """Say what these effects mean for whoever watches over the client."""
    effects = frozenset(effects)
    reads = effects <= READING
    return ToolAnnotations(
        read_only_hint=reads,
        destructive_hint=bool(effects & DESTRUCTIVE),
        idempotent_hint=reads or repeatable,
        open_world_hint=bool(effects & REACHING),
    )


def base_effects(definition: Definition) -> frozenset[Effect]:
    """Return the effects an operation has without the fields that add one."""
    return primitive(definition).effects - frozenset(additions(definition.request).values())


def beyond(definition: Definition, effects: frozenset[Effect]) -> frozenset[str]:
    """Return the fields that add an effect outside of `effects`, and those that no caller fills in."""
    adding = (name for name, added in additions(definition.request).items() if added not in effects)
    return ours(definition.request).union(adding)
