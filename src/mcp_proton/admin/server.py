"""Finding the server of an account, and trusting its certificate: compared by the owner once, pinned ever after (P-94)."""

from __future__ import annotations

import binascii
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_proton.bridge import settings as bridge
from mcp_proton.config.tables import Kind, Security
from mcp_proton.domain.errors import Invalid, MailError, Unavailable, Untrusted
from mcp_proton.imap.endpoint import Pin, TlsMode

from . import trial
from .asking import ask, say
from .wanted import flag, hosted

if TYPE_CHECKING:
    from mcp_proton.config.tables import Account

    from .wanted import Wanted

_STANDARD_PORTS = {Security.TLS: 993, Security.STARTTLS: 143, Security.PLAIN: 143}
_COMPARE_BRIDGE = (
    "Compare it with the one Bridge itself has: in Bridge, Settings > Advanced settings > Export TLS certificates",
    "saves cert.pem. Type the path of that file and it is compared for you, or look yourself:",
    "    openssl x509 -in cert.pem -noout -fingerprint -sha256",
)
_COMPARE_OTHER = ("Nobody this machine trusts vouches for it. Compare it with the one your mail provider tells you.",)


@dataclass(frozen=True)
class Server:
    """Where an account's server is. `smtp_port` is set where it is not the usual one."""

    kind: Kind
    host: str
    port: int
    security: Security
    smtp_port: int | None = None
    version: str = ""

    def __str__(self) -> str:
        name = f"Proton Mail Bridge {self.version}".strip() if self.kind is Kind.BRIDGE else "the mail server"
        return f"{name} on {self.host}:{self.port}"


async def find(wanted: Wanted, before: Account | None) -> Server:
    """Return the server: Bridge is looked for on its ports, any other is as the owner says."""
    if wanted.kind_of(before) is Kind.BRIDGE:
        return await _find_bridge(wanted, before)
    known = before if before and before.kind is Kind.IMAP else None
    host = flag("--host", hosted, wanted.host) if wanted.host else known.host if known else _ask_host()
    security = wanted.security or (known.protection if known else Security.TLS)
    kept = known.imap if known and wanted.security in (None, known.protection) else None
    return Server(
        Kind.IMAP, host, wanted.port or kept or _STANDARD_PORTS[security], security, known.smtp_port if known else None
    )


async def _find_bridge(wanted: Wanted, before: Account | None) -> Server:
    host = wanted.host or (before.host if before else bridge.LOOPBACK)
    usual = bridge.IMAP_PORTS
    ports = [wanted.port] if wanted.port else list(dict.fromkeys([*([before.imap] if before else []), *usual]))
    found = await bridge.find(host, ports)
    if not found:
        where = f"port {ports[0]}" if len(ports) == 1 else f"port {usual[0]} or the {len(usual) - 1} after it"
        raise Unavailable(
            f"no Proton Mail Bridge answers on {host}, {where}",
            next="start Bridge and see that it has a network (without one it closes its port); --port names another port, "
            "`--kind imap --host HOST` connects another mail server",
            code="bridge_not_found",
        )
    first = found[0]
    security = Security.TLS if first.tls is TlsMode.IMPLICIT else Security.STARTTLS
    return Server(Kind.BRIDGE, host, first.port, security, await bridge.find_smtp(host), str(first.version))


def _ask_host() -> str:
    return ask("The mail server's host name", flag="--host", check=hosted)


async def trust(server: Server, wanted: Wanted, before: Account | None) -> Pin | None:
    """Return the certificate to trust, None where the machine's authorities shall judge (any server but Bridge).

    Raises `Untrusted` when it is not the one the owner named, or when the owner says no.
    """
    pinned = Pin.read(before.certificate) if before and before.certificate else None
    if server.security is Security.PLAIN or not (server.kind is Kind.BRIDGE or wanted.trust or pinned):
        return None
    shown = await trial.certificate(server.host, server.port, server.security)
    if wanted.trust:
        if named(wanted.trust) != shown:
            raise _another(shown, named(wanted.trust))
        return shown
    if pinned == shown:
        say("Its certificate is the one you trusted before.")
        return shown
    return decide(server, shown, pinned)


async def trust_after_all(server: Server) -> Pin:
    """Ask the owner about a certificate that no authority vouches for."""
    return decide(server, await trial.certificate(server.host, server.port, server.security), None)


def decide(server: Server, shown: Pin, pinned: Pin | None) -> Pin:
    """Show a certificate's fingerprint and ask. Raises `Untrusted` on anything but a yes or the right file."""
    if pinned is None:
        say(f"{_capital(str(server))} shows a certificate with this SHA-256 fingerprint:", f"    {spelled(shown)}")
    else:
        say(
            "The certificate is not the one you trusted before. Nothing was sent.",
            f"    before  {spelled(pinned)}",
            f"    now     {spelled(shown)}",
            "A Bridge that was installed anew makes a new certificate. So would somebody after your password.",
        )
    say(*(_COMPARE_BRIDGE if server.kind is Kind.BRIDGE else _COMPARE_OTHER))

    def answered(text: str) -> str:
        if text.lower() in ("", "n", "no", "y", "yes"):
            return text.lower()
        try:
            return "yes" if named(text) == shown else "another"
        except MailError as error:
            raise ValueError(f"{error.message}; or answer yes or no") from None

    answer = ask("Trust this certificate from now on? (yes, no, or the path of cert.pem)", flag="--trust", check=answered)
    if answer in ("y", "yes"):
        return shown
    if answer == "another":
        raise _another(shown, None)
    raise Untrusted("the certificate was not trusted; nothing was sent and nothing was changed", next=_NOTHING)


_NOTHING = "run `mcp-proton setup` again once you have compared it"


def named(text: str) -> Pin:
    """Read `sha256:…`, plain hexadecimal digits, or a certificate's file (PEM or DER). Raises `Invalid`."""
    try:
        return Pin.read(text)
    except MailError:
        pass
    path = Path(text).expanduser()
    try:
        content = path.read_bytes()
        return Pin.of(ssl.PEM_cert_to_DER_cert(content.decode("ascii").strip()))
    except OSError:
        raise Invalid("--trust: that is neither a fingerprint (sha256: and 64 digits) nor a file") from None
    except (ValueError, binascii.Error):
        if content[:1] == b"\x30":  # DER
            return Pin.of(content)
        raise Invalid("--trust: that file holds no certificate") from None


def spelled(pin: Pin) -> str:
    """Return a fingerprint as openssl prints it, for comparing by eye."""
    return ":".join(f"{octet:02X}" for octet in pin.digest)


def _another(shown: Pin, expected: Pin | None) -> Untrusted:
    than = f"not {expected}" if expected else "not the one in that file"
    return Untrusted(
        f"the server shows the certificate {shown}, {than}; nothing was sent to it",
        next="find out what answers there before you trust it",
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
