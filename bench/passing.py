"""A file of 40 MB goes from a message in one account into a mail of another: by how much memory rises, in how many tokens.

    python -m bench.passing '{…}'      # one way, in a process of its own: the service between two servers

From Dovecot over IMAP into a draft on Cyrus over JMAP, and back into a mail that an SMTP server takes.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mcp_proton.domain.caller import owner
from mcp_proton.domain.mail import Identity
from mcp_proton.imap.backend import ImapBackend
from mcp_proton.imap.login.endpoint import Credentials, Endpoint, Pin, TlsMode
from mcp_proton.imap.submission.outlet import Outlet
from mcp_proton.jmap.backend import JmapBackend
from mcp_proton.jmap.protocol.endpoint import Credentials as JmapCredentials
from mcp_proton.jmap.protocol.endpoint import Endpoint as JmapEndpoint
from mcp_proton.policy.model import Policy
from mcp_proton.services.door import registry
from mcp_proton.services.door.service import MailService
from mcp_proton.services.door.world import World
from mcp_proton.services.presenting.answers import answer
from mcp_proton.storage.artifacts import FileArtifacts
from mcp_proton.storage.database import Database
from mcp_proton.storage.journals.journal import SqlJournal
from mcp_proton.storage.migrating import migrate
from mcp_proton.testing import FixedClock, FixedPolicy, MemoryAccounts
from tests.o200k import count
from tests.servers.account import Account
from tests.servers.cyrus import Cyrus
from tests.servers.dovecot import Dovecot
from tests.servers.fixtures import running
from tests.servers.mail import Mail

from . import places, sending
from .memory import peak
from .timing import Figure, absolute

MEGABYTES = 40
ME = (Identity("alice@example.org", "Alice"),)
MOST_TOKENS, MOST_MEMORY = 500, 40


def measure() -> list[Figure]:
    """Both ways."""
    figures = []
    with running(Dovecot) as dovecot, running(Cyrus) as cyrus, sending.sink(size=100_000_000) as (port, pin):
        for way in ("imap to jmap", "jmap to imap"):
            told = passed(way, dovecot.account(), cyrus.account(), port, pin)
            what = f"{MEGABYTES} MB by reference, {way}"
            figures.append(absolute(f"{what}: peak memory over idle", told["memory"], MOST_MEMORY, "MiB"))
            figures.append(absolute(f"{what}: all calls together", told["tokens"], MOST_TOKENS, "tokens"))
    return figures


def passed(way: str, imap: Account, jmap: Account, port: int, pin: str) -> dict[str, float]:
    """Put the file where it comes from, and pass it on in a process of its own: its memory in MiB, and the tokens."""
    (imap if way == "imap to jmap" else jmap).load([Mail(places.big(MEGABYTES))])
    told = {
        "way": way,
        "imap": [imap.host, imap.imap_port, imap.username, imap.password],
        "jmap": [f"http://{jmap.host}:{jmap.jmap_port}", jmap.username, jmap.password],
        "smtp": [port, pin],
    }
    words = [sys.executable, "-m", "bench.passing", json.dumps(told)]
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


@asynccontextmanager
async def _service(told: Mapping[str, Any]) -> AsyncIterator[MailService]:
    def given(secret: str) -> Any:
        async def password() -> str:
            return secret

        return password

    host, port, username, password = told["imap"]
    url, user, secret = told["jmap"]
    smtp, pin = told["smtp"]
    endpoint = Endpoint(host, port, TlsMode.PLAIN, plain_to_this_machine=True)
    outlet = Outlet(Endpoint("127.0.0.1", smtp, TlsMode.STARTTLS, Pin.read(pin)), Credentials("alice", given("secret")))
    from_imap = ImapBackend("imap", endpoint, Credentials(username, given(password)), outlet=outlet, configured=ME)
    from_jmap = JmapBackend("jmap", JmapEndpoint(url), JmapCredentials(user, given(secret)), configured=ME)
    clock = FixedClock()
    with TemporaryDirectory() as folder:
        (Path(folder) / "state").mkdir(mode=0o700)
        database = Database(Path(folder) / "state" / "store.sqlite3", migrate)
        journal = SqlJournal(database, clock)
        artifacts = FileArtifacts(Path(folder) / "artifacts", clock)
        accounts = MemoryAccounts(from_imap, from_jmap)
        service = MailService(World(registry.load(), accounts, FixedPolicy(Policy()), journal, artifacts, clock))
        yield service
        await service.aclose()
        await from_imap.aclose()
        await from_jmap.aclose()
        await journal.aclose()
        await database.aclose()


async def _pass(told: Mapping[str, Any]) -> dict[str, float]:
    source, target = told["way"].split(" to ")
    tokens = 0

    async with _service(told) as service:

        async def ask(operation: str, **arguments: Any) -> dict[str, Any]:
            nonlocal tokens
            request = service.world.catalog.by_name[operation].request.model_validate(arguments)
            answered = answer(await service.submit(owner(), request))
            assert answered["status"] == "ok", answered
            for said in ({"name": operation, "arguments": arguments}, answered):
                tokens += count(json.dumps(said, separators=(",", ":")))
            return answered

        (row,) = (await ask("messages_list", account=source, limit=1))["messages"]
        (file,) = (await ask("attachments_list", message=row["handle"]))["attachments"]
        small = {"to": ["Bob <bob@example.org>"], "account": target, "subject": "Plans"}
        operation = "drafts_create" if target == "jmap" else "mail_send"
        before = tokens
        await ask(operation, **small, text="first")  # what the first mail loads is not what a large one costs
        tokens, idle = before, peak(reset=True)
        attach = [{"message": row["handle"], "index": file["index"]}]
        await ask(operation, **small, text="Here is the file.", attach=attach)
        return {"memory": peak() - idle, "tokens": tokens}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(_pass(json.loads(sys.argv[1])))))
