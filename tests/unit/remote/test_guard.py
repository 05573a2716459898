"""Which addresses may be asked (J-110): only the public internet, however an address is dressed up."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_proton.remote.guard import public

PRIVATE_4 = [
    "0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.1.2.3",
    "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.8", "192.0.2.1", "192.88.99.1", "192.168.1.1",
    "198.18.0.1", "198.19.255.255", "198.51.100.7", "203.0.113.9", "224.0.0.1", "239.255.255.250", "240.0.0.1",
    "255.255.255.255",
]  # fmt: skip
PRIVATE_6 = [
    "::", "::1", "::7f00:1", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::ffff:0:10.0.0.1", "64:ff9b::7f00:1", "64:ff9b::808:808",
    "64:ff9b:1::a00:1", "100::1", "fc00::1", "fd12:3456::1", "fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1", "2001::1",
    "2001:0:53aa:64c::1", "2001:2::1", "2001:10::1", "2001:20::1", "2001:db8::1", "2002:7f00:1::", "2002:808:808::1",
    "3fff::1", "5f00::1", "2606:4700::5efe:7f00:1", "2606:4700::200:5efe:a00:1", "2606:4700::1%2", "4000::1",
]  # fmt: skip
PUBLIC = [
    "8.8.8.8",
    "1.1.1.1",
    "100.63.255.255",
    "172.32.0.1",
    "192.169.0.1",
    "223.255.255.255",
    "2606:4700::1111",
    "2a00:1450::1",
]


@pytest.mark.parametrize("address", PRIVATE_4 + PRIVATE_6)
def test_an_address_inside_is_never_asked(address: str) -> None:
    """J-110."""
    assert not public(address)


@pytest.mark.parametrize("address", PUBLIC)
def test_an_address_of_the_internet_may_be_asked(address: str) -> None:
    assert public(address)


@pytest.mark.parametrize(
    "text", ["", "localhost", "127.1", "0x7f000001", "2130706433", "017700000001", "1.2.3", "8.8.8.8:443"]
)
def test_what_is_no_address_is_not_public(text: str) -> None:
    assert not public(text)


@given(st.integers(0, 2**32 - 1))
def test_no_ipv4_address_gets_through_in_an_ipv6_one(number: int) -> None:
    for carrier in ("::", "::ffff:0:0", "::ffff:0:0:0", "64:ff9b::", "64:ff9b:1::", "2606:4700::5efe:0:0"):
        assert not public(str(IPv6Address(int(IPv6Address(carrier)) | number)))
    assert not public(str(IPv6Address(int(IPv6Address("2002::")) | number << 80)))


@given(st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6)))
def test_nothing_is_public_that_the_standard_library_calls_private(address: IPv4Address | IPv6Address) -> None:
    if public(str(address)):
        found = ip_address(str(address))
        inside = (found.is_private, found.is_loopback, found.is_link_local, found.is_multicast, found.is_reserved)
        assert not any(inside)
