"""Where an account's server is, how it is trusted, and who logs in."""

from __future__ import annotations

import hmac
import re
from dataclasses import dataclass, field
from enum import Enum
from hashlib import sha256
from ipaddress import ip_address
from typing import TYPE_CHECKING

from mcp_proton.domain.errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcp_proton.imap.login.access_tokens import AccessTokens

_HEX = re.compile(r"[0-9a-f]{64}")


class TlsMode(Enum):
    STARTTLS = "starttls"
    IMPLICIT = "implicit"
    PLAIN = "plain"
    """no TLS: only towards this machine, and only when asked for by name"""


@dataclass(frozen=True, slots=True)
class Pin:
    """The sha256 of the one certificate that is trusted. Read from "sha256:…", with or without colons, any case."""

    digest: bytes

    @classmethod
    def read(cls, text: str) -> Pin:
        digits = text.strip().lower().removeprefix("sha256:").replace(":", "").replace(" ", "")
        if not _HEX.fullmatch(digits):
            raise Invalid("a certificate's fingerprint is `sha256:` and 64 hexadecimal digits")
        return cls(bytes.fromhex(digits))

    @classmethod
    def of(cls, certificate: bytes) -> Pin:
        """The pin of a certificate in DER."""
        return cls(sha256(certificate).digest())

    def fits(self, certificate: bytes) -> bool:
        return hmac.compare_digest(self.digest, sha256(certificate).digest())

    def __str__(self) -> str:
        return f"sha256:{self.digest.hex()}"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server's address. With a `pin` exactly that certificate is trusted, without one the machine's authorities.

    TlsMode.PLAIN raises Invalid unless `plain_to_this_machine` is set and the host is a loopback address.
    """

    host: str
    port: int
    tls: TlsMode = TlsMode.STARTTLS
    pin: Pin | None = None
    plain_to_this_machine: bool = False

    def __post_init__(self) -> None:
        if self.tls is TlsMode.PLAIN and not (self.plain_to_this_machine and is_loopback(self.host)):
            raise Invalid("mail without TLS is possible only on this machine, and only when asked for")

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


def is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class Credentials:
    """Who logs in. The password is asked for at every login and not kept; with `tokens`, one of those is shown instead."""

    username: str
    password: Callable[[], Awaitable[str]] = field(repr=False)
    tokens: AccessTokens | None = field(default=None, repr=False)
