"""`mcp-proton mcp`, as agents start it: answers `initialize` first and opens the owner's world behind it."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from mcp_proton import bootstrap
from mcp_proton.config.values import Profile
from mcp_proton.domain.errors import MailError
from mcp_proton.mcp import starting
from mcp_proton.mcp.identity import agent, label
from mcp_proton.mcp.server import build
from mcp_proton.mcp.stdio import serve_stdio

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_proton.services.door.service import MailService


def run(arguments: Sequence[str]) -> int:
    """Serve until the client is done; return the exit code."""
    given = _parser().parse_args(arguments)
    try:
        asyncio.run(_serve(given.client, given.profile, demo=given.demo))
    except MailError as error:
        sys.stderr.write(f"mcp-proton: {error.message}" + (f"; {error.next}" if error.next else "") + "\n")
        return 2
    return 0


async def _serve(client: str | None, profile: str | None, *, demo: bool) -> None:
    async with AsyncExitStack() as world:
        if demo:
            caller, chosen, schemas = agent(bootstrap.DEMO_CLIENT), profile or Profile.CORE, False

            async def opening() -> MailService:
                return (await world.enter_async_context(bootstrap.demonstration())).service
        else:
            settings = bootstrap.settings(os.environ)
            config = settings.config
            name = label(client, os.environ, config.clients)
            caller = agent(name, config.accounts_of(name))
            listed = config.clients.get(name)
            chosen = profile or (listed.profile.value if listed else Profile.CORE)
            schemas = config.service.output_schemas

            async def opening() -> MailService:
                service = (await world.enter_async_context(bootstrap.real(os.environ))).service
                service.recover()
                return service

        async def opened() -> MailService:
            try:
                return await opening()
            finally:
                starting.is_over()

        await serve_stdio(build(opened, caller, Profile(chosen), output_schemas=schemas))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="mcp-proton mcp", description="Serve MCP over standard input and output.")
    parser.add_argument("--client", help="the client's label in config.toml")
    parser.add_argument("--profile", choices=[one.value for one in Profile], help="which tools to show")
    parser.add_argument("--demo", action="store_true", help="serve the demonstration mailbox")
    return parser
