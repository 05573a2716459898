"""Offered: which operations a caller is shown. For showing only: whatever is asked for is judged by the door anyway."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from mcp_proton.domain.caller import Audience, Caller
from mcp_proton.domain.effects import READING, Effect
from mcp_proton.domain.operation import Operation
from mcp_proton.policy.matrix import loosest
from mcp_proton.policy.model import Policy
from mcp_proton.policy.rules import Verdict
from mcp_proton.services.door.registry import Catalog, primitive


@dataclass(frozen=True, slots=True)
class Offered:
    """The names of the operations, and the effects that are not denied everywhere."""

    names: frozenset[str]
    effects: frozenset[Effect]


def offered(catalog: Catalog, policy: Policy, caller: Caller, now: datetime) -> Offered:
    """Hide what this caller is denied everywhere.

    The journal family always shows. One who may do nothing at all (nobody chose a preset yet, or the client is paused)
    still sees what reads, so that the refusal can say what to do (P-22).
    """
    effects = frozenset(effect for effect in Effect if loosest(policy, caller, effect, now) is not Verdict.DENY)
    effects = effects or READING
    audience = Audience.OWNER if caller.is_owner else Audience.AGENT
    shown = (one.name for one in catalog.for_audience(audience) if _useful(primitive(one), effects))
    return Offered(frozenset(shown), effects)


def _useful(operation: Operation, effects: frozenset[Effect]) -> bool:
    """One that plans for itself may stay within what is open; any other does all it declares."""
    if operation.steers:
        return True
    if operation.purpose is not None and operation.purpose not in effects:
        return False
    return bool(operation.effects & effects) if operation.plan else operation.effects <= effects
