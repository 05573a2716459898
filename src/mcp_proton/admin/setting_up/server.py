"""Finding the server of an account, and trusting its certificate: compared by the owner once, pinned ever after (P-94)."""

from __future__ import annotations

import binascii
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_proton.admin.asking import ask, say
from mcp_proton.admin.setting_up import trial
from mcp_proton.admin.setting_up.wanted import hosted, located
from mcp_proton.bridge import settings as bridge
from mcp_proton.config.values import Kind, Security
from mcp_proton.domain.errors import Invalid, MailError, Unavailable, Untrusted
from mcp_proton.imap.login.endpoint import Pin, TlsMode
from mcp_proton.imap.login.providers import PROVIDERS
from mcp_proton.imap.login.providers import Name as ProviderName
from mcp_proton.jmap.protocol.endpoint import origin

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcp_proton.admin.setting_up.wanted import Wanted
    from mcp_proton.config.tables import Account

_STANDARD_PORTS = {Security.TLS: 993, Security.STARTTLS: 143, Security.PLAIN: 143}
_COMPARE_BRIDGE = (
    "Compare it with the one Bridge itself has. In Bridge, Settings > Advanced settings > Export TLS certificates",
    "saves cert.pem. Type the path of that file and it is compared for you, or look yourself:",
    "    openssl x509 -in cert.pem -noout -fingerprint -sha256",
)
_COMPARE_OTHER = ("Nobody this machine trusts vouches for it. Compare it with the one your mail provider tells you.",)


@dataclass(frozen=True)
class Server:
    """Where an account's server is. `shown` is the certificate it showed, trusted or not, where one was looked at."""

    kind: Kind
    host: str
    port: int
    security: Security
    smtp_port: int | None = None
    version: str = ""
    shown: Pin | None = None
    url: str | None = None
    provider: ProviderName | None = None

    def __str__(self) -> str:
        name = f"Proton Mail Bridge {self.version}".strip() if self.kind is Kind.BRIDGE else "the mail server"
        return f"{name} on {self.url or f'{self.host}:{self.port}'}"


async def find(wanted: Wanted, before: Account | None) -> Server:
    """Return the server: Bridge is looked for on its ports, any other is as the owner says."""
    if wanted.kind_of(before) is Kind.BRIDGE:
        return await _find_bridge(wanted, before)
    if wanted.kind_of(before) is Kind.JMAP:
        return _jmap(wanted, before)
    if wanted.provider is not None:
        return _provided(wanted, wanted.provider)
    known = before if before and before.kind is Kind.IMAP else None
    host = wanted.host or (known.host if known else _ask_host())
    security = wanted.security or (known.protection if known else Security.TLS)
    kept = known.imap if known and wanted.security in (None, known.protection) else None
    return Server(
        Kind.IMAP,
        host,
        wanted.port or kept or _STANDARD_PORTS[security],
        security,
        known.smtp_port if known else None,
        provider=known.provider if known and wanted.host in (None, known.host) else None,
    )


def _provided(wanted: Wanted, name: ProviderName) -> Server:
    """What is well known of a provider, where the flags do not say otherwise."""
    known = PROVIDERS[name]
    say(f"{known.title} wants {known.password or 'an access token: passwords are switched off there'}.")
    security = wanted.security or Security.TLS
    port = wanted.port or _STANDARD_PORTS[security]
    return Server(Kind.IMAP, wanted.host or known.host, port, security, provider=name)


def _jmap(wanted: Wanted, before: Account | None) -> Server:
    if wanted.trust:
        raise Invalid("--trust is not for `--kind jmap`: the machine's authorities judge its certificate")
    url = wanted.url or (before.url if before else None) or ask("The JMAP server's URL", flag="--url", check=located)
    found = origin(url)
    if found is None:
        raise Invalid("--url: that is no URL of a server")
    return Server(
        Kind.JMAP, found.host, found.port, Security.TLS if found.scheme == "https" else Security.PLAIN, url=url
    )


async def _find_bridge(wanted: Wanted, before: Account | None) -> Server:
    host = wanted.host or (before.host if before else bridge.LOOPBACK)
    first = [wanted.port] if wanted.port else [before.imap] if before else []
    found = await _bridges(host, first) if first else []
    if not found and not wanted.port:
        found = await _bridges(host, bridge.IMAP_PORTS)
    if not found:
        raise _no_bridge(host, wanted.port)
    one = found[0]
    security = Security.TLS if one.tls is TlsMode.IMPLICIT else Security.STARTTLS
    return Server(Kind.BRIDGE, host, one.imap_port, security, one.smtp_port, str(one.version or ""), one.pin)


async def _bridges(host: str, ports: Iterable[int]) -> list[bridge.Discovered]:
    """Return what says that it is Bridge; with implicit TLS it says so only later, and the certificate has to tell."""
    found = await bridge.find(host, imap_ports=ports)
    return [one for one in found if one.version is not None] or [one for one in found if one.tls is TlsMode.IMPLICIT]


def _no_bridge(host: str, port: int | None) -> Unavailable:
    usual = bridge.IMAP_PORTS
    where = f"port {port}" if port else f"port {usual[0]} or the {len(usual) - 1} after it"
    return Unavailable(
        f"no Proton Mail Bridge answers on {host}, {where}",
        next="start Bridge and see that it has a network (without one it closes its port); --port names another port, "
        "`--kind imap --host HOST` connects another mail server",
        code="bridge_not_found",
    )


def _ask_host() -> str:
    return ask("The mail server's host name", flag="--host", check=hosted)


async def trust(server: Server, wanted: Wanted, before: Account | None) -> Pin | None:
    """Return the certificate to trust, None where the machine's authorities shall judge (any server but Bridge).

    Raises `Untrusted` when it is not the one the owner named, or when the owner says no.
    """
    pinned = Pin.read(before.certificate) if before and before.certificate else None
    if (
        server.kind is Kind.JMAP
        or server.security is Security.PLAIN
        or not (server.kind is Kind.BRIDGE or wanted.trust or pinned)
    ):
        return None
    shown = server.shown or await trial.certificate(server.host, server.port, server.security)
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
        who = "It" if server.kind is Kind.BRIDGE else f"The mail server on {server.host}:{server.port}"
        say(f"{who} shows a certificate with this SHA-256 fingerprint:", *spelled(shown))
    else:
        say(
            "The certificate is not the one you trusted before. Nothing was sent.",
            "It was",
            *spelled(pinned),
            "and now it is",
            *spelled(shown),
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

    answer = ask(
        "Trust this certificate from now on? (yes, no, or the path of cert.pem)", flag="--trust", check=answered
    )
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


def spelled(pin: Pin) -> tuple[str, str]:
    """Return a fingerprint as openssl prints it, in two lines, for comparing by eye."""
    octets = [f"{octet:02X}" for octet in pin.digest]
    return f"    {':'.join(octets[:16])}:", f"    {':'.join(octets[16:])}"


def _another(shown: Pin, expected: Pin | None) -> Untrusted:
    than = f"not {expected}" if expected else "not the one in that file"
    return Untrusted(
        f"the server shows the certificate {shown}, {than}; nothing was sent to it",
        next="find out what answers there before you trust it",
    )
