"""The owner's world, opened: accounts, rules, journal, artifacts and the one service over them."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from mcp_proton.bootstrap import logins
from mcp_proton.bootstrap.accounts import Listed, served, tried
from mcp_proton.bootstrap.callers import Callers, Secrets
from mcp_proton.bootstrap.clock import SystemClock
from mcp_proton.bootstrap.internet import Internet
from mcp_proton.bootstrap.owner import Rules, Settings, findings, settings, switches_file
from mcp_proton.bootstrap.store import migrated, passkeys_in, sign_ins_in, tokens_in
from mcp_proton.config.inforce import ConfigFile
from mcp_proton.domain.errors import MailError
from mcp_proton.policy.model import Policy
from mcp_proton.storage.access.switchfile import SwitchFile

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from mcp_proton.bridge.trying.trials import Trials
    from mcp_proton.domain.ports import SecretProvider
    from mcp_proton.services.door.service import MailService
    from mcp_proton.storage.access.links import SqlLinks
    from mcp_proton.storage.access.passkeys import SqlPasskeys
    from mcp_proton.storage.access.sign_ins import SqlSignIns
    from mcp_proton.storage.access.tokens import SqlTokens
    from mcp_proton.storage.artifacts import FileArtifacts
    from mcp_proton.storage.journals.journal import SqlJournal

TIDY_AFTER = 30.0


@dataclass(frozen=True)
class Load:
    """How busy a world is: how long lines of the journal wait, in seconds; how many connections each account has open, and
    how many of them are used.
    """

    lag: float
    connections: Mapping[str, tuple[int, int]]


@dataclass(frozen=True)
class Running:
    """A world that is open. `config` and `switches` are what the owner says now, `settings` what was said at the start."""

    service: MailService
    settings: Settings
    trials: Trials
    config: ConfigFile
    switches: SwitchFile
    tokens: SqlTokens
    passkeys: SqlPasskeys
    sign_ins: SqlSignIns
    links: SqlLinks
    callers: Callers
    load: Callable[[], Load]


@asynccontextmanager
async def real(environ: Mapping[str, str]) -> AsyncIterator[Running]:
    """Open the owner's world."""
    from mcp_proton.storage.vault import Vault

    found = settings(environ)
    vault = Vault(logins.places(found.config.accounts), environ)
    async with opened(found, vault, environ) as running:
        yield running


@asynccontextmanager
async def opened(found: Settings, vault: SecretProvider, environ: Mapping[str, str]) -> AsyncIterator[Running]:
    """Open the world that `found` describes, with the passwords of `vault`."""
    from mcp_proton.bridge.trying.trials import Trials
    from mcp_proton.documents.reading import ChildDocuments
    from mcp_proton.domain.effects import Effect
    from mcp_proton.services.door import registry
    from mcp_proton.services.door.service import MailService
    from mcp_proton.services.door.world import Settings as ServiceSettings
    from mcp_proton.services.door.world import World
    from mcp_proton.storage.access.channels import SqlChannels
    from mcp_proton.storage.access.links import SqlLinks
    from mcp_proton.storage.access.policyfile import PolicyInForce
    from mcp_proton.storage.access.switches import SqlSwitches
    from mcp_proton.storage.artifacts import FileArtifacts
    from mcp_proton.storage.database import Database
    from mcp_proton.storage.draft_notes import SqlDraftNotes
    from mcp_proton.storage.files import private_folder
    from mcp_proton.storage.folders.mail_files import FileMailFiles
    from mcp_proton.storage.journals.journal import SqlJournal
    from mcp_proton.storage.leases import SqlLeases
    from mcp_proton.storage.runners import Runner
    from mcp_proton.storage.sendings import SqlSendings

    clock, kept = SystemClock(), found.config.storage
    private_folder(found.folders.state)
    config = ConfigFile(found.folders.config_file, environ, found.config)
    rules, switches = Rules(found, config), SwitchFile(switches_file(found))
    database = Database(found.folders.database, migrated)
    runner = Runner(database, clock)
    journal = SqlJournal(database, clock, timedelta(days=kept.payload_days), runner)
    leases = SqlLeases(database, clock, runner)
    known = findings(found)
    callers = Callers(config.current)
    listed = Listed(found.config, config.current)
    accounts = served(found, listed, Secrets(vault, callers, listed.of_caller), known)
    trials = Trials(lambda name: tried(found, name, vault, known), known, leases, clock)
    artifacts = FileArtifacts(
        found.folders.artifacts,
        clock,
        keep=timedelta(days=kept.artifact_days),
        most_octets=kept.artifact_megabytes << 20,
        exports=lambda: rules.folders(Effect.EXPORT),
    )
    links = SqlLinks(database, clock, kept.upload_megabytes << 20)
    world = World(
        catalog=registry.load(),
        accounts=accounts,
        policies=PolicyInForce(rules, switches, Policy.with_switches),
        journal=journal,
        artifacts=artifacts,
        clock=clock,
        settings=ServiceSettings(
            timezone=found.config.service.zone,
            accounts_of=lambda client: config.current().accounts_of(client),
            of_caller=listed.of_caller,
            reviews=lambda client: config.current().reviews(client),
            spool=found.folders.state,
        ),
        leases=leases,
        sendings=SqlSendings(database),
        draft_notes=SqlDraftNotes(database, clock),
        channels=SqlChannels(database, clock),
        documents=ChildDocuments(),
        files=FileMailFiles(exports=lambda: rules.folders(Effect.EXPORT), imports=lambda: rules.folders(Effect.IMPORT)),
        remote=Internet(kept),
        links=links,
        alarm=SqlSwitches(database, switches_file(found), clock).freeze,
        clear=lambda: trials.clear(accounts.names),
    )

    def load() -> Load:
        return Load(journal.lag, accounts.connections())

    service = MailService(world)
    tidying = asyncio.create_task(_tidy(journal, artifacts, timedelta(days=kept.journal_days)))
    try:
        yield Running(
            service,
            found,
            trials,
            config,
            switches,
            tokens_in(found, database),
            passkeys_in(database),
            sign_ins_in(found, database),
            links,
            callers,
            load,
        )
    finally:
        await service.aclose()
        tidying.cancel()
        await accounts.aclose()
        await journal.aclose()
        await database.aclose()


async def _tidy(journal: SqlJournal, artifacts: FileArtifacts, keep: timedelta) -> None:
    """Forget what is over, once in the life of a process, when it has found time. A full disk is told elsewhere."""
    await asyncio.sleep(TIDY_AFTER)
    with suppress(MailError):
        await artifacts.purge()
        await journal.purge(keep)
