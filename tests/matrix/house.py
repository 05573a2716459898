"""The service on a Bridge and a store of SQLite, as one process has it: the one that is hit, or the one that comes after it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp_proton.bridge import sync
from mcp_proton.bridge.backend import BridgeBackend
from mcp_proton.domain.caller import Audience, Caller, Surface, owner
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.ports import MailBackend, Page
from mcp_proton.domain.query import All
from mcp_proton.imap.limits import Timing
from mcp_proton.imap.login.endpoint import Credentials, Endpoint, TlsMode
from mcp_proton.jmap.backend import JmapBackend
from mcp_proton.jmap.protocol.endpoint import Credentials as JmapCredentials
from mcp_proton.jmap.protocol.endpoint import Endpoint as JmapEndpoint
from mcp_proton.jmap.protocol.web import Timing as JmapTiming
from mcp_proton.policy.reading import PolicyReader
from mcp_proton.services.acting import batches
from mcp_proton.services.door.service import MailService
from mcp_proton.services.door.world import Settings, World
from mcp_proton.services.door.wrappers import RetryReads
from mcp_proton.services.operations import transfers
from mcp_proton.services.presenting.answers import answer
from mcp_proton.storage.database import Database
from mcp_proton.storage.journals.journal import SqlJournal
from mcp_proton.storage.leases import SqlLeases
from mcp_proton.storage.migrating import migrate
from mcp_proton.storage.runners import Runner
from mcp_proton.testing import FixedClock, FixedPolicy, MemoryArtifacts
from tests.matrix.acts import CATALOG
from tests.matrix.world import Kind

AGENT = Caller("hermes", Audience.AGENT, Surface.TOOL)
CHANGING = ("organize", "draft", "destroy", "delete_folder", "delete_label")


@contextmanager
def _small_steps() -> Iterator[None]:
    """Steps of two messages, so that a few make several; the second between two looks, whether counts still grow, is
    nothing that faults depend on."""
    before = batches.CHUNK, transfers.STEP, sync.APART
    batches.CHUNK, transfers.STEP, sync.APART = 2, 2, 0.02
    try:
        yield
    finally:
        batches.CHUNK, transfers.STEP, sync.APART = before


@dataclass(frozen=True)
class Address:
    """Where the account is, and on what kind of server. `silence` is the longest wait for an answer, in seconds."""

    host: str
    port: int
    username: str
    password: str
    silence: float = 90.0
    guarded: bool = False
    kind: Kind = "bridge"


class House:
    """What a test asks of the service. Every change waits for the owner."""

    def __init__(self, service: MailService, backend: MailBackend, journal: SqlJournal, clock: FixedClock) -> None:
        self.service, self.backend, self.journal, self.clock = service, backend, journal, clock

    async def ask(self, operation: str, who: Caller = AGENT, /, **arguments: Any) -> dict[str, Any]:
        """Submit a request by name and return the answer as a client sees it."""
        request = CATALOG.by_name[operation].request.model_validate(arguments)
        return answer(await self.service.submit(who, request))

    async def approve(self, operation_id: str) -> None:
        """The owner says yes."""
        told = await self.ask("approvals_approve", owner(), operation_id=operation_id)
        assert told["state"] == "approved", told

    async def handles(self, mailbox: str, keys: Sequence[str]) -> list[str]:
        """The handles of messages, by their subjects."""
        found = await self._listed(mailbox)
        return [str(found[key]) for key in keys]

    async def _listed(self, mailbox: str) -> dict[str, Handle]:
        box = next(one for one in await self.backend.mailboxes() if one.path == mailbox)
        return {row.subject: row.handle for row in (await self.backend.search([box], All(), Page(50))).rows}

    async def settle(self) -> None:
        """What a process does at its start."""
        await self.service._recovery.all()
        await self.service._proving.all()


class _Accounts:
    default = "personal"

    def __init__(self, backends: Mapping[str, MailBackend]) -> None:
        self.names = tuple(backends)
        self._backends = {name: RetryReads(backend) for name, backend in backends.items()}

    def backend(self, name: str) -> RetryReads:
        return self._backends[name]


def backend_of(address: Address, name: str = "personal") -> MailBackend:
    """The account, as its kind of server is spoken to."""

    async def secret() -> str:
        return address.password

    if address.kind == "jmap":
        return JmapBackend(
            name,
            JmapEndpoint(f"http://{address.host}:{address.port}"),
            JmapCredentials(address.username, secret),
            labels="Labels",
            listed_for=0.0,
            timing=JmapTiming(answer=address.silence),
        )
    endpoint = Endpoint(address.host, address.port, TlsMode.PLAIN, plain_to_this_machine=True)
    credentials = Credentials(address.username, secret)
    timing = Timing(silence=address.silence)
    return BridgeBackend(name, endpoint, credentials, guarded_trash=address.guarded, timing=timing)


@asynccontextmanager
async def opened(store: Path, address: Address, minutes: int = 0, other: Address | None = None) -> AsyncIterator[House]:
    """Open the service, so many minutes after the first process did; `other` is a second account, called work."""

    backend = backend_of(address)
    backends = {"personal": backend} | ({} if other is None else {"work": backend_of(other, "work")})
    clock = FixedClock()
    clock.wind(minutes=minutes)
    database = Database(store, migrate)
    runner = Runner(database, clock)
    journal = SqlJournal(database, clock, runner=runner)
    rules = {"preset": "autonomous", "rules": [{"effect": effect, "verdict": "ask"} for effect in CHANGING]}
    policy = PolicyReader(home=Path("/home/owner"), clients={"hermes"}).read(rules)
    world = World(
        CATALOG,
        _Accounts(backends),
        FixedPolicy(policy),
        journal,
        MemoryArtifacts(),
        clock,
        Settings(prove_after=3600.0),
        SqlLeases(database, clock, runner),
    )
    service = MailService(world)
    try:
        with _small_steps():
            yield House(service, backend, journal, clock)
    finally:
        await service.aclose()
        for one in backends.values():
            await one.aclose()
        await journal.aclose()
        await database.aclose()
