"""Fetching: a file from an https address becomes an artifact, once; what is attached, shown and sent is that (J-26, J-27).

An address can carry data out of the house, to whoever wrote it into a mail. So nothing is asked of a host as a mere
preparation unless the owner's rules allow it unasked; else it is an operation of its own, which waits.
"""

from __future__ import annotations

from collections.abc import Sequence

from mcp_proton.domain.context import Context
from mcp_proton.domain.effects import Effect
from mcp_proton.domain.errors import Refused
from mcp_proton.domain.operation import Request, Result
from mcp_proton.domain.outcome import Outcome
from mcp_proton.domain.plan import Plan
from mcp_proton.domain.ports import Artifact
from mcp_proton.domain.web_address import WebAddress
from mcp_proton.mime.file_names import file_name
from mcp_proton.services.fields import Mark, marked

OPERATION = "artifacts_fetch"
"""What fetches for its own sake, and waits where it has to."""

MOST = 1 << 40
"""No limit of ours: the owner's own, of a fetch and of the store, are lower."""


async def fetch(url: str, name: str | None, ctx: Context, most: int) -> Artifact:
    """Fetch a file into the managed store. `OverLimit` beyond `most` octets; what was not whole leaves nothing behind."""
    async with ctx.remote.open(WebAddress.parse(url), most) as found:
        filename = file_name(name or found.filename)
        async with ctx.artifacts.create(ctx.caller, filename, found.media_type) as writer:
            done = 0
            async for chunk in found.chunks:
                await writer.write(chunk)
                done += len(chunk)
                await ctx.progress(done, found.size, "fetching")
            return await writer.done()


def urls(request: Request) -> Sequence[str]:
    """Return the addresses that a request names."""
    return [value for mark, _, value in marked(request) if mark is Mark.URL]


def outside(plan: Plan, url: str) -> Plan:
    """Return what of a plan asks the host of that address."""
    impacts = frozenset(impact for impact in plan.impacts if impact.effect is Effect.FETCH)
    return Plan(impacts=impacts, hosts=(WebAddress.parse(url).host,))


def first(asked: Outcome[Result]) -> Outcome[Result]:
    """The answer to who wanted to send a file that must be fetched first: how asking for that stands."""
    if asked.status not in ("approval_pending", "ok"):
        return asked
    return Outcome(
        status=Refused.status,
        operation_id=asked.operation_id,
        code="fetch_first",
        why="nothing was written or sent: the file it attaches must be fetched first, which this operation asks the owner for",
        next="once the owner approved, operations_resume fetches it; then ask again with the artifact in place of the URL",
        expires_at=asked.expires_at,
    )
