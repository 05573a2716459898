"""What `mcp-proton setup` was told on the command line, and what is known from before. Checked before anything is asked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from pydantic import TypeAdapter, ValidationError

from mcp_proton.admin.asking import NobodyToAskError, ask, interactive, say
from mcp_proton.admin.setting_up import renewing
from mcp_proton.admin.setting_up.renewing import Renewing
from mcp_proton.config.tables import Account
from mcp_proton.config.values import ClientName, Host, Kind, Slug, Url
from mcp_proton.domain.errors import Invalid
from mcp_proton.imap.login.providers import PROVIDERS
from mcp_proton.jmap.protocol.endpoint import Auth
from mcp_proton.policy.presets import Preset
from mcp_proton.policy.reading import Recipient

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mcp_proton.admin.programs import Program
    from mcp_proton.config.tables import Config
    from mcp_proton.config.values import Profile, Security
    from mcp_proton.imap.login.providers import Name as Provider

T = TypeVar("T")
FIRST = "personal"
"""what the first account is called unless the owner wants another name"""


@dataclass(frozen=True)
class Wanted:
    """The flags; None is what was left open."""

    kind: Kind | None = None
    host: str | None = None
    port: int | None = None
    security: Security | None = None
    username: str | None = None
    secret: str | None = None
    password_file: Path | None = None
    trust: str | None = None
    preset: Preset | None = None
    recipients: tuple[str, ...] = ()
    client: str | None = None
    program: Program | None = None
    profile: Profile | None = None
    yes: bool = False
    url: str | None = None
    auth: Auth | None = None
    provider: Provider | None = None
    renewing: Renewing = field(default_factory=Renewing)

    def kind_of(self, before: Account | None) -> Kind:
        """Return what stands behind the account."""
        if self.url is not None:
            return Kind.JMAP
        if self.provider is not None:
            return Kind.IMAP
        return self.kind or (before.kind if before else Kind.BRIDGE)


def check(wanted: Wanted) -> None:
    """Tell a slip of the pen before anything is asked or looked for. Raises `Invalid` that names the flag."""
    if wanted.host is not None:
        flag("--host", hosted, wanted.host)
    if wanted.url is not None:
        flag("--url", located, wanted.url)
    if wanted.url is not None and wanted.kind not in (None, Kind.JMAP):
        raise Invalid("--url is for `--kind jmap`")
    if wanted.provider is not None and wanted.kind not in (None, Kind.IMAP):
        raise Invalid("--provider is for `--kind imap`")
    by_token = wanted.auth is Auth.BEARER or wanted.renewing.given
    if wanted.provider is not None and not by_token and PROVIDERS[wanted.provider].password is None:
        raise Invalid(
            f"{PROVIDERS[wanted.provider].title} takes no passwords",
            next="--oauth-client-id ID with a refresh token as the password (`mcp-proton setup --help` says more), or "
            "--auth bearer with --secret command:PROGRAM that prints an access token",
        )
    renewing.check(wanted)
    if wanted.secret is not None:
        flag("--secret", placed, wanted.secret)
    if wanted.client is not None:
        flag("--client", labelled, wanted.client)
    for text in wanted.recipients:
        flag("--recipients", recipients, text)


def account_name(given: str | None, wanted: Wanted, config: Config) -> str:
    """Return the account's short name: as given, else the only one that can be meant, else as the owner says."""
    if given is not None:
        return flag("ACCOUNT", named, given)
    known = list(config.accounts)
    if wanted.username:
        same = [name for name in known if config.accounts[name].username.casefold() == wanted.username.casefold()]
        if len(same) == 1:
            return same[0]
    if interactive():
        if known:
            say(f"You have: {', '.join(known)}. The name of one of these mends it, any other name adds an account.")
        return ask("A short name for the account", flag="ACCOUNT", default=None if known else FIRST, check=named)
    if not known:
        return FIRST
    if len(known) == 1 and not wanted.username:
        return known[0]
    raise NobodyToAskError(
        ["ACCOUNT is needed, since there are accounts already and nobody is here to answer"],
        next="mcp-proton setup ACCOUNT …",
    )


def require(wanted: Wanted, before: Account | None, *, password_known: bool, preset_known: bool) -> None:
    """Without a terminal, name every flag that is missing, all at once."""
    if interactive():
        return
    kind = wanted.kind_of(before)
    missing = []
    if kind is Kind.IMAP and not (wanted.host or wanted.provider or before):
        missing.append("--host HOST: the mail server (or --provider)")
    if kind is Kind.JMAP and not (wanted.url or (before and before.url)):
        missing.append("--url URL: the JMAP server")
    if not (wanted.username or before):
        missing.append("--username NAME: the login name" + (", as Bridge shows it" if kind is Kind.BRIDGE else ""))
    if not (wanted.password_file or password_known):
        word = "refresh token" if wanted.renewing.given else "password"
        missing.append(f"--password-file FILE: its first line is the {word} ('-': standard input)")
    if kind is Kind.BRIDGE and not (wanted.trust or before):
        missing.append("--trust FINGERPRINT: of the certificate Bridge exports, or that file (cert.pem)")
    if not (wanted.preset or preset_known):
        missing.append(f"--preset {'|'.join(Preset)}: what agents may do")
    if wanted.preset is Preset.AUTONOMOUS and not wanted.yes:
        missing.append("--yes: agents may send and delete without asking, and a mail can talk them into it")
    if missing:
        raise NobodyToAskError(["nobody is here to answer, so these are needed:", *missing])


def named(text: str) -> str:
    """Return an account's short name. Raises ValueError with what is wrong with it."""
    return _checked(lambda: TypeAdapter(Slug).validate_python(text))


def labelled(text: str) -> str:
    """Return a client's label. Raises ValueError with what is wrong with it."""
    return _checked(lambda: TypeAdapter(ClientName).validate_python(text))


def placed(text: str) -> str:
    """Return where a password is kept. Raises ValueError with what is wrong with it."""
    return _checked(lambda: Account(kind=Kind.IMAP, username="x", secret=text).secret)


def hosted(text: str) -> str:
    """Return a host. Raises ValueError with what is wrong with it."""
    return _checked(lambda: TypeAdapter(Host).validate_python(text))


def located(text: str) -> str:
    """Return a URL. Raises ValueError with what is wrong with it."""
    return _checked(lambda: TypeAdapter(Url).validate_python(text))


def recipients(text: str) -> tuple[str, ...]:
    """Return addresses and @domains, commas or blanks between, as the rules take them. Raises ValueError."""
    words = text.replace(",", " ").split()
    return tuple(_checked(lambda: TypeAdapter(list[Recipient]).validate_python(words)))


def flag(name: str, check: Callable[[str], T], given: str) -> T:
    """Check what a flag was given. Raises `Invalid` that names the flag and does not quote the value."""
    try:
        return check(given)
    except ValueError as error:
        raise Invalid(f"{name}: {error}") from None


def _checked(validate: Callable[[], T]) -> T:
    """Raise ValueError, in the configuration's own words, for what the configuration would not take."""
    try:
        return validate()
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise ValueError(str(first.get("ctx", {}).get("error") or first["msg"])) from None
