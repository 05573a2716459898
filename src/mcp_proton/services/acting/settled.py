"""Settled: nothing goes for good, and nothing in bulk, by a view of the mail that is not settled (N-9).

A refusal like any other, told before the owner is asked, and again before each step; once the view is settled the same
request goes through, an approved one as it was approved.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING

from mcp_proton.domain.effects import DESTRUCTIVE, Effect
from mcp_proton.domain.errors import NotSynced
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.plan import Plan

if TYPE_CHECKING:
    from mcp_proton.services.door.world import World

BULK = 100
"""messages above which an operation is bulk"""
_NEXT = (
    "nothing was changed; ask again in a minute or two, it goes through by itself once the mailbox is settled "
    "(`accounts_health` says when), and what is not destructive can be done for up to 100 messages at a time meanwhile"
)


async def check_plan(world: World, plan: Plan) -> None:
    """Raise `NotSynced` where a plan must wait."""
    await _check(world, plan.effects, plan.targets, plan.accounts, look=True)


async def check(
    world: World,
    effects: AbstractSet[Effect],
    handles: Sequence[Handle],
    *,
    look: bool = True,
    also: AbstractSet[str] = frozenset(),
) -> None:
    """Raise `NotSynced` where these messages must wait, by their own accounts and by those they go to (`also`).

    Without `look` what was seen last decides.
    """
    await _check(world, effects, handles, {handle.account for handle in handles} | also, look=look)


async def _check(
    world: World, effects: AbstractSet[Effect], handles: Sequence[Handle], accounts: Iterable[str], *, look: bool
) -> None:
    if len(handles) <= BULK and not effects & DESTRUCTIVE:
        return
    for account in sorted(accounts):
        why = await world.accounts.backend(account).unsettled(look=look)
        if why is not None:
            raise NotSynced(f"{why}, so what `{account}` shows is not to be relied upon for this yet", next=_NEXT)
