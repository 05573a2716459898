"""Redeeming: a link is used, once, by whoever has it; the rules are asked again first (N-12).

Whatever is wrong with a link, its client or the rules: it is not there, in the same words.
"""

from __future__ import annotations

from dataclasses import dataclass

from mcp_proton.domain.caller import Audience, Caller, Surface
from mcp_proton.domain.effects import Effect
from mcp_proton.domain.errors import NotFound
from mcp_proton.domain.links import Link, Links, Way
from mcp_proton.domain.plan import Impact, Plan, Scope
from mcp_proton.domain.ports import Artifact
from mcp_proton.policy.decide import decide
from mcp_proton.policy.rules import Verdict
from mcp_proton.services.door.world import World

EFFECTS = {Way.DOWNLOAD: Effect.EXPORT, Way.UPLOAD: Effect.DRAFT}
"""What it is to use a link: a file leaves, or one is made as `artifacts_create` makes one."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A link that may be used now, and by whom. `kept` is the file of a download."""

    link: Link
    caller: Caller
    kept: Artifact | None = None


async def opened(world: World, secret: str, way: Way, shown: str | None) -> Opened:
    """Look at a link without using it up. `shown`: the client whose token came along. `NotFound` for whatever reason."""
    link = await _links(world).find(secret)
    if link is None or link.way is not way or shown not in (None, link.client):
        raise gone()
    caller = Caller(link.client, Audience.AGENT, Surface.TOOL, world.settings.accounts_of(link.client))
    plan = Plan(impacts=frozenset({Impact(EFFECTS[way], Scope(link.account))}))
    policy = await world.policies.current()
    if decide(policy, caller, plan, {}, world.clock.now()).verdict is Verdict.DENY:
        raise gone()
    if way is Way.UPLOAD:
        return Opened(link, caller)
    try:
        return Opened(link, caller, await world.artifacts.find(link.artifact, caller))
    except NotFound:
        raise gone() from None


async def use(world: World, secret: str) -> None:
    """Use it up; of many at once one may. `NotFound` for the others."""
    if not await _links(world).use(secret):
        raise gone()


def gone() -> NotFound:
    """The one answer to a link that cannot be used."""
    return NotFound("there is no such link (any more)")


def _links(world: World) -> Links:
    if world.links is None:
        raise gone()
    return world.links
