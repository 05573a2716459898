"""What the door costs a read, and what MCP over stdio adds to the same operation in process."""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from fastmcp import Client
from fastmcp.client.transports import StdioTransport

from mcp_proton import bootstrap
from mcp_proton.domain.caller import Audience, Caller, Surface
from mcp_proton.domain.mail import Mailbox
from mcp_proton.policy.reading import PolicyReader
from mcp_proton.services.door import registry
from mcp_proton.services.door.call import Call
from mcp_proton.services.door.service import MailService
from mcp_proton.services.door.world import World
from mcp_proton.services.operations.searching import MessagesList
from mcp_proton.storage.database import Database
from mcp_proton.storage.journals.journal import SqlJournal
from mcp_proton.storage.migrating import migrate
from mcp_proton.testing import FixedClock, FixedPolicy, MemoryAccount, MemoryAccounts, MemoryArtifacts

from .timing import Figure, absolute

AGENT = Caller("hermes", Audience.AGENT, Surface.TOOL)
RULES = [{"effect": "read", "verdict": "deny", "mailbox": f"Folders/Closed {number}"} for number in range(50)]


def measure() -> list[Figure]:
    """Measure both."""
    return [*asyncio.run(_door()), *asyncio.run(_stdio())]


class _Listed(MemoryAccount):
    """Keeps its list of mailboxes, as every real backend does."""

    _kept: Sequence[Mailbox] | None = None

    async def mailboxes(self, *, counts: bool = False, fresh: bool = False) -> Sequence[Mailbox]:
        if self._kept is None:
            self._kept = await super().mailboxes(counts=counts, fresh=fresh)
        return self._kept


async def _door() -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        database = Database(Path(folder) / "bench.sqlite3", migrate)
        account = _Listed("personal")
        for number in range(150):
            account.add_mailbox(f"Folders/{number}")
        clock = FixedClock()
        journal = SqlJournal(database, clock)
        policy = PolicyReader(Path("/"), clients={"hermes"}).read({"preset": "assistant", "rules": RULES})
        world = World(registry.load(), MemoryAccounts(account), FixedPolicy(policy), journal, MemoryArtifacts(), clock)
        service = MailService(world)
        request = MessagesList()
        bare, through = [], []
        for number in range(600):
            call = Call(world, AGENT, policy, service)
            began = time.perf_counter()
            await world.catalog.by_request[MessagesList].perform(request, call)  # type: ignore[union-attr]
            middle = time.perf_counter()
            await service.submit(AGENT, request)
            if number >= 100:
                bare.append(middle - began)
                through.append(time.perf_counter() - middle)
        await journal.aclose()
        await database.aclose()
    overhead = (statistics.median(through) - statistics.median(bare)) * 1000
    return [absolute("the door per read: plan, policy of 50 rules, journal (150 folders)", overhead, 1, "ms")]


async def _stdio() -> list[Figure]:
    program = str(Path(sys.executable).with_name("mcp-proton"))
    piped = []
    async with Client(StdioTransport(program, ["mcp", "--demo"], keep_alive=False)) as client:
        for number in range(60):
            began = time.perf_counter()
            await client.call_tool("messages_list", {"limit": 25})
            if number >= 10:
                piped.append(time.perf_counter() - began)
    direct = []
    caller = Caller(bootstrap.DEMO_CLIENT, Audience.AGENT, Surface.TOOL)
    async with bootstrap.demonstration() as demo:
        for number in range(60):
            began = time.perf_counter()
            await demo.service.submit(caller, MessagesList(limit=25))
            if number >= 10:
                direct.append(time.perf_counter() - began)
    more = (statistics.median(piped) - statistics.median(direct)) * 1000
    return [absolute("messages_list of 25 over MCP stdio, more than in process", more, 10, "ms")]
