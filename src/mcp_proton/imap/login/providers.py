"""What is well known of mail providers: where their servers are, what they log in with, which names and habits they have.

From the providers' own documentation. Nobody tried it here on a live account, so every preset is *unverified*: it spares
typing, and it never widens what is done to mail. A server that says otherwise (`X-GM-EXT-1`, SPECIAL-USE) is believed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING

from mcp_proton.domain.mail import Role
from mcp_proton.domain.ports import Standing
from mcp_proton.imap.login.endpoint import TlsMode

if TYPE_CHECKING:
    from collections.abc import Mapping


class Name(StrEnum):
    """How config.toml calls them (A-83). A provider that is not among them needs its host only."""

    GMAIL = "gmail"
    MICROSOFT = "microsoft"
    ICLOUD = "icloud"
    YAHOO = "yahoo"
    FASTMAIL = "fastmail"
    SPACEMAIL = "spacemail"


@dataclass(frozen=True, slots=True)
class Provider:
    """One of them. `files_sent`: whether a copy of what is sent by SMTP comes into Sent by itself; unverified: it may, and
    may be late. `password`: which one it takes; None: none, access tokens only. `roles`: mailboxes known by their names
    there, in lower case."""

    title: str
    host: str
    smtp_host: str
    smtp_tls: TlsMode
    files_sent: Standing
    password: str | None
    token_url: str | None = None
    scope: str | None = None
    labels: bool = False
    """mailboxes are labels: Gmail's effect table holds, whatever the server advertises"""
    roles: Mapping[str, Role] = field(default_factory=lambda: MappingProxyType({}))
    quirks: str = ""

    port = 993
    tls = TlsMode.IMPLICIT

    @property
    def smtp_port(self) -> int:
        """RFC 8314 §3.3, RFC 6409 §3.1."""
        return 465 if self.smtp_tls is TlsMode.IMPLICIT else 587


PROVIDERS: Mapping[Name, Provider] = MappingProxyType(
    {
        Name.GMAIL: Provider(
            "Gmail and Google Workspace",
            "imap.gmail.com",
            "smtp.gmail.com",
            TlsMode.IMPLICIT,
            Standing.AVAILABLE,
            "an app password (Google account, Security, 2-Step Verification, App passwords), not the account's own",
            "https://oauth2.googleapis.com/token",
            "https://mail.google.com/",
            labels=True,
            quirks="mailboxes are labels; a message is in All Mail once, whatever labels it has",
        ),
        Name.MICROSOFT: Provider(
            "Outlook.com and Microsoft 365",
            "outlook.office365.com",
            "smtp.office365.com",
            TlsMode.STARTTLS,
            Standing.UNVERIFIED,
            None,
            "https://login.microsoftonline.com/common/oauth2/v2.0/token",
            "https://outlook.office.com/IMAP.AccessAsUser.All https://outlook.office.com/SMTP.Send offline_access",
            roles=MappingProxyType({"deleted": Role.TRASH, "junk email": Role.SPAM}),
            quirks="no keywords are kept; a message may come back changed in its structure, and `size` is an estimate",
        ),
        Name.ICLOUD: Provider(
            "iCloud Mail",
            "imap.mail.me.com",
            "smtp.mail.me.com",
            TlsMode.STARTTLS,
            Standing.UNAVAILABLE,
            "an app-specific password (account.apple.com, Sign-In and Security), not the account's own",
            quirks="the login name may be the part before the @ only",
        ),
        Name.YAHOO: Provider(
            "Yahoo Mail",
            "imap.mail.yahoo.com",
            "smtp.mail.yahoo.com",
            TlsMode.IMPLICIT,
            Standing.UNVERIFIED,
            "an app password (Account security, Generate app password), not the account's own",
            "https://api.login.yahoo.com/oauth2/get_token",
            roles=MappingProxyType({"bulk": Role.SPAM, "bulk mail": Role.SPAM}),
            quirks="spam is in `Bulk`; few connections at once",
        ),
        Name.FASTMAIL: Provider(
            "Fastmail",
            "imap.fastmail.com",
            "smtp.fastmail.com",
            TlsMode.IMPLICIT,
            Standing.UNAVAILABLE,
            "an app password (Settings, Privacy & Security), not the account's own",
            quirks='speaks JMAP too (`kind = "jmap"`), which does more in one step',
        ),
        Name.SPACEMAIL: Provider(
            "Spacemail",
            "mail.spacemail.com",
            "mail.spacemail.com",
            TlsMode.IMPLICIT,
            Standing.UNAVAILABLE,
            "the mailbox's own password",
        ),
    }
)


def feature(name: Name) -> str:
    """How `capabilities_report` calls what is known of a provider."""
    return f"preset_{name.value}"
