"""Where a request comes from: the peer's address, or what a proxy that the owner trusts says it is (J-106).

`X-Forwarded-For` is read from its end, past the owner's own proxies, up to the first address that is none of them: what
stands before that was written by whoever likes to. Without trusted proxies it is not read at all.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from starlette.types import Scope

UNIX = "unix"
"""The address of whoever comes by a Unix domain socket."""
MOST_HOPS = 20
_HEADER = b"x-forwarded-for"


class Addresses:
    """Tells addresses. `trusted` are networks, and `unix` for whoever may connect to the socket."""

    def __init__(self, trusted: Iterable[str] = ()) -> None:
        words = frozenset(trusted)
        self._unix = UNIX in words
        self._networks = [ip_network(word) for word in words - {UNIX}]

    def of(self, scope: Scope) -> str:
        """Return the address a request comes from, as a word to count by."""
        client = scope.get("client")
        peer = _address(client[0]) if client else None
        if not self._is_trusted(peer):
            return str(peer or UNIX)
        for hop in _hops(scope["headers"]):
            address = _address(hop)
            if address is None:
                break  # what no proxy of the owner's wrote: the last one that was is as far as we know
            peer = address
            if not self._is_trusted(address):
                break
        return str(peer or UNIX)

    def _is_trusted(self, address: IPv4Address | IPv6Address | None) -> bool:
        if address is None:
            return self._unix
        return any(address.version == network.version and address in network for network in self._networks)


def _hops(headers: Iterable[tuple[bytes, bytes]]) -> Sequence[str]:
    """Return what the header names, the nearest first; several headers are one list (RFC 9110 §5.3)."""
    given = b",".join(value for name, value in headers if name == _HEADER).decode("latin-1")
    return [hop.strip() for hop in given.split(",")][::-1][:MOST_HOPS]


def _address(text: str) -> IPv4Address | IPv6Address | None:
    """Read an address, with or without a port or brackets; an IPv4 address in IPv6 clothes is the IPv4 address."""
    bare = text.strip()
    if bare.startswith("["):
        bare = bare[1:].partition("]")[0]
    elif bare.count(":") == 1:
        bare = bare.partition(":")[0]
    try:
        found = ip_address(bare)
    except ValueError:
        return None
    return (found.ipv4_mapped or found) if isinstance(found, IPv6Address) else found
