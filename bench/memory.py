"""Peak memory of the process while large things pass through it, over what it needs idle."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from mcp_proton.domain.caller import owner
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.mail import Mailbox, Role
from mcp_proton.domain.operation import Request
from mcp_proton.imap import keys
from mcp_proton.policy.model import Policy
from mcp_proton.services.door import registry
from mcp_proton.services.door.service import MailService
from mcp_proton.services.door.world import Settings, World
from mcp_proton.services.operations.attachments import AttachmentsSave
from mcp_proton.services.operations.filing import MessagesArchive
from mcp_proton.services.operations.reading import MessagesGet, MessagesRaw
from mcp_proton.services.operations.searching import MessagesList
from mcp_proton.services.operations.walking import IdPage, MessagesIds
from mcp_proton.storage.artifacts import FileArtifacts
from mcp_proton.storage.database import Database
from mcp_proton.storage.journals.journal import SqlJournal
from mcp_proton.storage.migrating import migrate
from mcp_proton.testing import FixedClock, FixedPolicy
from tests.servers.mail import Mail

from . import places
from .timing import Figure, absolute

MEGABYTES = 25
TASKS = {
    "get": f"a message of {MEGABYTES} MB is read",
    "save": f"its attachment of {MEGABYTES} MB is saved",
    "raw": "100 messages of 1 MB are taken raw one after another",
    "bulk": "10,000 messages are moved in one call",
    "walk": "50,000 ids are walked over, page by page",
}
GOALS = {"bulk": 20, "walk": 4}
BULK = 10_000
WALKED = 50_000


def measure() -> list[Figure]:
    """Run each task in a process of its own, so that no peak hides another."""
    figures = []
    with places.dovecot() as mailbox:
        large = mailbox(iter([Mail(places.big(MEGABYTES))]))
        many = mailbox(places.letters(100, size=1024 * 1024, needles=0))
        bulk = mailbox(places.letters(BULK + 60))
        walked = mailbox(places.letters(WALKED))
        for task, what in TASKS.items():
            place = {"raw": many, "bulk": bulk, "walk": walked}.get(task, large)
            told = [place.host, str(place.port), place.username, place.password, task]
            done = subprocess.run(
                [sys.executable, "-m", "bench.memory", *told], capture_output=True, text=True, check=True
            )
            figures.append(
                absolute(f"peak memory over idle while {what}", json.loads(done.stdout), GOALS.get(task, 40), "MiB")
            )
    return figures


class _OneAccount:
    names = ("bench",)
    default = "bench"

    def __init__(self, backend: object) -> None:
        self._backend = backend

    def backend(self, _: str) -> object:
        return self._backend


@asynccontextmanager
async def _service(host: str, port: str, username: str, password: str) -> AsyncIterator[MailService]:
    from mcp_proton.imap.backend import ImapBackend
    from mcp_proton.imap.login.endpoint import Credentials, Endpoint, TlsMode

    async def given() -> str:
        return password

    endpoint = Endpoint(host, int(port), TlsMode.PLAIN, plain_to_this_machine=True)
    backend = ImapBackend("bench", endpoint, Credentials(username, given))
    clock = FixedClock()
    with TemporaryDirectory() as folder:
        artifacts = FileArtifacts(Path(folder) / "artifacts", clock)
        (Path(folder) / "state").mkdir(mode=0o700)
        database = Database(Path(folder) / "state" / "store.sqlite3", migrate)
        journal = SqlJournal(database, clock)
        service = MailService(
            World(
                catalog=registry.load(),
                accounts=_OneAccount(backend),  # type: ignore[arg-type]
                policies=FixedPolicy(Policy()),
                journal=journal,
                artifacts=artifacts,
                clock=clock,
                settings=Settings(patience=3600.0),
            )
        )
        yield service
        await service.aclose()
        await backend.aclose()
        await journal.aclose()
        await database.aclose()


async def _task(name: str, *server: str) -> float:
    """Do one task as the owner and return by how many MiB the peak rose over the idle process."""
    async with _service(*server) as service:
        if name == "walk":
            return await _walked(service)
        listed = await service.submit(owner(), MessagesList(limit=50))
        handles = [row.handle for row in listed.result.messages]  # type: ignore[union-attr]
        await service.submit(owner(), MessagesGet(message=handles[0], view="structure"))
        if name == "bulk":
            await _moved(service, handles[:50])  # what the first change loads is not what a large one costs
        idle = peak(reset=True)
        requests: list[Request] = []
        match name:
            case "get":
                requests = [MessagesGet(message=handles[0])]
            case "save":
                requests = [AttachmentsSave(message=handles[0], index=1)]
            case "raw":
                requests = [*(MessagesRaw(message=handle, save=True) for handle in handles)] * 2
        if name == "bulk":
            await _moved(service, await _all(service))
        for request in requests:
            told = await service.submit(owner(), request)
            assert told.status == "ok", told
        return peak() - idle


async def _walked(service: MailService) -> float:
    """Walk over a mailbox of which nothing is known: even a list would have its dates read."""
    told = await service.submit(owner(), MessagesIds(mailbox="drafts"))
    assert told.status == "ok", told
    idle = peak(reset=True)
    position: int | None = 0
    walked = 0
    while position is not None:
        told = await service.submit(owner(), MessagesIds(mailbox="inbox", limit=100, position=position))
        assert isinstance(told.result, IdPage), told
        position, walked = told.result.next_position, walked + len(told.result.ids)
    assert walked == WALKED
    return peak() - idle


async def _moved(service: MailService, handles: Sequence[str]) -> None:
    told = await service.submit(owner(), MessagesArchive(messages=tuple(handles)))
    assert told.status == "ok", told
    assert told.result is not None, told


async def _all(service: MailService) -> list[str]:
    """The handles of a mailbox whose UIDs count from 1."""
    listed = await service.submit(owner(), MessagesList(limit=1))
    (row,) = listed.result.messages  # type: ignore[union-attr]
    one = Handle.parse(row.handle)
    uidvalidity, newest = keys.read(one.key)
    box = Mailbox(one.account, "INBOX", "INBOX", Role.INBOX)
    assert box.tag == one.tag
    return [str(keys.handle(box, uidvalidity, uid)) for uid in range(newest - BULK + 1, newest + 1)]


def peak(*, reset: bool = False) -> float:
    """The peak resident size in MiB; `reset` makes the kernel count anew from now."""
    status = Path("/proc/self/status").read_text()
    found = float(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))) / 1024
    if reset:
        Path("/proc/self/clear_refs").write_text("5")
        status = Path("/proc/self/status").read_text()
        found = float(next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS"))) / 1024
    return found


if __name__ == "__main__":
    print(json.dumps(asyncio.run(_task(sys.argv[5], *sys.argv[1:5]))))
