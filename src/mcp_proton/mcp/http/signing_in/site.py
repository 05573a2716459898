"""Site: under which addresses the service is known to programs and to a person's browser."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from mcp_proton.domain.redirects import LOOPBACK
from mcp_proton.mcp.http.servers import PATH

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True)
class Site:
    """`origin` is where programs reach the service: its `public_url`, or where it listens on this machine."""

    origin: str

    @property
    def is_of_this_machine(self) -> bool:
        """Whether nobody reaches it from elsewhere."""
        return urlsplit(self.origin).hostname in LOOPBACK

    @property
    def issuer(self) -> str:
        """Where people sign in. Of this machine by its name: passkeys are for names, not for numbers (WebAuthn §5.1.2)."""
        port = urlsplit(self.origin).port
        return f"http://localhost:{port}" if self.is_of_this_machine and port else self.origin

    @property
    def host(self) -> str:
        """The name passkeys are made for."""
        return urlsplit(self.issuer).hostname or ""

    @property
    def is_secure(self) -> bool:
        """Whether browsers reach it over TLS."""
        return self.issuer.startswith("https:")

    def origin_as_asked(self, headers: Iterable[tuple[bytes, bytes]]) -> str:
        """Return the origin by the name a program used for it: of this machine any of its names is good."""
        asked = next((value.decode("latin-1") for name, value in headers if name == b"host"), "")
        named = f"http://{asked}"
        return named if named in self._names else self.origin

    def is_resource(self, named: str) -> bool:
        """Whether a program means us by this (RFC 8707): with or without the path, with or without a slash (J-85, J-92)."""
        return named.rstrip("/").removesuffix(PATH) in self._names

    @property
    def _names(self) -> frozenset[str]:
        port = urlsplit(self.origin).port
        if not self.is_of_this_machine or port is None:
            return frozenset({self.origin})
        return frozenset(f"http://{f'[{host}]' if ':' in host else host}:{port}" for host in LOOPBACK)
