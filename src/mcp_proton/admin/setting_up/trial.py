"""One login on trial: how an account's server is, before anything relies on it. Nothing is kept, nothing is marked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mcp_proton import bootstrap
from mcp_proton.domain.errors import MailError
from mcp_proton.domain.ports import Standing
from mcp_proton.imap.limits import Timing
from mcp_proton.imap.login.endpoint import Endpoint, Pin
from mcp_proton.imap.protocol import opening

if TYPE_CHECKING:
    from mcp_proton.config.tables import Account
    from mcp_proton.config.values import Security
    from mcp_proton.domain.findings import KnownFindings
    from mcp_proton.domain.ports import Health, MailBackend, SecretProvider
    from mcp_proton.imap.backend import ImapBackend
    from mcp_proton.jmap.backend import JmapBackend

_PATIENCE = Timing(connect=10.0, greeting=15.0)
"""shorter than in service: somebody sits and waits, and a server that is well greets at once"""


_NOT_TRIED = frozenset({"send", "files_sent"})
"""what no trial can prove, since it would have to send; `capabilities_report` tells its standing"""


@dataclass(frozen=True)
class Trial:
    """How it went. `mailboxes` is how many there are, `unverified` what is not known to work on this server.

    `sending`: whether a login for sending worked; None where the owner switched sending off, or it was not looked at.
    `sending_trouble` says why it did not.
    """

    health: Health
    mailboxes: int = 0
    unverified: tuple[str, ...] = ()
    sending: bool | None = None
    sending_trouble: MailError | None = None


async def log_in(name: str, account: Account, vault: SecretProvider, known: KnownFindings | None = None) -> Trial:
    """Connect, check the certificate, log in, look around. Trouble is in `health`, with its code; never raises it.

    `known` is what trials showed of its server so far.
    """
    backend = bootstrap.backend(name, account, vault, timing=_PATIENCE, known=known)
    try:
        health = await backend.health()
        if not health.connected:
            return Trial(health)
        features = backend.features()
        open_words = (word for word, standing in features.items() if standing is Standing.UNVERIFIED)
        unverified = tuple(sorted(word for word in open_words if word not in _NOT_TRIED))
        found = Trial(health, await _mailboxes(backend), unverified)
        return await _tried_to_send(backend, found) if account.sending else found
    finally:
        await backend.aclose()


async def _tried_to_send(backend: ImapBackend | JmapBackend, found: Trial) -> Trial:
    """Log in as for sending; no mail is begun."""
    try:
        await backend.check_sending()
    except MailError as error:
        return replace(found, sending=False, sending_trouble=error)
    return replace(found, sending=True)


async def certificate(host: str, port: int, security: Security) -> Pin:
    """Return the fingerprint of the certificate a server shows, trusted or not. Nothing else is sent to it.

    Raises `Unavailable` when it cannot be reached or shows none.
    """
    return Pin.of(await opening.fetch_certificate(Endpoint(host, port, bootstrap.tls_mode(security)), _PATIENCE))


async def _mailboxes(backend: MailBackend) -> int:
    try:
        return len(await backend.mailboxes())
    except MailError:
        return 0
