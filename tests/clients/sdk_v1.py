"""The official Python SDK's client, first generation: `python sdk_v1.py URL TOKEN`, in an environment that has it."""

from __future__ import annotations

import asyncio
import json
import sys

from mcp import ClientSession
from mcp.client.streamable_http import streamablehttp_client


async def main(url: str, token: str) -> None:
    """List the tools, read a list of mail, make a mistake, read a resource; print what came."""
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        streamablehttp_client(url, headers=headers) as (reading, writing, _),
        ClientSession(reading, writing) as session,
    ):
        begun = await session.initialize()
        tools = [tool.name for tool in (await session.list_tools()).tools]
        listed = await session.call_tool("messages_list", {"limit": 2})
        mistaken = await session.call_tool("messages_get", {"message": "demo.aaaaaa.1-1"})
        resource = await session.read_resource("mail://demo/mailboxes")
        told = {"server": begun.serverInfo, "listed": listed, "mistaken": mistaken, "resource": resource}
        print(json.dumps({"tools": tools} | {name: one.model_dump(mode="json") for name, one in told.items()}))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
