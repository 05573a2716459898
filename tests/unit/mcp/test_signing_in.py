"""What signing in keeps in memory, how often it may be asked, and under which names it is known."""

from __future__ import annotations

import pytest
from httpx2 import ASGITransport, AsyncClient
from joserfc.jwk import ECKey

from mcp_proton.config.signing_in import By, SigningIn
from mcp_proton.mcp.http.rates import Rate
from mcp_proton.mcp.http.signing_in.access import AccessTokens
from mcp_proton.mcp.http.signing_in.desk import Desk
from mcp_proton.mcp.http.signing_in.front import by_passkey
from mcp_proton.mcp.http.signing_in.keeping import Kept
from mcp_proton.mcp.http.signing_in.site import Site

HERE = Site("http://127.0.0.1:8420")
THERE = Site("https://mail.example.org")


async def test_who_asks_too_often_is_told_to_come_back():
    """A-33: sixty authorizations, a hundred and twenty exchanges, a hundred and eighty pages a minute."""
    noted: list[str] = []
    minute = {"seconds": 60.0, "now": lambda: 0.0}
    desk = Desk(
        HERE,
        SigningIn(by=By.PASSKEY),
        [],
        None,
        noted.append,
        Rate(60, **minute),
        Rate(120, **minute),
        Rate(180, **minute),
    )
    app = by_passkey(desk, AccessTokens(ECKey.generate_key("P-256"), HERE.issuer, "x"))
    async with AsyncClient(transport=ASGITransport(app), base_url=HERE.issuer) as http:
        for path, most in (("/authorize", 60), ("/sign-in/enrol", 180)):
            codes = [(await http.get(path)).status_code for _ in range(most + 2)]
            assert codes[most:] == [429, 429]
            assert 429 not in codes[:most]
        codes = [(await http.post("/token", data={"grant_type": "x"})).status_code for _ in range(122)]
        assert codes == [400] * 120 + [429] * 2
    assert noted.count("sign_in_limited") == 6
    defaults = Desk(HERE, SigningIn(by=By.PASSKEY), [], None, noted.append)
    for rate, most in ((defaults.authorizing, 60), (defaults.exchanging, 120), (defaults.browsing, 180)):
        assert [rate.take("x") > 0 for _ in range(most)] == [False] * most


def test_what_is_under_way_is_kept_for_ten_minutes_and_two_thousand_times_at_most():
    """J-88."""
    now = [0.0]
    kept: Kept[int] = Kept(now=lambda: now[0])
    names = [kept.put(number) for number in range(2_048)]
    assert kept.look(names[0]) == 0
    newest = kept.put(9)
    assert len(kept) == 2_048
    assert kept.look(names[0]) is None
    assert kept.take(names[1]) == 1
    assert kept.take(names[1]) is None
    now[0] = 599.9
    assert kept.look(newest) == 9
    now[0] = 600.0
    assert (kept.look(newest), len(kept)) == (None, 0)


@pytest.mark.parametrize("name", [None, 7, [], {}, "", "\ud800", "x" * 100_000])
def test_what_names_nothing_is_nothing(name):
    kept: Kept[int] = Kept()
    kept.put(1)
    assert kept.look(name) is None
    assert kept.take(name) is None


@pytest.mark.parametrize(
    ("site", "named", "expected"),
    [
        (THERE, "https://mail.example.org/mcp", True),
        (THERE, "https://mail.example.org/mcp/", True),
        (THERE, "https://mail.example.org", True),
        (THERE, "https://mail.example.org/", True),
        (THERE, "https://mail.example.org/mcp/x", False),
        (THERE, "https://mail.example.org.evil.test/mcp", False),
        (THERE, "http://mail.example.org/mcp", False),
        (THERE, "https://mail.example.org:444/mcp", False),
        (THERE, "", False),
        (HERE, "http://127.0.0.1:8420/mcp", True),
        (HERE, "http://localhost:8420/mcp/", True),
        (HERE, "http://[::1]:8420", True),
        (HERE, "http://localhost:8421/mcp", False),
        (HERE, "http://localhost.evil.test:8420/mcp", False),
    ],
)
def test_a_program_may_call_the_resource_with_or_without_its_path(site, named, expected):
    """J-85, J-92: some must have the path at the end, some leave it out."""
    assert site.is_resource(named) is expected


@pytest.mark.parametrize(
    ("site", "host", "expected"),
    [
        (THERE, "evil.example.org", "https://mail.example.org"),
        (THERE, "localhost:8420", "https://mail.example.org"),
        (HERE, "localhost:8420", "http://localhost:8420"),
        (HERE, "127.0.0.1:8420", "http://127.0.0.1:8420"),
        (HERE, "[::1]:8420", "http://[::1]:8420"),
        (HERE, "localhost:9", "http://127.0.0.1:8420"),
        (HERE, "evil.example.org:8420", "http://127.0.0.1:8420"),
        (HERE, "x@localhost:8420", "http://127.0.0.1:8420"),
        (HERE, "localhost:8420/evil", "http://127.0.0.1:8420"),
        (HERE, "[", "http://127.0.0.1:8420"),
    ],
)
def test_the_service_is_called_as_it_was_asked_for_only_by_names_that_are_its_own(site, host, expected):
    assert site.origin_as_asked([(b"host", host.encode())]) == expected
