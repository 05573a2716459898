"""The only place that builds the world: the owner's (`real`), and the demonstration's (`demonstration`).

Heavy modules are loaded where a world is built, not where this one is imported: an agent's `initialize` is answered first.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_proton import __version__
from mcp_proton.config import folders as places
from mcp_proton.config.inforce import ConfigFile
from mcp_proton.config.reading import load
from mcp_proton.config.tables import Account, Client, Config, Kind, Profile, Security, Storage
from mcp_proton.domain.errors import MailError, NotFound
from mcp_proton.policy.model import Policy
from mcp_proton.policy.reading import PolicyReader
from mcp_proton.storage.policyfile import PolicyFile
from mcp_proton.storage.switchfile import SwitchFile
from mcp_proton.storage.tomllines import Lines, parse

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
    from typing import Unpack

    from mcp_proton.bridge.backend import BridgeBackend
    from mcp_proton.bridge.sync import Sightings
    from mcp_proton.bridge.trials import Trials
    from mcp_proton.domain.findings import KnownFindings
    from mcp_proton.domain.limits import Switches
    from mcp_proton.domain.ports import MailBackend, SecretProvider
    from mcp_proton.imap.backend import ImapBackend
    from mcp_proton.imap.backend import Settings as More
    from mcp_proton.imap.endpoint import Credentials, Endpoint, TlsMode
    from mcp_proton.imap.indexing import DateIndexStore
    from mcp_proton.imap.limits import Timing
    from mcp_proton.imap.outlet import Outlet
    from mcp_proton.jmap.backend import JmapBackend
    from mcp_proton.services.service import MailService
    from mcp_proton.simulator import Simulator
    from mcp_proton.storage.artifacts import FileArtifacts
    from mcp_proton.storage.channels import SqlChannels
    from mcp_proton.storage.database import Database
    from mcp_proton.storage.findings import FileFindings
    from mcp_proton.storage.journal import SqlJournal
    from mcp_proton.storage.switches import SqlSwitches
    from mcp_proton.storage.tokens import SqlTokens

TIDY_AFTER = 30.0
_IDENTITY = {"name": "mcp-proton", "version": __version__}
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


@dataclass(frozen=True)
class Settings:
    """What the owner wrote, and where it is."""

    folders: places.Folders
    config: Config

    def reader(self) -> PolicyReader:
        """Return the reader of policy.toml: it knows the clients and accounts that may be named there."""
        return PolicyReader(
            Path.home(),
            resolve=lambda path: Path(os.path.realpath(path)),
            clients=self.config.clients,
            accounts=self.config.accounts,
        )

    def policy_file(self) -> PolicyFile[Policy]:
        """Return the policy file; before there is one nothing is allowed."""
        nothing = Policy(clients=frozenset(self.config.clients))
        return PolicyFile(self.folders.policy_file, self.folders.last_good_policy, self.reader().read, nothing)


@dataclass(frozen=True)
class InForce:
    """The rules as they hold now, and what is wrong with the latest edit."""

    current: Policy
    problem: str | None


@dataclass(frozen=True)
class Running:
    """A world that is open. `config` and `switches` are what the owner says now, `settings` what was said at the start."""

    service: MailService
    settings: Settings
    trials: Trials
    config: ConfigFile
    switches: SwitchFile
    tokens: SqlTokens


class Rules:
    """The policy file, read with the clients that config.toml names now."""

    def __init__(self, found: Settings, config: ConfigFile) -> None:
        self._found = found
        self._config = config
        self._file = found.policy_file()

    def current(self) -> Policy:
        """Return the policy in force."""
        config = self._config.current()
        if config is not self._found.config:
            self._found = replace(self._found, config=config)
            self._file = self._found.policy_file()
        return self._file.current()

    @property
    def problem(self) -> str | None:
        """What is wrong with the latest edit."""
        return self._file.problem


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """The present instant, in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds on a clock that never jumps."""
        return time.monotonic()


class Accounts:
    """The owner's accounts; a backend is made when it is first needed, and all are closed together."""

    def __init__(self, config: Config, make: Callable[[str, Account], MailBackend]) -> None:
        self.names = tuple(config.accounts)
        self.default = config.default_account
        self._config = config
        self._make = make
        self._made: dict[str, MailBackend] = {}

    def backend(self, name: str) -> MailBackend:
        """Return the account's backend."""
        if name not in self._made:
            if name not in self._config.accounts:
                raise NotFound(f"there is no account `{name}`", next="`accounts_list` names the accounts")
            self._made[name] = self._make(name, self._config.accounts[name])
        return self._made[name]

    async def aclose(self) -> None:
        """Close every backend that was made."""
        for backend in self._made.values():
            await backend.aclose()


def settings(environ: Mapping[str, str]) -> Settings:
    """Read the configuration. Raises `Misconfigured` with file, line and key."""
    found = places.find(environ)
    return Settings(found, load(found.config_file, environ))


async def policy_in_force(found: Settings) -> InForce:
    """Return the rules as every process sees them now."""
    file = found.policy_file()
    policy = file.current()
    return InForce(policy.with_switches(await SwitchFile(_switches(found)).current()), file.problem)


async def switches_now(found: Settings) -> Switches:
    """Return what the owner switched, as every process sees it."""
    return await SwitchFile(_switches(found)).current()


def read_policy(found: Settings, file: Path) -> Policy:
    """Read a policy file that is not in force. Raises `Misconfigured`."""
    text = file.read_text(encoding="utf-8")
    return policy_check(found, file.name)(text)


def policy_check(found: Settings, name: str = "policy.toml") -> Callable[[str], Policy]:
    """Return what reads a policy's text, or raises `Misconfigured` with line and key."""
    from mcp_proton.domain.complaint import Misconfigured

    def check(text: str) -> Policy:
        try:
            return found.reader().read(parse(text, name))
        except Misconfigured as error:
            raise error.located(name, Lines(text).of) from None

    return check


@asynccontextmanager
async def switched(found: Settings) -> AsyncIterator[tuple[SqlSwitches, SqlChannels]]:
    """Open the owner's switches and the clients' live checks, without the rest of the world."""
    from mcp_proton.storage.channels import SqlChannels
    from mcp_proton.storage.switches import SqlSwitches

    async with _store(found) as database:
        clock = SystemClock()
        yield SqlSwitches(database, _switches(found), clock), SqlChannels(database, clock)


@asynccontextmanager
async def client_tokens(found: Settings) -> AsyncIterator[SqlTokens]:
    """Open the clients' tokens, without the rest of the world."""
    async with _store(found) as database:
        yield _tokens(found, database)


@asynccontextmanager
async def _store(found: Settings) -> AsyncIterator[Database]:
    from mcp_proton.storage.database import Database
    from mcp_proton.storage.files import private_folder

    private_folder(found.folders.state)
    database = Database(found.folders.database, _migrate)
    try:
        yield database
    finally:
        await database.aclose()


@asynccontextmanager
async def real(environ: Mapping[str, str]) -> AsyncIterator[Running]:
    """Open the owner's world."""
    from mcp_proton.storage.vault import Vault

    found = settings(environ)
    vault = Vault({name: one.secret for name, one in found.config.accounts.items()}, environ)
    async with _opened(found, vault, environ) as running:
        yield running


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
        yield await stack.enter_async_context(_opened(found, vault, {}))


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


@asynccontextmanager
async def _opened(found: Settings, vault: SecretProvider, environ: Mapping[str, str]) -> AsyncIterator[Running]:
    from mcp_proton.bridge.trials import Trials
    from mcp_proton.domain.effects import Effect
    from mcp_proton.services import registry
    from mcp_proton.services.service import MailService
    from mcp_proton.services.world import Settings as ServiceSettings
    from mcp_proton.services.world import World
    from mcp_proton.services.wrappers import RetryReads
    from mcp_proton.storage.artifacts import FileArtifacts
    from mcp_proton.storage.channels import SqlChannels
    from mcp_proton.storage.database import Database
    from mcp_proton.storage.dates import FileDateIndexes
    from mcp_proton.storage.draft_notes import SqlDraftNotes
    from mcp_proton.storage.files import private_folder
    from mcp_proton.storage.journal import SqlJournal
    from mcp_proton.storage.leases import SqlLeases
    from mcp_proton.storage.mail_files import FileMailFiles
    from mcp_proton.storage.policyfile import PolicyInForce
    from mcp_proton.storage.runners import Runner
    from mcp_proton.storage.sendings import SqlSendings
    from mcp_proton.storage.sightings import FileSightings
    from mcp_proton.storage.switches import SqlSwitches

    clock, kept = SystemClock(), found.config.storage
    private_folder(found.folders.state)
    config = ConfigFile(found.folders.config_file, environ, found.config)
    rules, switches = Rules(found, config), SwitchFile(_switches(found))
    database = Database(found.folders.database, _migrate)
    runner = Runner(database, clock)
    journal = SqlJournal(database, clock, timedelta(days=kept.payload_days), runner)
    dates = FileDateIndexes(found.folders.state / "dates", enabled=kept.date_index)
    known = findings(found)
    sightings = FileSightings(found.folders.state / "sync")

    def served(name: str, account: Account) -> MailBackend:
        return RetryReads(
            backend(name, account, lambda: vault.secret(name), dates=dates, known=known, sightings=sightings)
        )

    def opened_for(effect: Effect) -> list[Path]:
        return [path for fence in rules.current().fences for path in fence.folders.get(effect, ())]

    accounts = Accounts(found.config, served)
    artifacts = FileArtifacts(
        found.folders.artifacts,
        clock,
        keep=timedelta(days=kept.artifact_days),
        most_octets=kept.artifact_megabytes << 20,
        exports=lambda: opened_for(Effect.EXPORT),
    )
    leases = SqlLeases(database, clock, runner)

    trials = Trials(
        lambda name: _bridge(name, found.config.accounts[name], lambda: vault.secret(name), known), known, leases, clock
    )
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
            reviews=lambda client: config.current().reviews(client),
            spool=found.folders.state,
        ),
        leases=leases,
        sendings=SqlSendings(database),
        draft_notes=SqlDraftNotes(database, clock),
        channels=SqlChannels(database, clock),
        files=FileMailFiles(exports=lambda: opened_for(Effect.EXPORT), imports=lambda: opened_for(Effect.IMPORT)),
        alarm=SqlSwitches(database, _switches(found), clock).freeze,
        clear=lambda: trials.clear(accounts.names),
    )
    service = MailService(world)
    tidying = asyncio.create_task(_tidy(journal, artifacts, timedelta(days=kept.journal_days)))
    try:
        yield Running(service, found, trials, config, switches, _tokens(found, database))
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


def endpoint(account: Account) -> Endpoint:
    """Return where an account's server is and how it is trusted."""
    from mcp_proton.imap.endpoint import Endpoint, Pin

    return Endpoint(
        host=account.host,
        port=account.imap,
        tls=tls_mode(account.protection),
        pin=Pin.read(account.certificate) if account.certificate else None,
        plain_to_this_machine=account.security is Security.PLAIN,
    )


def submission(account: Account) -> Endpoint:
    """Return where an account's mail is handed over, and how that server is trusted."""
    from mcp_proton.imap.endpoint import Endpoint, Pin

    pinned = account.submission_certificate
    return Endpoint(
        host=account.submission_host,
        port=account.smtp,
        tls=tls_mode(account.smtp_protection),
        pin=Pin.read(pinned) if pinned else None,
        plain_to_this_machine=account.smtp_protection is Security.PLAIN,
    )


def outlet(account: Account, login: Credentials) -> Outlet | None:
    """Return where an account's mail leaves it; None where the owner switched sending off."""
    from mcp_proton.imap.outlet import Outlet

    if not account.sending:
        return None
    own = frozenset(one.email.lower() for one in account.senders)
    return Outlet(submission(account), login, own)


def tls_mode(security: Security) -> TlsMode:
    """Return the connection's TLS mode for the owner's word for it."""
    from mcp_proton.imap.endpoint import TlsMode

    modes = {Security.STARTTLS: TlsMode.STARTTLS, Security.TLS: TlsMode.IMPLICIT, Security.PLAIN: TlsMode.PLAIN}
    return modes[security]


def backend(
    name: str,
    account: Account,
    password: Callable[[], Awaitable[str]],
    *,
    dates: DateIndexStore | None = None,
    timing: Timing | None = None,
    known: KnownFindings | None = None,
    sightings: Sightings | None = None,
) -> ImapBackend | JmapBackend:
    """Return the backend of an account as config.toml describes it. Opens nothing by itself."""
    from mcp_proton.imap.backend import ImapBackend
    from mcp_proton.imap.endpoint import Credentials

    if account.kind is Kind.JMAP:
        return _jmap(name, account, password)
    login = Credentials(account.username, password)
    more: More = {
        "identity": _IDENTITY,
        "dates": dates,
        "timing": timing,
        "outlet": outlet(account, login),
        "configured": account.senders,
    }
    if account.kind is Kind.BRIDGE:
        return _bridge(name, account, password, known, guarded=account.guarded_trash, sightings=sightings, **more)
    return ImapBackend(name, endpoint(account), login, **more)


def _jmap(name: str, account: Account, password: Callable[[], Awaitable[str]]) -> JmapBackend:
    from mcp_proton.jmap.backend import JmapBackend
    from mcp_proton.jmap.endpoint import Auth, Credentials, Endpoint

    place = Endpoint(account.url or "", tuple(account.origins or ()))
    login = Credentials(account.username, password, account.auth or Auth.BASIC)
    return JmapBackend(name, place, login, labels=account.labels, sends=account.sending, configured=account.senders)


def _bridge(
    name: str,
    account: Account,
    password: Callable[[], Awaitable[str]],
    known: KnownFindings | None,
    *,
    guarded: bool = False,
    sightings: Sightings | None = None,
    **more: Unpack[More],
) -> BridgeBackend:
    from mcp_proton.bridge.backend import BridgeBackend
    from mcp_proton.imap.endpoint import Credentials

    login = Credentials(account.username, password)
    more.setdefault("identity", _IDENTITY)
    more.setdefault("outlet", outlet(account, login))
    more.setdefault("configured", account.senders)
    return BridgeBackend(
        name, endpoint(account), login, guarded_trash=guarded, findings=known, sightings=sightings, **more
    )


def findings(found: Settings) -> FileFindings:
    """Return what trials showed of the owner's accounts."""
    from mcp_proton.storage.findings import FileFindings

    return FileFindings(found.folders.state / "findings")


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


def _switches(found: Settings) -> Path:
    return found.folders.state / "switches.json"


def _tokens(found: Settings, database: Database) -> SqlTokens:
    from mcp_proton.storage.tokens import SqlTokens

    return SqlTokens(database, found.folders.state / "tokens.changed", SystemClock())


def _migrate(path: Path) -> None:
    from mcp_proton.storage.migrating import migrate

    migrate(path)
