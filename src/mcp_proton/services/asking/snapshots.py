"""Snapshot: the messages a query matches now, fixed, so that what was counted and approved is what is done (P-62, P-93)."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_proton.domain.context import Context, Snapshot
from mcp_proton.domain.errors import Conflict, NotFound
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.mail import Mailbox
from mcp_proton.domain.ports import Page
from mcp_proton.domain.query import Query
from mcp_proton.services.fields import MOST_HANDLES as MOST

_PAGE = 200


async def snapshot(scope: Sequence[Mailbox], query: Query, ctx: Context) -> Snapshot:
    """Find all. `NotFound` where nothing matches, `Conflict` (`too_many`) beyond 50,000."""
    backend = ctx.backend(scope[0].account)
    handles: dict[Handle, None] = {}
    identified: set[int] = set()
    unnamed, complete, continuation = 0, True, None
    while True:
        found = await backend.search(scope, query, Page(limit=_PAGE, continuation=continuation))
        for envelope in found.rows:
            if envelope.handle in handles:
                continue
            handles[envelope.handle] = None
            if envelope.message_id:
                identified.add(hash(envelope.message_id))
            else:
                unnamed += 1
        complete = complete and (found.coverage.complete or found.continuation is not None)
        continuation = found.continuation
        if len(handles) > MOST:
            raise Conflict(f"more than {MOST} messages match", code="too_many", next="narrow it, by since: and before:")
        if continuation is None:
            break
        await ctx.progress(len(handles), None, "looking for messages")
    if not handles:
        raise NotFound("no message matches", code="nothing_matches", next="nothing was done")
    return Snapshot(tuple(handles), len(identified) + unnamed, complete)
