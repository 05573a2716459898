"""An MCP server that notes each call it begins and each that is cancelled, for tests of what stands between.

python -m tests.surfaces.http.strange_server PORT FILE
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import mcp_types
import uvicorn
from fastmcp import Context, FastMCP

from mcp_proton.mcp.ask import Asked, answered, ask

server = FastMCP("strange")
NOTES = Path(sys.argv[2])


def note(what: str) -> int:
    with NOTES.open("a") as file:
        file.write(what + "\n")
    return NOTES.read_text().splitlines().count(what)


async def work(kind: str, context: Context) -> str:
    """Take for ever the first time, no time after that."""
    times = note(kind)
    await context.report_progress(1, 2, kind)
    try:
        await asyncio.sleep(600 if times == 1 else 0)
    except asyncio.CancelledError:
        note(f"{kind} cancelled")
        raise
    return f"done at attempt {times}"


@server.tool(annotations=mcp_types.ToolAnnotations(read_only_hint=True))
async def look(context: Context) -> str:
    return await work("look", context)


@server.tool(annotations=mcp_types.ToolAnnotations(read_only_hint=False))
async def act(context: Context) -> str:
    return await work("act", context)


@server.tool
async def question(context: Context):
    brought = answered(context)
    answer = brought[1] if brought else await ask(context, "state", "really?")
    return answer.result if isinstance(answer, Asked) else answer.value


if __name__ == "__main__":
    uvicorn.run(
        server.http_app("/mcp", host_origin_protection=True), port=int(sys.argv[1]), log_config=None, lifespan="on"
    )
