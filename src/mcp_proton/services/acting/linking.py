"""Linking: a link for a file is made, as the rules allowed it (N-12). `redeeming` is what happens when it is used."""

from __future__ import annotations

from mcp_proton.domain.context import Context
from mcp_proton.domain.links import LIFETIME, Link, Way
from mcp_proton.domain.ports import Artifact


async def download(kept: Artifact, account: str | None, ctx: Context) -> tuple[str, Link]:
    """Make a link by which an artifact is fetched once. `account` is where it was taken from."""
    expires = ctx.clock.now() + LIFETIME
    link = Link(ctx.caller.name, Way.DOWNLOAD, kept.id, kept.filename, kept.media_type, kept.size, expires, account)
    return await ctx.links.make(link), link


async def upload(filename: str, media_type: str, ctx: Context) -> tuple[str, Link]:
    """Make a link by which an artifact is made once. It has its id already; it is there when its octets are."""
    expires = ctx.clock.now() + LIFETIME
    link = Link(ctx.caller.name, Way.UPLOAD, ctx.artifacts.name(), filename, media_type, ctx.links.most, expires)
    return await ctx.links.make(link), link
