"""A server for one client on standard input and output, as a process of its own; with marks of its ends on stderr.

python -m tests.surfaces.mcp.child [profile] [seconds that opening takes]
"""

from __future__ import annotations

import asyncio
import sys

from mcp_proton.mcp.identity import agent
from mcp_proton.mcp.profiles import Profile
from mcp_proton.mcp.server import build
from mcp_proton.mcp.stdio import serve_stdio


async def _main(profile: Profile, seconds: float) -> None:
    async def opening():
        await asyncio.sleep(seconds)
        from tests.surfaces.mcp.world import Lab

        return Lab().service

    await serve_stdio(build(opening, agent("hermes"), profile))
    print("closed in order", file=sys.stderr)


if __name__ == "__main__":
    words = sys.argv[1:]
    asyncio.run(_main(Profile(words[0] if words else "core"), float(words[1]) if len(words) > 1 else 0.0))
