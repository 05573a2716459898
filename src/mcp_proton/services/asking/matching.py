"""Matching: requests about all that a query finds. The query is answered once, and its snapshot is what is acted upon."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_proton.domain.context import Context, Snapshot
from mcp_proton.domain.effects import Effect
from mcp_proton.domain.operation import Request
from mcp_proton.domain.query import All
from mcp_proton.services.asking import queries
from mcp_proton.services.asking.snapshots import snapshot
from mcp_proton.services.fields import Account, MailboxFields, Text

PREPARES = frozenset({Effect.LIST, Effect.READ})
"""A query may look inside content, so finding needs both."""


class Matching(Request):
    """What every such request has: the query, and where to look."""

    query: Text
    mailboxes: MailboxFields = ("inbox",)
    account: Account = None


async def matched(request: Matching, ctx: Context) -> tuple[str, ...]:
    """Return the handles of all that match now."""
    found = await _snapshot(request.account, request.mailboxes, request.query, ctx)
    return tuple(str(one) for one in found.handles)


async def everything(mailbox: str, account: str | None, ctx: Context) -> tuple[str, ...]:
    """Return the handles of all that a mailbox holds now (P-93)."""
    return tuple(str(one) for one in (await _snapshot(account, [mailbox], "", ctx)).handles)


async def _snapshot(account: str | None, mailboxes: Sequence[str], query: str, ctx: Context) -> Snapshot:
    name = ctx.account(account)
    scope = [await ctx.mailbox(name, one) for one in mailboxes]
    found = await snapshot(scope, queries.parse(query, ctx.timezone) if query else All(), ctx)
    ctx.found = found
    return found
