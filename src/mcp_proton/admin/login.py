"""Logging in for the first time, or again: the name, the password and where it is kept, proved by a login on trial."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcp_proton.config.tables import SENDING_KEYS, Account, Kind, Security
from mcp_proton.domain.errors import AuthFailed, MailError, Unavailable
from mcp_proton.storage.keyrings import system_keyring
from mcp_proton.storage.vault import Vault

from . import server as servers
from . import trial
from .asking import ask, interactive, say, secret
from .wanted import placed

if TYPE_CHECKING:
    from mcp_proton.config.folders import Folders
    from mcp_proton.imap.endpoint import Pin

    from .server import Server
    from .trial import Trial
    from .wanted import Wanted

KEPT_BY_US = ("keyring", "file")
"""places a password can be stored in; from all others it is only read"""
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
    account = Account(
        kind=server.kind,
        host=server.host,
        imap_port=server.port,
        smtp_port=server.smtp_port or _smtp_port_before(before, server),
        security=server.security,
        username=username,
        secret=place,
        certificate=str(pin) if pin else None,
        guarded_trash=before is not None and before.guarded_trash and before.kind is server.kind,
        **_kept_for_sending(before),
    )
    offered, stored = await _offered(name, place, wanted, server)
    told = await _try(name, account, server, offered)
    account = told.account
    tries = _TRIES
    while told.trial.health.code == AuthFailed.code and place.split(":")[0] in KEPT_BY_US and tries and interactive():
        say(*_refused(server, stored=stored))
        offered, stored, tries = _asked(server), False, tries - 1
        told = await _try(name, account, server, offered)
    health = told.trial.health
    if not health.connected:
        raise _ended(health.code, health.why or "the login did not succeed", health.next)
    return replace(told, password=None if stored else offered)


def _smtp_port_before(before: Account | None, server: Server) -> int | None:
    """The port that was written for the same server: one that is not found again need not be gone."""
    return before.smtp_port if before is not None and before.host == server.host else None


def _kept_for_sending(before: Account | None) -> dict[str, Any]:
    """What the owner wrote for sending; setting an account up again leaves it as it is."""
    return {} if before is None else before.model_dump(include=set(SENDING_KEYS), exclude_unset=True)


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


async def _try(name: str, account: Account, server: Server, password: str) -> Login:
    async def give() -> str:
        return password

    found = await trial.log_in(name, account, give)
    if (
        found.health.code == "untrusted_server"
        and account.certificate is None
        and server.security is not Security.PLAIN
    ):
        account = account.model_copy(update={"certificate": str(await servers.trust_after_all(server))})
        found = await trial.log_in(name, account, give)
    return Login(account, found)


async def _offered(name: str, place: str, wanted: Wanted, server: Server) -> tuple[str, bool]:
    """Return the first password to try, and whether it is stored where it belongs already."""
    if wanted.password_file is not None and place.split(":")[0] in KEPT_BY_US:
        return first_line(wanted.password_file), False
    try:
        return await Vault({name: place}, os.environ).secret(name), True
    except AuthFailed:
        if place.split(":")[0] not in KEPT_BY_US:
            raise
    return _asked(server), False


def _asked(server: Server) -> str:
    whose = "The password Bridge shows for this mailbox" if server.kind is Kind.BRIDGE else "Password"
    return secret(whose, flag="--password-file").strip()


def _ask_username(server: Server) -> str:
    if server.kind is Kind.BRIDGE:
        say("", "In Bridge, open the account's Mailbox details: it shows the username and the password to use here.")

    def filled(text: str) -> str:
        if not text:
            raise ValueError("the login name, usually the whole address")
        return text

    return ask("Username", flag="--username", check=filled)


def _place(name: str, wanted: Wanted, before: Account | None, folders: Folders) -> str:
    if wanted.secret:
        return _absolute(wanted.secret)
    if before:
        return before.secret
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


def _refused(server: Server, *, stored: bool) -> list[str]:
    which = "The password that is stored" if stored else "That password"
    told = [f"{which} was not accepted."]
    if server.kind is Kind.BRIDGE:
        told.append("Bridge has a password of its own (Mailbox details); it is not the one of your Proton account.")
        told.append("Bridge also refuses while the account is signed out or still starting.")
    return told


def _ended(code: str | None, why: str, following: str | None) -> MailError:
    if code == AuthFailed.code:
        following = (
            "check username and password; on Bridge both stand in Mailbox details, and the account must be signed in"
        )
        return AuthFailed(why, next=following)
    return Unavailable(why, next=following, code=code)
