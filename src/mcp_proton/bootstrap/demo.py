"""The demonstration's world: a simulator with a lively mailbox, no configuration, and rules that show all three verdicts."""

from __future__ import annotations

import tempfile
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_proton.bootstrap.owner import Settings
from mcp_proton.bootstrap.running import Running, opened
from mcp_proton.config import folders as places
from mcp_proton.config.tables import Account, Client, Config, Storage
from mcp_proton.config.values import Kind, Profile

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mcp_proton.simulator import Simulator

DEMO_CLIENT = "demo"
DEMO_ACCOUNT = "demo"
DEMO_MESSAGES = 140
DEMO_OWNER = "Alex Example <alex@proton.example>"
_DEMO_POLICY = """
preset = "custom"

[custom]
export = "allow"
organize = "ask"
draft = "ask"
send = "ask"
ingest = "ask"
import = "ask"
automate = "ask"
destroy = "deny"
delete_folder = "deny"
delete_label = "deny"

[boundaries]
export_directories = ["{exports}"]
"""


@asynccontextmanager
async def demonstration(messages: int = DEMO_MESSAGES, seed: int = 1) -> AsyncIterator[Running]:
    """Open a world without any configuration: a simulator with a lively mailbox, rules as `--demo` promises.

    Reading and export are allowed, changing asks, deleting is denied. Everything is gone afterwards.
    """
    from mcp_proton.testing import MemoryVault

    async with AsyncExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="mcp-proton-demo-")))
        simulator = await stack.enter_async_context(simulated(messages=messages, seed=seed))
        found = Settings(places.Folders.under(home), _demo_config(simulator))
        found.folders.config.mkdir(mode=0o700, parents=True)
        exports = home / "exports"
        exports.mkdir()
        found.folders.policy_file.write_text(_DEMO_POLICY.format(exports=exports), encoding="utf-8")
        found.folders.policy_file.chmod(0o600)
        vault = MemoryVault({DEMO_ACCOUNT: simulator.password})
        yield await stack.enter_async_context(opened(found, vault, {}))


@asynccontextmanager
async def simulated(*, messages: int, port: int = 0, seed: int = 1) -> AsyncIterator[Simulator]:
    """Run a simulator of Proton Mail Bridge with a made-up mailbox."""
    from mcp_proton.simulator import Simulator, lively_user

    user = lively_user(messages, seed=seed, owner=DEMO_OWNER)
    async with Simulator(users=[user], port=port, event_delay=(20.0, 40.0), seed=seed) as simulator:
        yield simulator


def fingerprint(certificate_pem: str) -> str:
    """Return `sha256:` and the digest of a certificate, as config.toml writes it."""
    import hashlib
    import ssl

    return "sha256:" + hashlib.sha256(ssl.PEM_cert_to_DER_cert(certificate_pem)).hexdigest()


def _demo_config(simulator: Simulator) -> Config:
    account = Account(
        kind=Kind.BRIDGE,
        host=simulator.host,
        imap_port=simulator.imap_port,
        smtp_port=simulator.smtp_port,
        username=simulator.username,
        secret="keyring",  # noqa: S106 - where a password would be; the demonstration has its own vault
        certificate=fingerprint(simulator.certificate_pem),
    )
    clients = {DEMO_CLIENT: Client(profile=Profile.CORE)}
    return Config(accounts={DEMO_ACCOUNT: account}, clients=clients, storage=Storage(date_index=False))
