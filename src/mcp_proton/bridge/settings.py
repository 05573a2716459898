"""Finding a Bridge on this machine: which ports, which version, whose certificate. For set-up and `doctor`.

Bridge takes the first free port from 1143 (IMAP) and from 1025 (SMTP) at its first start and keeps it. No credentials
are sent, and nothing is trusted by looking: the owner compares the fingerprint with what Bridge exports.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mcp_proton.bridge.trying import evidence
from mcp_proton.domain.errors import MailError
from mcp_proton.imap.errors import border, printable
from mcp_proton.imap.limits import Timing
from mcp_proton.imap.login.endpoint import Endpoint, Pin, TlsMode
from mcp_proton.imap.protocol.opening import fetch_certificate

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcp_proton.bridge.trying.evidence import Version

LOOPBACK = "127.0.0.1"
"""the only address Bridge listens on"""
IMAP_PORTS = range(1143, 1153)
SMTP_PORTS = range(1025, 1035)
PATIENCE = 3.0
"""seconds for a greeting: a port with implicit TLS says nothing before the client does"""
LONGEST_GREETING = 2_000


@dataclass(frozen=True, slots=True)
class Discovered:
    """A mail server on a port, as it shows itself before login. `version` None: it does not say that it is Bridge."""

    host: str
    imap_port: int
    tls: TlsMode
    pin: Pin
    greeting: str
    version: Version | None
    smtp_port: int | None = None

    @property
    def endpoint(self) -> Endpoint:
        """Where to log in, trusting the certificate it showed."""
        return Endpoint(self.host, self.imap_port, self.tls, self.pin)


async def find(
    host: str = LOOPBACK,
    *,
    imap_ports: Iterable[int] = IMAP_PORTS,
    smtp_ports: Iterable[int] = SMTP_PORTS,
    patience: float = PATIENCE,
) -> list[Discovered]:
    """What answers on these ports, Bridges first, then by port. Ports where nothing usable listens are left out."""
    looks = [look(host, port, patience=patience) for port in imap_ports]
    seen = [one for one in await asyncio.gather(*looks) if one is not None]
    if not seen:
        return []
    smtp_port = await _first_smtp(host, smtp_ports, patience)
    seen.sort(key=lambda one: (one.version is None, one.imap_port))
    return [replace(one, smtp_port=smtp_port) for one in seen]


async def look(host: str, port: int, *, patience: float = PATIENCE) -> Discovered | None:
    """What listens on one IMAP port; None if nothing, or something that offers no TLS."""
    try:
        greeting = await _greeting(host, port, patience)
        tls = TlsMode.STARTTLS if greeting else TlsMode.IMPLICIT
        timing = Timing(connect=patience, greeting=patience, silence=patience)
        pin = Pin.of(await fetch_certificate(Endpoint(host, port, tls), timing))
    except MailError:
        return None
    if greeting and not greeting.startswith(b"* "):
        return None
    return Discovered(host, port, tls, pin, printable(greeting), evidence.version_in(greeting.decode("latin-1")))


async def _first_smtp(host: str, ports: Iterable[int], patience: float) -> int | None:
    for port in ports:
        try:
            if (await _greeting(host, port, patience)).startswith(b"220"):
                return port
        except MailError:
            continue
    return None


async def _greeting(host: str, port: int, patience: float) -> bytes:
    """The first line a server sends by itself; empty if it waits for the client. Raises `Unavailable`."""
    with border(f"looking at port {port}"):
        async with asyncio.timeout(patience):
            reader, writer = await asyncio.open_connection(host, port, limit=LONGEST_GREETING)
        try:
            async with asyncio.timeout(patience):
                return (await reader.readline())[:LONGEST_GREETING]
        except (TimeoutError, ValueError):
            return b""
        finally:
            writer.transport.abort()
