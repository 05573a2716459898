"""`mcp-proton serve`: the always-on service, for many clients, until a signal ends it."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from mcp_proton import bootstrap
from mcp_proton.config.serving import Place, place
from mcp_proton.domain.errors import MailError, NotFound
from mcp_proton.mcp.doorway import wide_open
from mcp_proton.mcp.logs import to_stderr

from . import listening
from .app import Application
from .readiness import Readiness
from .running import serve
from .servers import PATH

if TYPE_CHECKING:
    from collections.abc import Sequence


def run(arguments: Sequence[str]) -> int:
    """Serve until a signal comes; return the exit code."""
    given = _parser().parse_args(arguments)
    try:
        asyncio.run(_serve(given.listen, demo=given.demo))
    except MailError as error:
        sys.stderr.write(f"mcp-proton: {error.message}" + (f"; {error.next}" if error.next else "") + "\n")
        return 2
    return 0


async def _serve(where: Place | None, *, demo: bool) -> None:
    to_stderr()
    async with AsyncExitStack() as stack:
        if not demo and not bootstrap.settings(os.environ).config.accounts:
            raise NotFound("no account is connected yet", next="run `mcp-proton setup`, or try --demo")
        world = bootstrap.demonstration() if demo else bootstrap.real(os.environ)
        running = await stack.enter_async_context(world)
        service = running.settings.config.service
        door = listening.opened(where or place(service.listen), service.socket_group)
        stack.callback(door.close)
        if not demo:
            running.service.recover()
        app = Application(running, wide_open, Readiness(running).look)
        stack.push_async_callback(app.aclose)
        _announce(door, await running.tokens.issue(bootstrap.DEMO_CLIENT) if demo else None)
        await serve([(app, door.socket)], app.ending.set)


def _announce(door: listening.Listening, token: str | None) -> None:
    sys.stderr.write(f"mcp-proton: serving at {door if door.path else f'{door}{PATH}'}\n")
    if token is not None:
        sys.stderr.write(f"mcp-proton: the demonstration's client token is {token}\n")
    sys.stderr.flush()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="mcp-proton serve", description="Serve MCP over HTTP to many clients.")
    parser.add_argument("--listen", type=_place, help="where to listen, instead of what config.toml says")
    parser.add_argument("--demo", action="store_true", help="serve the demonstration mailbox")
    return parser


def _place(text: str) -> Place:
    try:
        found = place(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if not found.is_of_this_machine:
        raise argparse.ArgumentTypeError("only an address of this machine can be given here; others in config.toml")
    return found
