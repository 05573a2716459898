"""Logging in for the first time, or again: the name, the password and where it is kept, proved by a login on trial."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcp_proton import bootstrap
from mcp_proton.admin.asking import ask, interactive, say, secret
from mcp_proton.admin.setting_up import renewing, trial
from mcp_proton.admin.setting_up import server as servers
from mcp_proton.admin.setting_up.renewing import KEPT_BY_US
from mcp_proton.admin.setting_up.wanted import placed
from mcp_proton.config.tables import BY_HAND, Account
from mcp_proton.config.values import Kind, Security
from mcp_proton.domain.errors import AuthFailed, MailError, Unavailable
from mcp_proton.storage.keyrings import system_keyring
from mcp_proton.storage.vault import Vault

if TYPE_CHECKING:
    from mcp_proton.admin.setting_up.server import Server
    from mcp_proton.admin.setting_up.trial import Trial
    from mcp_proton.admin.setting_up.wanted import Wanted
    from mcp_proton.config.folders import Folders
    from mcp_proton.config.renewal import Renewal
    from mcp_proton.imap.login.endpoint import Pin
    from mcp_proton.jmap.protocol.endpoint import Auth

_TRIES = 3
_LONGEST = 64 << 10


@dataclass(frozen=True)
class Login:
    """An account that could be logged in to. `password` is set where it has to be stored yet."""

    account: Account
    trial: Trial
    password: str | None = None


async def prove(
    name: str, server: Server, pin: Pin | None, wanted: Wanted, before: Account | None, folders: Folders
) -> Login:
    """Get name and password, and log in. Raises what the login ended with, once the owner has nothing more to offer."""
    username = wanted.username or (before.username if before else _ask_username(server))
    place = _place(name, wanted, before, folders)
    account = _account(server, pin, username, place, wanted, before)
    offered, stored = await _offered(name, place, wanted, account)
    told = await _try(name, account, server, offered)
    account = told.account
    tries = _TRIES
    while told.trial.health.code == AuthFailed.code and place.split(":")[0] in KEPT_BY_US and tries and interactive():
        say(*_refused(account, told.trial.health.why, stored=stored))
        offered, stored, tries = _asked(account), False, tries - 1
        told = await _try(name, account, server, offered)
    health = told.trial.health
    if not health.connected:
        raise _ended(account, health.code, health.why or "the login did not succeed", health.next)
    return replace(told, password=None if stored and told.password == offered else told.password)


def _account(
    server: Server, pin: Pin | None, username: str, place: str, wanted: Wanted, before: Account | None
) -> Account:
    if server.kind is Kind.JMAP:
        kept = before if before and before.kind is Kind.JMAP else None
        return Account(
            kind=server.kind,
            username=username,
            secret=place,
            url=server.url,
            auth=_auth(server, wanted, before),
            labels=kept.labels if kept else None,
            origins=kept.origins if kept else None,
        )
    return Account(
        kind=server.kind,
        provider=server.provider,
        host=server.host,
        imap_port=server.port,
        smtp_port=server.smtp_port or _smtp_port_before(before, server),
        security=server.security,
        username=username,
        secret=place,
        auth=_auth(server, wanted, before),
        certificate=str(pin) if pin else None,
        guarded_trash=before is not None and before.guarded_trash and before.kind is server.kind,
        **{**_kept_by_hand(before), "oauth": _renewal(wanted, before)},
    )


def _renewal(wanted: Wanted, before: Account | None) -> Renewal | None:
    """What is renewed where; the file of a client's secret is read later, from other folders."""
    found = renewing.renewal(wanted, before)
    if found is None or found.client_secret is None:
        return found
    return found.model_copy(update={"client_secret": _absolute(found.client_secret)})


def _auth(server: Server, wanted: Wanted, before: Account | None) -> Auth | None:
    """How the secret is shown: as the flag says, else as before."""
    kept = before.auth if before is not None and before.kind is server.kind else None
    return None if server.kind is Kind.BRIDGE else wanted.auth or kept


def _smtp_port_before(before: Account | None, server: Server) -> int | None:
    """The port that was written for the same server: one that is not found again need not be gone."""
    return before.smtp_port if before is not None and before.host == server.host else None


def _kept_by_hand(before: Account | None) -> dict[str, Any]:
    """What the owner wrote beyond what set-up asks; setting an account up again leaves it as it is."""
    return {} if before is None else before.model_dump(include=set(BY_HAND), exclude_unset=True)


async def known(name: str, place: str) -> bool:
    """Whether a place holds a password already."""
    try:
        await Vault({name: place}, os.environ).secret(name)
    except AuthFailed:
        return False
    return True


def default_place(name: str, folders: Folders) -> str:
    """Return where a password is kept unless the owner says otherwise: the system's keyring, else a file of ours."""
    return "keyring" if _keyring_works() else f"file:{folders.state / 'secrets' / name}"


def first_line(path: Path) -> str:
    """Return the first line of a file, or of standard input for `-`."""
    if str(path) == "-":
        return sys.stdin.readline(_LONGEST).rstrip("\r\n")
    with path.open(encoding="utf-8") as file:
        return file.readline(_LONGEST).rstrip("\r\n")


@dataclass
class _Offered:
    """A vault that holds what is tried, before anything is stored: it may be replaced while it is (RFC 6749 §6)."""

    name: str
    secret_now: str
    others: Vault

    async def secret(self, account: str) -> str:
        return self.secret_now if account == self.name else await self.others.secret(account)

    async def keep(self, account: str, secret: str) -> None:
        if account == self.name:
            self.secret_now = secret


async def _try(name: str, account: Account, server: Server, password: str) -> Login:
    vault = _Offered(name, password, Vault(bootstrap.secret_places({name: account}), os.environ))
    found = await trial.log_in(name, account, vault)
    if (
        found.health.code == "untrusted_server"
        and account.certificate is None
        and server.kind is not Kind.JMAP
        and server.security is not Security.PLAIN
    ):
        account = account.model_copy(update={"certificate": str(await servers.trust_after_all(server))})
        found = await trial.log_in(name, account, vault)
    return Login(account, found, vault.secret_now)


async def _offered(name: str, place: str, wanted: Wanted, account: Account) -> tuple[str, bool]:
    """Return the first password to try, and whether it is stored where it belongs already."""
    if wanted.password_file is not None and place.split(":")[0] in KEPT_BY_US:
        return first_line(wanted.password_file), False
    try:
        return await Vault({name: place}, os.environ).secret(name), True
    except AuthFailed:
        if place.split(":")[0] not in KEPT_BY_US:
            raise
    return _asked(account), False


def _asked(account: Account) -> str:
    whose = "The password Bridge shows for this mailbox" if account.kind is Kind.BRIDGE else word(account).capitalize()
    return secret(whose, flag="--password-file").strip()


def word(account: Account) -> str:
    """What an account's secret is."""
    return "refresh token" if account.oauth is not None else "access token" if account.by_token else "password"


def _ask_username(server: Server) -> str:
    if server.kind is Kind.BRIDGE:
        say("", "In Bridge, open the account's Mailbox details: it shows the username and the password to use here.")

    def filled(text: str) -> str:
        if not text:
            raise ValueError("the login name, usually the whole address")
        return text

    return ask("Username", flag="--username", check=filled)


def _place(name: str, wanted: Wanted, before: Account | None, folders: Folders) -> str:
    known_place = renewing.place(wanted, before)
    if known_place is not None:
        return _absolute(known_place)
    default = default_place(name, folders)
    if not interactive():
        if default != "keyring":
            say(f"This system has no keyring, so the password is kept in a file only you can read: {default[5:]}")
        return default
    return _ask_place(name, default, folders)


def _ask_place(name: str, default: str, folders: Folders) -> str:
    words = {"file": f"file:{folders.state / 'secrets' / name}"}

    def where(text: str) -> str:
        return _absolute(placed(words.get(text, text)))

    say(
        "",
        "Where shall the password be kept? It is never written into config.toml.",
        "  keyring            the system's password store",
        "  file               a file that only you can read",
        "  env:NAME, command:PROGRAM, systemd:NAME    read from there at every login, kept by you",
    )
    return ask("Place", flag="--secret", default=default.partition(":")[0], check=where)


def _absolute(place: str) -> str:
    """Make the path of a password file absolute: it is read later, from other folders."""
    kind, _, where = place.partition(":")
    return f"file:{Path(where).expanduser().absolute()}" if kind == "file" else place


def _keyring_works() -> bool:
    """Whether the system's own store can be used here. Asking it for its priority is how a backend says so."""
    try:
        return float(getattr(type(system_keyring()), "priority", 0)) > 0
    except Exception:
        return False


def _refused(account: Account, why: str | None, *, stored: bool) -> list[str]:
    which = f"The {word(account)} that is stored" if stored else f"That {word(account)}"
    told = [f"{which} was not accepted{f': {why}' if account.by_token and why else ''}."]
    if account.kind is Kind.BRIDGE:
        told.append("Bridge has a password of its own (Mailbox details); it is not the one of your Proton account.")
        told.append("Bridge also refuses while the account is signed out or still starting.")
    return told


def _ended(account: Account, code: str | None, why: str, following: str | None) -> MailError:
    if code == AuthFailed.code and account.by_token:
        return AuthFailed(why, next="check the username and the account's token; " + (following or ""))
    if code == AuthFailed.code:
        following = (
            "check username and password; on Bridge both stand in Mailbox details, and the account must be signed in"
        )
        return AuthFailed(why, next=following)
    return Unavailable(why, next=following, code=code)
