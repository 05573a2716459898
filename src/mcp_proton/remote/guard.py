"""Which addresses may be asked for a file: those of the public internet, and no others (J-110).

Written out from the IANA special-purpose registries (RFC 6890 and its updates) instead of read off the standard library,
whose `is_global` means other things in other versions. An IPv6 address that carries an IPv4 one is refused as such.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Network, ip_address

PORTS = frozenset({443, 8443})
"""Where https is spoken to strangers; a request can reach no other service."""

_NOT_PUBLIC_4 = tuple(
    map(
        IPv4Network,
        (
            "0.0.0.0/8",  # this network
            "10.0.0.0/8",  # private
            "100.64.0.0/10",  # carrier-grade NAT
            "127.0.0.0/8",  # loopback
            "169.254.0.0/16",  # link-local, where clouds keep their secrets
            "172.16.0.0/12",  # private
            "192.0.0.0/24",  # protocol assignments
            "192.0.2.0/24",  # documentation
            "192.31.196.0/24",  # AS112
            "192.52.193.0/24",  # AMT
            "192.88.99.0/24",  # 6to4 relays
            "192.168.0.0/16",  # private
            "192.175.48.0/24",  # AS112
            "198.18.0.0/15",  # benchmarks
            "198.51.100.0/24",  # documentation
            "203.0.113.0/24",  # documentation
            "224.0.0.0/4",  # multicast
            "240.0.0.0/4",  # reserved, broadcast
        ),
    )
)
_UNICAST_6 = IPv6Network("2000::/3")
"""All that is given out. Outside of it lie ::1, fc00::/7, fe80::/10, ff00::/8, ::ffff:0:0/96, 64:ff9b::/96 and the like."""
_NOT_PUBLIC_6 = tuple(
    map(
        IPv6Network,
        (
            "2001::/23",  # protocol assignments: Teredo, ORCHID, benchmarks
            "2001:db8::/32",  # documentation
            "2002::/16",  # 6to4: carries an IPv4 address
            "2620:4f:8000::/48",  # AS112
            "3fff::/20",  # documentation
        ),
    )
)


def public(address: str) -> bool:
    """Whether an address, as a resolver gives it, lies in the public internet. What is no address does not."""
    try:
        found = ip_address(address)
    except ValueError:
        return False
    if isinstance(found, IPv4Address):
        return not any(found in network for network in _NOT_PUBLIC_4)
    if found.scope_id is not None or found not in _UNICAST_6:
        return False
    return not any(found in network for network in _NOT_PUBLIC_6) and not _isatap(int(found))


def _isatap(number: int) -> bool:
    """Whether the lower half carries an IPv4 address for a tunnel (RFC 5214 §6.1)."""
    return (number >> 32) & 0xFCFF_FFFF == 0x0000_5EFE
