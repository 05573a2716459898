"""A service without limits of its own, over a simulated Bridge, with as many clients as a load or an attack needs."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import TYPE_CHECKING

from mcp_proton import bootstrap
from mcp_proton.admin import client_tokens
from mcp_proton.config import editing
from tests.surfaces.cli.lab import CANARY, Bridge, Owner

from .process import Service

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

NO_LIMITS = {"MCP_PROTON_READS_PER_MINUTE": "0", "MCP_PROTON_WRITES_PER_MINUTE": "0"}
SENDER = "canary.example"
"""A word of every canary's sender: as little as the subject may it be seen anywhere but in answers to clients."""


class Crowd:
    """The owner's home, the Bridge behind it, and a token for each client."""

    def __init__(self, home: Path, bridge: Bridge, clients: Sequence[str], preset: str) -> None:
        self.owner = Owner(home, None)  # type: ignore[arg-type] - no command's output is looked at here
        self.bridge = bridge
        self.owner.connect(bridge, preset=preset)
        for name in clients:
            editing.add_client(self.owner.folders.config_file, name, {"profile": "full"})
        bridge.deliver(CANARY)
        self.tokens = asyncio.run(self._tokens(clients))

    def serve(self, port: int = 0) -> Service:
        """Return the service, not started yet."""
        return Service("--listen", f"127.0.0.1:{port}", home=self.owner.home, more=NO_LIMITS)

    async def _tokens(self, clients: Sequence[str]) -> dict[str, str]:
        settings = bootstrap.settings({"MCP_PROTON_HOME": str(self.owner.home)})
        return {name: await client_tokens.issued(settings, name, None) for name in clients}


@contextmanager
def crowd(home: Path, clients: Sequence[str], *, preset: str = "assistant") -> Iterator[Crowd]:
    """Give a home with a Bridge of its own."""
    with Bridge() as bridge:
        yield Crowd(home, bridge, clients, preset)
