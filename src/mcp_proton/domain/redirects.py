"""Redirects: where a program that signs in may have its answer sent (J-86, RFC 8252, RFC 9700 §2.1).

An address is one the owner allowed, to the letter. Only a program on this machine (http to loopback) may choose its port,
and a scheme of Claude's own may be allowed as a whole (RFC 8252 §7.1): then an address is what its program registered.
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
    "claude://",
    "cowork://",
)
"""What is allowed unless the owner says otherwise: Claude's own (J-93), and programs on this machine."""
_SCHEMES = {"claude": "Claude", "cowork": "Cowork"}
_RULES = frozenset(f"{scheme}://" for scheme in _SCHEMES)
_OF_A_SCHEME = re.compile(r"(?P<rule>[a-z]+://)[A-Za-z0-9.-]{1,128}(?:/[A-Za-z0-9._~/-]{0,128})?")
_LONGEST = 2_048
_PLAIN = re.compile(r"[\x21-\x7e]+")
_NO_PROGRAMS = ("about", "blob", "data", "file", "ftp", "javascript", "mailto", "vbscript", "view-source", "ws", "wss")


def is_redirect(address: str) -> bool:
    """Whether an answer could be sent there at all: https, a scheme of a program's own, or http to this machine."""
    return _read(address) is not None


def is_rule(text: str) -> bool:
    """Whether it allows something: a redirect, or (`claude://`, `cowork://`, no other) every address of a scheme."""
    return is_redirect(text) or text in _RULES


def is_of_a_scheme(address: str, allowed: Iterable[str]) -> bool:
    """Whether it is allowed by its scheme: a host of letters and digits, perhaps a path, nothing that could mean more."""
    found = _OF_A_SCHEME.fullmatch(address)
    return found is not None and found["rule"] in _RULES and found["rule"] in allowed


def is_named(address: str, allowed: Iterable[str]) -> bool:
    """Whether it is allowed to the letter; on this machine, with any port."""
    asked = _read(address)
    if asked is None:
        return False
    return any(address == one or _differs_in_port_alone(asked, _read(one)) for one in allowed)


def program(address: str) -> str:
    """Return who sits there, as far as the address tells: `claude.ai`, `Claude (claude:)`, `cursor:`, `this machine`."""
    found = urlsplit(address)
    if found.scheme in _SCHEMES:
        return f"{_SCHEMES[found.scheme]} ({found.scheme}:)"
    if found.scheme == "https":
        return found.hostname or ""
    return "this machine" if found.scheme == "http" else f"{found.scheme}:"


def private_scheme(address: str) -> str | None:
    """Return the scheme of an address that some program on the person's device opens; None for one of the web."""
    scheme = urlsplit(address).scheme
    return None if scheme in ("https", "http") else scheme


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
