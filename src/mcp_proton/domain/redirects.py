"""Redirects: where a program that signs in may have its answer sent (J-86, RFC 8252, RFC 9700 §2.1).

An address is one the owner allowed, to the letter. Only a program on this machine (http to loopback) may choose its port.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterable

LOOPBACK = ("127.0.0.1", "::1", "localhost")
SHIPPED = (
    "https://claude.ai/api/mcp/auth_callback",
    "https://claude.com/api/mcp/auth_callback",
    "http://127.0.0.1/callback",
    "http://localhost/callback",
)
"""What is allowed unless the owner says otherwise: Claude's own two (J-93), and programs on this machine."""
_LONGEST = 2_048
_PLAIN = re.compile(r"[\x21-\x7e]+")
_NO_PROGRAMS = ("about", "blob", "data", "file", "ftp", "javascript", "mailto", "vbscript", "view-source", "ws", "wss")


def is_redirect(address: str) -> bool:
    """Whether an answer could be sent there at all: https, a scheme of a program's own, or http to this machine."""
    return _read(address) is not None


def is_allowed(address: str, allowed: Iterable[str]) -> bool:
    """Whether an answer may be sent there."""
    asked = _read(address)
    if asked is None:
        return False
    return any(address == one or _differs_in_port_alone(asked, _read(one)) for one in allowed)


def program(address: str) -> str:
    """Return who sits there, as far as the address tells, for a person: `claude.ai`, `cursor:`, `this machine`."""
    found = urlsplit(address)
    if found.scheme == "https":
        return found.hostname or ""
    return "this machine" if found.scheme == "http" else f"{found.scheme}:"


def with_answer(address: str, query: str) -> str:
    """Return a redirect's address with an answer in its query."""
    return f"{address}{'&' if '?' in address else '?'}{query}"


def _read(address: str) -> SplitResult | None:
    if len(address) > _LONGEST or not _PLAIN.fullmatch(address) or any(c in address for c in '#\\"<>^`{|}'):
        return None
    try:
        found = urlsplit(address)
        port, host = found.port, found.hostname
    except ValueError:
        return None
    if "@" in found.netloc or found.scheme in _NO_PROGRAMS or port == 0:
        return None
    if found.scheme == "https":
        return found if host else None
    if found.scheme == "http":
        return found if host in LOOPBACK else None
    return found if found.scheme and (found.netloc or found.path) else None


def _differs_in_port_alone(asked: SplitResult, allowed: SplitResult | None) -> bool:
    if allowed is None or asked.scheme != "http" or allowed.scheme != "http":
        return False
    return (asked.hostname, asked.path, asked.query) == (allowed.hostname, allowed.path, allowed.query)
