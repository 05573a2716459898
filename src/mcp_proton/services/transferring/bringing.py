"""Bringing: messages put into an account one after the other, by a run that may have been interrupted before.

What an earlier run left uncertain is waited for until the server would show it. Where an account cannot be reached, what
comes after is not attempted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

from mcp_proton.domain.context import Context
from mcp_proton.domain.errors import Unavailable
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.outcome import Ending, Fate

SETTLED = 90.0
"""Seconds after which a server shows what it was told to store, if it ever will (Bridge: two of its polls)."""
_UNREACHABLE = frozenset({"service_unavailable", "auth_failed", "untrusted_server", "not_synced"})


async def earlier(ctx: Context) -> Mapping[Handle, Fate]:
    """Return how items fared that were begun before, once a server has had the time to show what is uncertain."""
    fates = await ctx.earlier()
    if any(fate.ending is Ending.UNCERTAIN for fate in fates):
        await asyncio.sleep(SETTLED)
    return {fate.handle: fate for fate in fates}


async def in_turn(items: Sequence[Handle], bring: Callable[[Handle], Awaitable[Fate]]) -> list[Fate]:
    """Bring them, until an account cannot be reached. `Unavailable` where that is so of the first."""
    fates: list[Fate] = []
    for item in items:
        fates.append(fate := await bring(item))
        if fate.code in _UNREACHABLE and fate.ending is Ending.FAILED:
            if len(fates) == 1:
                raise Unavailable(fate.why or "the mail server cannot be reached", code=fate.code)
            break
    left = items[len(fates) :]
    return [*fates, *(Fate(one, Ending.FAILED, "not_attempted", "the one before it failed") for one in left)]
