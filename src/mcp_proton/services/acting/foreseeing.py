"""Foreseeing: what a verb does to messages, from the account's effect table and never from the verb's name (P-20)."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Sequence

from mcp_proton.domain.consequences import Consequence
from mcp_proton.domain.context import Context
from mcp_proton.domain.effects import DESTRUCTIVE, Effect
from mcp_proton.domain.errors import Unsupported
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.mail import Mailbox
from mcp_proton.domain.operation import Finer
from mcp_proton.domain.plan import ReviewLine
from mcp_proton.services.asking import places

VerbsOf = Callable[[Mailbox], Sequence[str]]


async def sources(messages: Sequence[str], ctx: Context) -> list[tuple[Mailbox, int]]:
    """Return the mailboxes the messages are in, and how many there."""
    counted: Counter[tuple[str, str]] = Counter()
    one_of_each: dict[tuple[str, str], Handle] = {}
    for handle in map(Handle.parse, dict.fromkeys(messages)):
        counted[handle.account, handle.tag] += 1
        one_of_each.setdefault((handle.account, handle.tag), handle)
    return [(await ctx.mailbox_of(handle), counted[key]) for key, handle in one_of_each.items()]


async def filing(messages: Sequence[str], verbs_of: VerbsOf, to: str | None, ctx: Context) -> Finer:
    """Foresee moving, copying, labelling … to a destination (None: the verb has none)."""
    effects: set[Effect] = set()
    lines: list[ReviewLine] = []
    for source, count in await sources(messages, ctx):
        targets = [None] if to is None else await places.destinations(to, source.account, ctx)
        for target, row in _rows(verbs_of(source), source, targets, ctx):
            effects |= row.effects
            lines.append(_line(source, target, count, row))
    return Finer(effects=frozenset(effects), review=tuple(lines))


async def mailbox(verb: str, box: Mailbox, ctx: Context) -> Consequence:
    """Foresee making, renaming or deleting a mailbox."""
    return ctx.foresee(box.account, verb, box.role)


def withheld(messages: Sequence[str], ctx: Context) -> tuple[str, ...]:
    """Say what of these messages their servers have and do not give out: no copy of them, however it is proved, has it.

    Nothing is said of an account that the caller has no part in.
    """
    counted = Counter(Handle.parse(one).account for one in dict.fromkeys(messages))
    lacking = {name: ctx.backend(name).consequences().withheld for name in ctx.accounts() if name in counted}
    return tuple(
        f"{what}, if any of {counted[account]} has some: the server of `{account}` does not give them out"
        for account, what in lacking.items()
        if what is not None
    )


def _rows(
    verbs: Sequence[str], source: Mailbox, targets: Sequence[Mailbox | None], ctx: Context
) -> list[tuple[Mailbox | None, Consequence]]:
    """Return the rows that may apply. Where the message's kind decides, not every one need be possible, but one."""
    found: list[tuple[Mailbox | None, Consequence]] = []
    refusals: list[Unsupported] = []
    for verb, target in itertools.product(verbs, targets):
        role = None if target is None else target.role
        try:
            found.append((target, ctx.foresee(source.account, verb, source.role, role)))
        except Unsupported as error:
            refusals.append(error)
    if not found:
        raise refusals[0]
    return found


def _line(source: Mailbox, target: Mailbox | None, count: int, row: Consequence) -> ReviewLine:
    way = f"from {source.path}" + (f" to {target.path}" if target else "")
    risk = bool(row.effects & DESTRUCTIVE)
    return ReviewLine(f"{count} message{'' if count == 1 else 's'} {way}", row.result, risk=risk)
