"""Finding Proton Mail Bridge before anything is known of it: on which port it answers, in which mode, which version.

Only greetings are read: nothing is sent but a TLS hello, and nothing seen here is trusted. Bridge takes the first free
port from 1143 (IMAP) and 1025 (SMTP), on 127.0.0.1 alone, and its settings can turn either listener to implicit TLS.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcp_proton.bridge.evidence import version_in
from mcp_proton.imap.endpoint import TlsMode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_proton.bridge.evidence import Version

LOOPBACK = "127.0.0.1"
IMAP_PORTS: Sequence[int] = range(1143, 1153)
SMTP_PORTS: Sequence[int] = range(1025, 1035)
_SECONDS = 2.0
_LONGEST = 4096
_SMTP_GREETING = re.compile(r"220 127\.0\.0\.1 ESMTP Service Ready")


@dataclass(frozen=True, slots=True)
class Found:
    """A Bridge that answers. `tls` is how its IMAP port wants to be spoken to."""

    host: str
    port: int
    tls: TlsMode
    version: Version


async def find(host: str = LOOPBACK, ports: Sequence[int] | None = None, *, seconds: float = _SECONDS) -> list[Found]:
    """Return every Bridge that greets on these ports (its usual ones), lowest port first. Never raises."""
    looked = await asyncio.gather(*(_look(host, port, seconds) for port in ports or IMAP_PORTS))
    return [one for one in looked if one is not None]


async def find_smtp(
    host: str = LOOPBACK, ports: Sequence[int] | None = None, *, seconds: float = _SECONDS
) -> int | None:
    """Return the first of these ports (the usual ones) on which a Bridge's SMTP server greets. Never raises."""
    asked = list(ports or SMTP_PORTS)
    greetings = await asyncio.gather(*(_greeting(host, port, seconds) for port in asked))
    fitting = (port for port, (text, _) in zip(asked, greetings, strict=True) if _SMTP_GREETING.match(text))
    return next(fitting, None)


async def _look(host: str, port: int, seconds: float) -> Found | None:
    text, tls = await _greeting(host, port, seconds)
    version = version_in(text)
    return None if version is None else Found(host, port, tls, version)


async def _greeting(host: str, port: int, seconds: float) -> tuple[str, TlsMode]:
    """Read the first line in the clear; where a listener stays silent it may wait for a TLS hello."""
    plain = await _first_line(host, port, None, seconds)
    if plain is None:
        return await _first_line(host, port, _any_certificate(), seconds) or "", TlsMode.IMPLICIT
    return plain, TlsMode.STARTTLS


async def _first_line(host: str, port: int, context: ssl.SSLContext | None, seconds: float) -> str | None:
    """Return the line, "" where nobody greets, None where somebody listens in silence."""
    writer = None
    try:
        async with asyncio.timeout(seconds):
            reader, writer = await asyncio.open_connection(host, port, ssl=context, limit=_LONGEST)
            return (await reader.readuntil(b"\n")).decode("utf-8", "replace")
    except TimeoutError:
        return None if writer is not None else ""
    except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        return ""
    finally:
        if writer is not None:
            writer.close()
            with suppress(OSError, TimeoutError):
                await asyncio.wait_for(writer.wait_closed(), 1.0)


def _any_certificate() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
