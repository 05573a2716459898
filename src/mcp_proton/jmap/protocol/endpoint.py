"""Where a JMAP server is, and how one logs in there. The password goes to the owner's origins and nowhere else."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urljoin, urlsplit

from mcp_proton.domain.errors import Invalid
from mcp_proton.imap.errors import ProtocolViolation

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcp_proton.imap.login.access_tokens import AccessTokens

WELL_KNOWN = "/.well-known/jmap"
LOCAL = frozenset({"127.0.0.1", "::1"})
_PORTS = {"https": 443, "http": 80}
_UNPRINTABLE = re.compile(r"[^\x21-\x7e]")


class Auth(StrEnum):
    """How the secret is shown: as a password with the user's name, or as a token (RFC 6750)."""

    BASIC = "basic"
    BEARER = "bearer"


@dataclass(frozen=True, slots=True)
class Credentials:
    """A login. `secret` is asked when it is needed, and again after it was refused; for each request if not `lasting`.

    `tokens`: what is shown are access tokens, had from there, and no secret is asked for.
    """

    username: str
    secret: Callable[[], Awaitable[str]] = field(repr=False)
    auth: Auth = Auth.BASIC
    lasting: bool = True
    tokens: AccessTokens | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Origin:
    """Scheme, host and port (RFC 6454 §4)."""

    scheme: str
    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}" + ("" if self.port == _PORTS.get(self.scheme) else f":{self.port}")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The session's URL, or only its origin (then `.well-known/jmap`, RFC 8620 §2.2). `also` are further origins that
    the owner trusts with the password: some servers hand out blobs elsewhere."""

    url: str
    also: tuple[str, ...] = ()

    @property
    def session_url(self) -> str:
        """Where discovery begins."""
        split = urlsplit(self.url)
        return self.url if split.path not in {"", "/"} else urljoin(self.url, WELL_KNOWN)

    @property
    def origins(self) -> frozenset[Origin]:
        """Where the password may go. Raises `Invalid` for a URL that is not https, unless it is on this machine."""
        return frozenset(_own(url) for url in (self.url, *self.also))

    def resolved(self, base: str, reference: object) -> str:
        """A server's URL, absolute. Raises `ProtocolViolation` unless it is within the origins."""
        if not isinstance(reference, str) or len(reference) > 4_096 or _UNPRINTABLE.search(reference):
            raise ProtocolViolation("the mail server names a place that is no URL")
        url = urljoin(base, reference)
        if origin(url) not in self.origins:
            raise ProtocolViolation("the mail server sends us elsewhere, where its password must not go")
        return url


def origin(url: str) -> Origin | None:
    """The origin of a URL, None where it has none or names a user."""
    try:
        split: SplitResult = urlsplit(url)
        port = split.port
    except ValueError:
        return None
    if split.scheme not in _PORTS or not split.hostname or "@" in split.netloc:
        return None
    return Origin(split.scheme, split.hostname.lower(), port or _PORTS[split.scheme])


def _own(url: str) -> Origin:
    found = origin(url)
    if found is None:
        raise Invalid("a JMAP server is named by its https URL", code="invalid_url")
    if found.scheme != "https" and found.host not in LOCAL:
        raise Invalid("a JMAP server that is not on this machine needs https", code="invalid_url")
    return found
