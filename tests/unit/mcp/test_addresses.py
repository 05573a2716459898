"""Where a request comes from: what a stranger writes into a header moves nothing (J-106)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_proton.mcp.http.addresses import Addresses

PROXY, OUTER = "10.0.0.5", "10.0.0.6"


def scope(peer: str | None, *forwarded: str) -> dict[str, Any]:
    headers = [(b"x-forwarded-for", one.encode("latin-1")) for one in forwarded]
    return {"client": (peer, 1234) if peer else None, "headers": headers}


CASES = {
    "nobody in between": (["10.0.0.0/8"], "192.0.2.1", [], "192.0.2.1"),
    "a stranger that claims to be a proxy": (["10.0.0.0/8"], "192.0.2.1", ["198.51.100.9"], "192.0.2.1"),
    "no proxy is trusted": ([], PROXY, ["198.51.100.9"], PROXY),
    "one proxy": ([PROXY], PROXY, ["198.51.100.9"], "198.51.100.9"),
    "one proxy, and what a stranger wrote before it": ([PROXY], PROXY, ["1.1.1.1, 198.51.100.9"], "198.51.100.9"),
    "two proxies": ([PROXY, OUTER], PROXY, [f"1.1.1.1, 198.51.100.9, {OUTER}"], "198.51.100.9"),
    "two headers": ([PROXY, OUTER], PROXY, ["198.51.100.9", OUTER], "198.51.100.9"),
    "words that are no address": ([PROXY], PROXY, ["198.51.100.9, unknown"], PROXY),
    "an empty header": ([PROXY], PROXY, [""], PROXY),
    "all of them proxies": (["10.0.0.0/8"], PROXY, [OUTER], OUTER),
    "a port": ([PROXY], PROXY, ["198.51.100.9:555"], "198.51.100.9"),
    "IPv6": ([PROXY], PROXY, ["[2001:db8::1]:555"], "2001:db8::1"),
    "IPv4 in IPv6 clothes": ([PROXY], f"::ffff:{PROXY}", ["::ffff:198.51.100.9"], "198.51.100.9"),
    "the socket, trusted": (["unix"], None, ["198.51.100.9"], "198.51.100.9"),
    "the socket, not trusted": ([PROXY], None, ["198.51.100.9"], "unix"),
}


@pytest.mark.parametrize(("trusted", "peer", "forwarded", "found"), CASES.values(), ids=CASES.keys())
def test_an_address_is_what_the_last_trusted_proxy_saw(trusted, peer, forwarded, found):
    assert Addresses(trusted).of(scope(peer, *forwarded)) == found


@given(st.lists(st.text(st.characters(max_codepoint=255), max_size=60), max_size=4))
def test_a_stranger_is_counted_under_its_own_address_whatever_it_writes(forwarded):
    assert Addresses([PROXY]).of(scope("192.0.2.1", *forwarded)) == "192.0.2.1"
    seen = [*forwarded[:-1], f"{forwarded[-1] if forwarded else ''}, 192.0.2.1"]  # as the proxy adds it
    assert Addresses([PROXY]).of(scope(PROXY, *seen)) == "192.0.2.1"
