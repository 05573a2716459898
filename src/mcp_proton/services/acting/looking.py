"""Looking: what became of messages whose end is not known. Nothing is changed by it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from mcp_proton.domain.context import Context
from mcp_proton.domain.outcome import Ending, Fate
from mcp_proton.domain.ports import MailBackend

Ask = Callable[[MailBackend, Sequence[Fate]], Awaitable[Sequence[Fate]]]
Holds = Callable[[frozenset[str]], bool]
NOT_DONE = "not_done"


async def by_account(fates: Sequence[Fate], ctx: Context, ask: Ask) -> list[Fate]:
    """Ask every account about its own."""
    found: list[Fate] = []
    for account in sorted({fate.handle.account for fate in fates}):
        found.extend(await ask(ctx.backend(account), [fate for fate in fates if fate.handle.account == account]))
    return found


async def gone(fates: Sequence[Fate], age: float, ctx: Context) -> list[Fate]:
    """Look whether they are where they were no longer: for what was to be destroyed or unlabelled."""
    return await by_account(fates, ctx, lambda backend, mine: backend.prove(mine, None, age))


async def flags(fates: Sequence[Fate], age: float, ctx: Context, holds: Holds) -> list[Fate]:
    """Look whether their flags are as they were to be. What is not so yet stays open while the server's view is too young."""

    async def ask(backend: MailBackend, mine: Sequence[Fate]) -> Sequence[Fate]:
        found = {one.handle: one.flags for one in await backend.envelopes([fate.handle for fate in mine])}
        told = [_judged(fate, found.get(fate.handle), holds) for fate in mine]
        return [was if now.code == NOT_DONE and age < backend.lag else now for was, now in zip(mine, told, strict=True)]

    return await by_account(fates, ctx, ask)


def _judged(fate: Fate, found: frozenset[str] | None, holds: Holds) -> Fate:
    if found is None:
        return Fate(fate.handle, Ending.FAILED, "stale_handle", "this handle no longer points at a message")
    if holds(found):
        return Fate.done(fate.handle)
    return Fate(fate.handle, Ending.FAILED, NOT_DONE, "it is as it was")
