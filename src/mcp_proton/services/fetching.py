"""Fetching: a file from an https address becomes an artifact, once; what is attached, shown and sent is that (J-26, J-27).

An address can carry data out of the house, to whoever wrote it into a mail. So nothing is asked of a host as a mere
preparation unless the owner's rules allow it unasked; else it is an operation of its own, which waits.
"""

from __future__ import annotations

from mcp_proton.domain.context import Context
from mcp_proton.domain.effects import Effect
from mcp_proton.domain.errors import Refused
from mcp_proton.domain.plan import Plan
from mcp_proton.domain.ports import Artifact
from mcp_proton.domain.web_address import WebAddress
from mcp_proton.mime.file_names import file_name

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


def outside(plan: Plan) -> Plan:
    """Return what of a plan asks somebody outside."""
    impacts = frozenset(impact for impact in plan.impacts if impact.effect is Effect.FETCH)
    return Plan(impacts=impacts, hosts=plan.hosts)


def first() -> Refused:
    """The refusal of a mail that would need a file fetched which the owner has to allow."""
    return Refused(
        "fetching this file needs the owner's approval by itself",
        code="fetch_first",
        next="call artifacts_fetch, and attach the artifact that it returns; nothing was asked of any host",
    )
