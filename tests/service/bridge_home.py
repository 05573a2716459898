"""An owner's home whose account is on a simulated Bridge, and processes of the service in it."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcp_proton import bootstrap
from mcp_proton.config import folders as places

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from mcp_proton.simulator import Simulator

_PATIENCE = 60.0


def furnished(home: Path, simulator: Simulator, *, guarded: bool = False) -> dict[str, str]:
    """Write the configuration; return the environment that leads to it."""
    home.mkdir(mode=0o700, exist_ok=True)
    environment = {**os.environ, "MCP_PROTON_HOME": str(home)}
    folders = places.find(environment)
    for folder in (folders.config, folders.state):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    password = folders.state / "password"
    password.write_text(simulator.password)
    password.chmod(0o600)
    folders.config_file.write_text(
        f"""[accounts.me]
kind = "bridge"
host = "{simulator.host}"
imap_port = {simulator.imap_port}
username = "{simulator.username}"
secret = "file:{password}"
certificate = "{bootstrap.fingerprint(simulator.certificate_pem)}"
guarded_trash = {str(guarded).lower()}
"""
    )
    folders.config_file.chmod(0o600)
    return environment


class Child:
    """A process of the service."""

    def __init__(self, running: asyncio.subprocess.Process) -> None:
        self.running = running

    async def send(self, operation: str, **arguments: Any) -> None:
        """Ask, without waiting for the answer."""
        assert self.running.stdin is not None
        self.running.stdin.write(json.dumps({"ask": operation, "with": arguments}).encode() + b"\n")
        await self.running.stdin.drain()

    async def ask(self, operation: str, **arguments: Any) -> dict[str, Any]:
        """Ask, and wait for the answer."""
        await self.send(operation, **arguments)
        assert self.running.stdout is not None
        return json.loads(await asyncio.wait_for(self.running.stdout.readline(), _PATIENCE))  # type: ignore[no-any-return]

    async def kill(self) -> None:
        """SIGKILL."""
        self.running.kill()
        await self.running.wait()


@asynccontextmanager
async def child(environment: dict[str, str], script: str = "bridge_process.py", *more: str) -> AsyncIterator[Child]:
    """Run one; it is over when the block ends."""
    running = await asyncio.create_subprocess_exec(
        sys.executable,
        str(Path(__file__).with_name(script)),
        *more,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env=environment,
    )
    try:
        yield Child(running)
    finally:
        if running.returncode is None:
            assert running.stdin is not None
            running.stdin.close()
            try:
                await asyncio.wait_for(running.wait(), _PATIENCE)
            except TimeoutError:
                running.kill()
                await running.wait()


async def until(holds: Callable[[], bool], what: str) -> None:
    """Wait for something that comes by itself."""
    for _ in range(int(_PATIENCE / 0.05)):
        if holds():
            return
        await asyncio.sleep(0.05)
    raise AssertionError(f"never came: {what}")
