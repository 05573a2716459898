"""Trust: a pinned certificate is compared before anything else is sent; without a pin, chain and host name count."""

from __future__ import annotations

import ssl
from functools import lru_cache
from typing import TYPE_CHECKING

from mcp_proton.domain.errors import Untrusted

if TYPE_CHECKING:
    import asyncio

    from mcp_proton.imap.login.endpoint import Pin


@lru_cache(maxsize=16)
def client_context(pin: Pin | None) -> ssl.SSLContext:
    """TLS 1.2 at least. With a pin the chain isn't looked at: the certificate itself is (`check_pin`).

    Made once for all connections: reading the machine's authorities costs more than connecting.
    """
    if pin is None:
        context = ssl.create_default_context()
    else:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def presented(transport: asyncio.Transport) -> bytes:
    """The certificate (DER) of the server at the other end. Raises Untrusted if there is none."""
    tls: ssl.SSLObject | None = transport.get_extra_info("ssl_object")
    certificate = tls.getpeercert(binary_form=True) if tls is not None else None
    if not certificate:
        raise Untrusted("the mail server showed no certificate")
    return certificate


def check_pin(transport: asyncio.Transport, pin: Pin) -> None:
    """Raises Untrusted unless the server's own certificate is the pinned one. Called before anything is sent."""
    if not pin.fits(presented(transport)):
        raise Untrusted("the mail server shows another certificate than the one trusted at set-up")
