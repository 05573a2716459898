"""An account of config.toml becomes a backend: where its servers are, how they are trusted, how one logs in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_proton import __version__
from mcp_proton.bootstrap import logins
from mcp_proton.config.values import Kind, Security
from mcp_proton.domain.errors import NotFound

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Unpack

    from mcp_proton.bootstrap.owner import Settings
    from mcp_proton.bridge.backend import BridgeBackend
    from mcp_proton.bridge.sync import Sightings
    from mcp_proton.config.tables import Account, Config
    from mcp_proton.domain.findings import KnownFindings
    from mcp_proton.domain.ports import MailBackend, SecretProvider
    from mcp_proton.imap.backend import ImapBackend
    from mcp_proton.imap.backend import Settings as More
    from mcp_proton.imap.finding.indexing import DateIndexStore
    from mcp_proton.imap.limits import Timing
    from mcp_proton.imap.login.endpoint import Credentials, Endpoint, TlsMode
    from mcp_proton.imap.submission.outlet import Outlet
    from mcp_proton.jmap.backend import JmapBackend
    from mcp_proton.jmap.protocol.endpoint import Credentials as JmapCredentials

_IDENTITY = {"name": "mcp-proton", "version": __version__}


class Listed:
    """The accounts a process knows: as they were at its start, and those of callers that the owner added since.

    An account that is known stays as it was: what was made for it is not mistaken for something else.
    """

    def __init__(self, started: Config, current: Callable[[], Config]) -> None:
        self.default = started.default_account
        self._started = started.accounts
        self._current = current

    @property
    def names(self) -> tuple[str, ...]:
        """Their names, in the order of the configuration."""
        now = self._current().accounts
        return (*self._started, *(name for name, one in now.items() if one.of_caller and name not in self._started))

    def get(self, name: str) -> Account | None:
        """Return an account; None where there is none of that name."""
        if name in self._started:
            return self._started[name]
        added = self._current().accounts.get(name)
        return added if added is not None and added.of_caller else None

    def of_caller(self, name: str) -> bool:
        """Whether it is reached with the token of whoever asks."""
        found = self.get(name)
        return found is not None and found.of_caller


class Accounts:
    """The owner's accounts; a backend is made when it is first needed, and all are closed together."""

    def __init__(self, listed: Listed, make: Callable[[str, Account], MailBackend]) -> None:
        self.default = listed.default
        self._listed = listed
        self._make = make
        self._made: dict[str, MailBackend] = {}
        self._looks: dict[str, Callable[[], tuple[int, int]]] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """Their names, in the order of the configuration."""
        return self._listed.names

    def backend(self, name: str) -> MailBackend:
        """Return the account's backend."""
        if name not in self._made:
            account = self._listed.get(name)
            if account is None:
                raise NotFound(f"there is no account `{name}`", next="`accounts_list` names the accounts")
            self._made[name] = self._make(name, account)
        return self._made[name]

    def connections(self) -> dict[str, tuple[int, int]]:
        """Return, for each account in use, how many connections are open and how many of them are used."""
        return {name: look() for name, look in self._looks.items()}

    def watch(self, name: str, look: Callable[[], tuple[int, int]]) -> None:
        """Have an account's connections counted by asking `look`."""
        self._looks[name] = look

    async def aclose(self) -> None:
        """Close every backend that was made."""
        for backend in self._made.values():
            await backend.aclose()


def served(found: Settings, listed: Listed, vault: SecretProvider, known: KnownFindings) -> Accounts:
    """Return the owner's accounts as the service uses them: what they remember lies in the state folder."""
    from mcp_proton.services.door.wrappers import RetryReads
    from mcp_proton.storage.dates import FileDateIndexes
    from mcp_proton.storage.sightings import FileSightings

    dates = FileDateIndexes(found.folders.state / "dates", enabled=found.config.storage.date_index)
    sightings = FileSightings(found.folders.state / "sync")

    def made(name: str, account: Account) -> MailBackend:
        inner = backend(name, account, vault, dates=dates, known=known, sightings=sightings)
        accounts.watch(name, lambda: inner.connections)
        return RetryReads(inner)

    accounts = Accounts(listed, made)
    return accounts


def tried(found: Settings, name: str, vault: SecretProvider, known: KnownFindings) -> BridgeBackend:
    """Return an account on Bridge as a trial uses it: by itself, remembering nothing."""
    account = found.config.accounts[name]
    return _bridge(name, account, logins.credentials(name, account, vault), known)


def backend(
    name: str,
    account: Account,
    vault: SecretProvider,
    *,
    dates: DateIndexStore | None = None,
    timing: Timing | None = None,
    known: KnownFindings | None = None,
    sightings: Sightings | None = None,
) -> ImapBackend | JmapBackend:
    """Return the backend of an account as config.toml describes it. Opens nothing by itself."""
    from mcp_proton.imap.backend import ImapBackend

    if account.kind is Kind.JMAP:
        return _jmap(name, account, logins.of_jmap(name, account, vault))
    login = logins.credentials(name, account, vault)
    more: More = {
        "identity": _IDENTITY,
        "dates": dates,
        "timing": timing,
        "outlet": outlet(account, login),
        "configured": account.senders,
    }
    if account.provider is not None:
        more["provider"] = account.provider
    if account.kind is Kind.BRIDGE:
        return _bridge(name, account, login, known, guarded=account.guarded_trash, sightings=sightings, **more)
    return ImapBackend(name, endpoint(account), login, **more)


def _jmap(name: str, account: Account, login: JmapCredentials) -> JmapBackend:
    from mcp_proton.jmap.backend import JmapBackend
    from mcp_proton.jmap.protocol.endpoint import Endpoint

    place = Endpoint(account.url or "", tuple(account.origins or ()))
    return JmapBackend(name, place, login, labels=account.labels, sends=account.sending, configured=account.senders)


def _bridge(
    name: str,
    account: Account,
    login: Credentials,
    known: KnownFindings | None,
    *,
    guarded: bool = False,
    sightings: Sightings | None = None,
    **more: Unpack[More],
) -> BridgeBackend:
    from mcp_proton.bridge.backend import BridgeBackend

    more.setdefault("identity", _IDENTITY)
    more.setdefault("outlet", outlet(account, login))
    more.setdefault("configured", account.senders)
    return BridgeBackend(
        name, endpoint(account), login, guarded_trash=guarded, findings=known, sightings=sightings, **more
    )


def endpoint(account: Account) -> Endpoint:
    """Return where an account's server is and how it is trusted."""
    from mcp_proton.imap.login.endpoint import Endpoint, Pin

    return Endpoint(
        host=account.host,
        port=account.imap,
        tls=tls_mode(account.protection),
        pin=Pin.read(account.certificate) if account.certificate else None,
        plain_to_this_machine=account.security is Security.PLAIN,
    )


def submission(account: Account) -> Endpoint:
    """Return where an account's mail is handed over, and how that server is trusted."""
    from mcp_proton.imap.login.endpoint import Endpoint, Pin

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
    from mcp_proton.imap.submission.outlet import Outlet

    if not account.sending:
        return None
    own = frozenset(one.email.lower() for one in account.senders)
    return Outlet(submission(account), login, own)


def tls_mode(security: Security) -> TlsMode:
    """Return the connection's TLS mode for the owner's word for it."""
    from mcp_proton.imap.login.endpoint import TlsMode

    modes = {Security.STARTTLS: TlsMode.STARTTLS, Security.TLS: TlsMode.IMPLICIT, Security.PLAIN: TlsMode.PLAIN}
    return modes[security]
