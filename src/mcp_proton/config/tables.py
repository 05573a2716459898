"""The tables of config.toml, as closed and frozen models. What a key means is said where it is declared."""

import zoneinfo
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, Self, get_origin

from pydantic import AfterValidator, Field, StrictBool, StrictInt, ValidationError, model_validator

from mcp_proton.config import senders
from mcp_proton.config.oauth import OAuth, Words
from mcp_proton.config.people import People
from mcp_proton.config.renewal import Renewal
from mcp_proton.config.secrets import CALLER, account_secret
from mcp_proton.config.serving import Serving, place
from mcp_proton.config.signing_in import By, SigningIn
from mcp_proton.config.table import Table
from mcp_proton.config.values import (
    AccountKind,
    ClientName,
    Days,
    Fingerprint,
    Host,
    Kind,
    Port,
    Profile,
    Security,
    Sender,
    Slug,
    Text,
    TimeZone,
    Url,
    time_zone,
)
from mcp_proton.domain.mail import Identity
from mcp_proton.imap.login.endpoint import TlsMode
from mcp_proton.imap.login.providers import PROVIDERS
from mcp_proton.imap.login.providers import Name as Provider
from mcp_proton.imap.login.providers import Provider as KnownProvider
from mcp_proton.jmap.protocol.endpoint import Auth

BY_HAND = frozenset({"sending", "smtp_host", "smtp_security", "smtp_certificate", "identities", "signatures", "oauth"})
"""Keys of an account that the owner writes by hand: set-up leaves them as they are, unless (`oauth`) a flag says otherwise."""
_ONLY_FOR_JMAP = ("url", "labels", "origins")
_NOT_FOR_JMAP = (
    "imap_port", "smtp_port", "smtp_host", "smtp_security", "smtp_certificate", "security", "certificate",
)  # fmt: skip


_HERE = ("127.0.0.1", "::1")
_SECURITY = {TlsMode.IMPLICIT: Security.TLS, TlsMode.STARTTLS: Security.STARTTLS, TlsMode.PLAIN: Security.PLAIN}


class Account(Table):
    """`[accounts.NAME]`: one login.

    `provider` says by a name what is well known of one: kind imap, and what is left out of host, ports and security.

    `sending` off: mail is read, filed and drafted only. What is left out of `smtp_…` is as for IMAP. `identities` are the
    addresses to send as, beside the login name; `signatures` are by address.
    `auth` is how the secret is shown: as a password, or (`bearer`) as an access token. With a table `oauth` the secret is
    a refresh token, and access tokens are had for it. The secret `caller` is the token of whoever asks, passed on to a JMAP
    server: nothing is stored, and the account is one client's, which is one of `subjects`.
    For kind jmap: `url` is the session's or only its origin, `labels` the path below which
    mailboxes are labels, `origins` are further places the password may go to, since some servers hand out blobs elsewhere.

    `guarded_trash`: on Bridge, a star holds what is moved to Trash until it was seen there.
    """

    kind: AccountKind
    provider: Provider | None = None
    host: Host = "127.0.0.1"
    imap_port: Port | None = None
    smtp_port: Port | None = None
    security: Security | None = None
    username: Text
    secret: Annotated[str, AfterValidator(account_secret)]
    certificate: Fingerprint | None = None
    guarded_trash: StrictBool = False
    url: Url | None = None
    auth: Auth | None = None
    oauth: Renewal | None = None
    labels: Text | None = None
    origins: list[Url] | None = None
    sending: StrictBool = True
    smtp_host: Host | None = None
    smtp_security: Security | None = None
    smtp_certificate: Fingerprint | None = None
    identities: list[Sender] = Field(default_factory=list)
    signatures: dict[str, str] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _as_the_provider_is(cls, given: object) -> object:
        if not isinstance(given, dict) or given.get("provider") not in frozenset(Provider):
            return given
        known = PROVIDERS[Provider(given["provider"])]
        return {"kind": Kind.IMAP, "host": known.host} | {key: one for key, one in given.items() if one is not None}

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.kind is Kind.BRIDGE and self.certificate is None:
            raise ValueError("needs `certificate`: Bridge signs its own; `mcp-proton setup` shows and stores it")
        if self.kind is Kind.JMAP and self.url is None:
            raise ValueError("needs `url`: the JMAP server's https URL")
        for key in _NOT_FOR_JMAP if self.kind is Kind.JMAP else _ONLY_FOR_JMAP:
            if getattr(self, key) is not None:
                raise ValueError(f"{key} is not for kind {self.kind.value}")
        if self.provider is not None and self.kind is not Kind.IMAP:
            raise ValueError(f"provider is for kind imap, not for kind {self.kind.value}")
        if self.guarded_trash and self.kind is not Kind.BRIDGE:
            raise ValueError("guarded_trash is for kind bridge: any other server moves a message to Trash in one step")
        senders.identities(self.identities, self.signatures)
        return self

    @model_validator(mode="after")
    def _encrypted(self) -> Self:
        if self.security is Security.PLAIN and self.host not in _HERE:
            raise ValueError("security plain is possible only with host 127.0.0.1 or ::1")
        if self.smtp_protection is Security.PLAIN and self.submission_host not in _HERE:
            raise ValueError("smtp_security plain is possible only with smtp_host 127.0.0.1 or ::1")
        return self

    @model_validator(mode="after")
    def _has_a_way_to_log_in(self) -> Self:
        if self.kind is Kind.BRIDGE and (self.auth is not None or self.oauth is not None):
            raise ValueError("auth and oauth are not for kind bridge: Bridge takes the password it shows")
        if self.of_caller and (self.kind is not Kind.JMAP or self.auth is Auth.BASIC):
            raise ValueError("secret caller is for kind jmap, where callers' tokens are passed on (auth bearer)")
        if self.oauth is not None and self.auth is Auth.BASIC:
            raise ValueError("oauth is for access tokens, and auth basic for passwords: leave out one of them")
        if self.oauth is not None and self.secret.partition(":")[0] not in ("keyring", "file"):
            raise ValueError("with oauth, secret must be keyring or file:PATH: new refresh tokens are stored there")
        if self.oauth is not None and self.token_url is None:
            raise ValueError("oauth needs token_url: where access tokens are renewed")
        if self.known is not None and self.known.password is None and not self.by_token:
            raise ValueError(
                f'{self.known.title} takes no passwords: auth = "bearer" with a secret that gives an access token, or '
                "a table oauth"
            )
        return self

    @property
    def known(self) -> KnownProvider | None:
        """What is well known of its provider."""
        return None if self.provider is None else PROVIDERS[self.provider]

    @property
    def protection(self) -> Security:
        """How to connect: Bridge by STARTTLS, others by TLS, unless said otherwise."""
        return self.security or (Security.STARTTLS if self.kind is Kind.BRIDGE else Security.TLS)

    @property
    def address(self) -> str:
        """Where its server is, for people."""
        return self.url or f"{self.host}:{self.imap}"

    @property
    def imap(self) -> int:
        """The IMAP port: as written, else Bridge's own (1143), else the standard's (RFC 9051 §2.1, RFC 8314 §3.2)."""
        usual = 1143 if self.kind is Kind.BRIDGE else 993 if self.protection is Security.TLS else 143
        return self.imap_port or usual

    @property
    def submission_host(self) -> str:
        """Where mail is handed over: as written, else as the provider has it, else where it is read."""
        return self.smtp_host or (self.known.smtp_host if self.known else self.host)

    @property
    def smtp_protection(self) -> Security:
        """How to connect for sending: as written, else as the provider has it, else as for reading."""
        return self.smtp_security or (_SECURITY[self.known.smtp_tls] if self.known else self.protection)

    @property
    def smtp(self) -> int:
        """The submission port: as written, else Bridge's own (1025), else the standard's (RFC 8314 §3.3)."""
        usual = 1025 if self.kind is Kind.BRIDGE else 465 if self.smtp_protection is Security.TLS else 587
        return self.smtp_port or usual

    @property
    def submission_certificate(self) -> str | None:
        """The certificate trusted for sending: as written, else that of the same host."""
        same = self.certificate if self.submission_host == self.host else None
        return self.smtp_certificate or same

    @property
    def by_token(self) -> bool:
        """Whether one logs in with access tokens."""
        return self.oauth is not None or self.auth is Auth.BEARER or self.of_caller

    @property
    def of_caller(self) -> bool:
        """Whether it is reached with the token of whoever asks."""
        return self.secret == CALLER

    @property
    def token_url(self) -> str | None:
        """Where access tokens are renewed: as written, else as the provider has it."""
        return (self.oauth.token_url if self.oauth else None) or (self.known.token_url if self.known else None)

    @property
    def senders(self) -> tuple[Identity, ...]:
        """The identities, each with its signature."""
        return senders.identities(self.identities, self.signatures)


class Client(Table):
    """`[clients.NAME]`: one agent, by the label the owner gave it. `accounts` left out: all of them.

    `review`: the owner answers approvals in this client too, once it passed a live check. `subjects`: whom an authorization
    server calls this client.
    """

    profile: Profile = Profile.CORE
    accounts: list[Slug] | None = None
    review: StrictBool = False
    subjects: Words = Field(default_factory=list)


class Service(Serving):
    """`[service]`: each key can also come from the environment, as MCP_PROTON_ and the key in capitals."""

    timezone: TimeZone | None = None
    default_account: Slug | None = None
    log: Literal["debug", "info", "warning", "error"] = "warning"
    output_schemas: StrictBool = False

    @property
    def zone(self) -> zoneinfo.ZoneInfo:
        """The owner's time zone: as written, else this machine's, else UTC."""
        return zoneinfo.ZoneInfo(self.timezone or _machine_zone())


class Storage(Table):
    """`[storage]`: how long what is kept. Zero days: not beyond the moment it is settled.

    `fetch_megabytes` and `fetch_seconds` bound one file that is fetched from an https address,
    `upload_megabytes` one that is put to an upload link.
    """

    journal_days: Days = 90
    payload_days: Days = 0
    artifact_days: Days = 1
    artifact_megabytes: Annotated[StrictInt, Field(ge=1, le=1_000_000)] = 1_024
    fetch_megabytes: Annotated[StrictInt, Field(ge=1, le=10_000)] = 25
    upload_megabytes: Annotated[StrictInt, Field(ge=1, le=10_000)] = 100
    fetch_seconds: Annotated[StrictInt, Field(ge=1, le=3_600)] = 30
    date_index: StrictBool = True


class Config(Table):
    """The whole of config.toml."""

    accounts: dict[Slug, Account] = Field(default_factory=dict)
    clients: dict[ClientName, Client] = Field(default_factory=dict)
    service: Service = Service()
    storage: Storage = Storage()
    oauth: OAuth | None = None
    sign_in: SigningIn | None = None
    people: People | None = None

    @model_validator(mode="before")
    @classmethod
    def _people_are_accounts_and_clients(cls, given: object) -> object:
        if not isinstance(given, dict) or "people" not in given:
            return given
        try:
            people = People.model_validate(given["people"])
        except ValidationError:
            return given  # the field says what is wrong with it
        return people.added_to(given)

    @model_validator(mode="after")
    def _a_provider_is_named(self) -> Self:
        if self.sign_in is not None and self.sign_in.by is By.PROVIDER and self.oauth is None:
            raise ValueError('sign_in by "provider" needs `[oauth]`: it says which provider, and checks its tokens')
        if self.sign_in is not None and place(self.service.listen).path is not None and not self.service.public_url:
            raise ValueError("sign_in needs an address that a browser can reach: `public_url`, or a port in `listen`")
        return self

    @model_validator(mode="after")
    def _each_subject_is_one_client(self) -> Self:
        named = [subject for client in self.clients.values() for subject in client.subjects]
        if len(named) != len(set(named)):
            raise ValueError("a subject can be one client only; `subjects` of two clients name the same")
        return self

    @model_validator(mode="after")
    def _each_account_of_a_caller_is_one_person_s(self) -> Self:
        """INVARIANT: else one subject's token, handles or journal would be another's (J-80)."""
        theirs = {name for name, one in self.accounts.items() if one.of_caller}
        if theirs and self.oauth is None:
            raise ValueError("secret caller needs `[oauth]`: only its tokens are passed on")
        if theirs and any(one.accounts is None for one in self.clients.values()):
            raise ValueError("with an account whose secret is caller, each client must name its `accounts`")
        for name in sorted(theirs):
            clients = [one for one in self.clients.values() if name in (one.accounts or ())]
            if len(clients) > 1 or any(len(one.subjects) != 1 for one in clients):
                raise ValueError("an account whose secret is caller is for one client, and that for one of `subjects`")
        return self

    @property
    def default_account(self) -> str | None:
        """The account meant where none is named: the owner's choice, else the only one."""
        if self.service.default_account is not None:
            return self.service.default_account
        return next(iter(self.accounts)) if len(self.accounts) == 1 else None

    def accounts_of(self, client: str) -> frozenset[str] | None:
        """Return the accounts a client was given; None for all, and for a client that is not listed."""
        listed = self.clients.get(client)
        return None if listed is None or listed.accounts is None else frozenset(listed.accounts)

    def client_of(self, subject: str) -> str | None:
        """Return the client that an authorization server calls so."""
        return next((name for name, one in self.clients.items() if subject in one.subjects), None)

    def client_with(self, account: str) -> str | None:
        """Return the one client that names an account; None where that is nobody, or several."""
        named = [name for name, one in self.clients.items() if account in (one.accounts or ())]
        return named[0] if len(named) == 1 else None

    def reviews(self, client: str) -> bool:
        """Whether the owner declared a client a review channel."""
        listed = self.clients.get(client)
        return listed is not None and listed.review


def service_from(environment: Mapping[str, str]) -> dict[str, object]:
    """Return the service settings that the environment holds, as the file would hold them."""
    found: dict[str, object] = {}
    for key in Service.model_fields:
        text = environment.get(f"MCP_PROTON_{key.upper()}")
        if text is not None:
            found[key] = _as_in_the_file(key, text)
    return found


def _as_in_the_file(key: str, text: str) -> object:
    kind = Service.model_fields[key].annotation
    if kind is bool:
        return {"true": True, "1": True, "false": False, "0": False}.get(text.lower(), text)
    if get_origin(kind) is tuple:
        return text.replace(",", " ").split()
    return int(text) if kind is int and text.isascii() and text.isdigit() else text


def _machine_zone() -> str:
    try:
        name = str(Path("/etc/localtime").resolve()).partition("zoneinfo/")[2]
        return time_zone(name) if name else "UTC"
    except (OSError, ValueError, LookupError):
        return "UTC"
