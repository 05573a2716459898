"""What is kept of the authorization server's tokens and keys, and for how long; which keys are of use (J-81, J-82, J-89)."""

from __future__ import annotations

from contextlib import aclosing

import httpx2
import pytest
from joserfc.jwk import KeySet

from mcp_proton.config.oauth import OAuth
from mcp_proton.domain.errors import Unavailable
from mcp_proton.mcp.oauth.claims import SKEW, said
from mcp_proton.mcp.oauth.keys import COOLING, KEEP, Keys
from mcp_proton.mcp.oauth.verifying import MOST_KEPT, Verifier
from tests.surfaces.http.issuer import CLIENT, SECRET, Issuer

AUDIENCE = "https://mail.example"
LATER = 4_000_000_000


class Now:
    """A clock that a test turns."""

    def __init__(self, at: float = 0.0) -> None:
        self.at = at

    def __call__(self) -> float:
        return self.at


@pytest.fixture(scope="module")
def made():
    """Keys take time to make."""
    with Issuer() as issuer:
        yield issuer


@pytest.fixture
def issuer(made):
    made.asked.clear()
    made.opaque.clear()
    made.published = list(made.keys)
    made.down = False
    return made


def asking(issuer: Issuer, now: Now) -> Verifier:
    async def secret() -> str:
        return SECRET

    rules = OAuth(issuer=issuer.url, introspection_url=f"{issuer.url}/asked", client_id=CLIENT, secret="keyring")
    return Verifier(rules, AUDIENCE, secret, now)


def good(**more: object) -> dict[str, object]:
    return {"active": True, "sub": "alice", "aud": AUDIENCE, "exp": LATER, **more}


async def test_a_token_is_asked_about_once_a_minute_and_never_believed_beyond_its_end(issuer: Issuer):
    """J-89: whether it was good or not."""
    now = Now(1_000_000_000.0)
    issuer.opaque |= {"long": good(), "short": good(exp=1_000_000_030)}
    async with aclosing(asking(issuer, now)) as verifier:
        for token in ("long", "short", "bad") * 2:
            assert (await verifier.check(token) is None) is (token == "bad")
        assert len(issuer.asked) == 3
        now.at += 31
        assert await verifier.check("short") is None
        assert await verifier.check("long") is not None
        now.at += 28.9
        await verifier.check("long")
        assert len(issuer.asked) == 3
        now.at += 0.2
        assert await verifier.check("long") is not None
        assert len(issuer.asked) == 4


async def test_of_many_tokens_the_one_asked_about_longest_ago_is_forgotten(issuer: Issuer):
    """J-89: strangers cannot fill the memory; and 256 are kept."""
    async with aclosing(asking(issuer, Now(1_000_000_000.0))) as verifier:
        for number in range(MOST_KEPT):
            await verifier.check(f"token-{number}")
        await verifier.check("token-0")
        assert len(issuer.asked) == MOST_KEPT == 256
        await verifier.check("one more")
        await verifier.check("token-1")
        assert len(issuer.asked) == 257
        await verifier.check("token-0")
        assert len(issuer.asked) == 258


async def test_what_another_issuer_says_of_a_token_is_not_taken(issuer: Issuer):
    """J-82: an answer may leave out its issuer; one that names another is not about us."""
    issuer.opaque |= {"left out": good(), "ours": good(iss=issuer.url), "theirs": good(iss="https://other.example")}
    issuer.opaque |= {"for others": good(aud=["https://other.example"]), "said": good(active="true")}
    async with aclosing(asking(issuer, Now(1_000_000_000.0))) as verifier:
        taken = {token for token in issuer.opaque if await verifier.check(token) is not None}
    assert taken == {"left out", "ours"}


async def test_keys_are_good_for_an_hour_and_asked_for_at_most_twice_a_minute(issuer: Issuer):
    """J-89: a key nobody knows makes us ask again, but no more often; a server that is gone costs nothing before the hour."""
    now = Now()
    async with httpx2.AsyncClient(trust_env=False) as http:
        keys = Keys(f"{issuer.url}/keys", http, now)
        assert await keys.holding("rsa") is not None
        for _ in range(3):
            assert await keys.holding("new") is None
        assert len(issuer.asked) == 1
        now.at += COOLING
        for _ in range(3):
            assert await keys.holding("new") is None
        assert len(issuer.asked) == 2
        issuer.down = True
        now.at += KEEP - 1
        assert await keys.holding("rsa") is not None
        now.at += 1
        with pytest.raises(Unavailable):
            await keys.holding("rsa")
    assert (COOLING, KEEP) == (30.0, 3600.0)


async def test_a_key_that_is_secret_is_of_no_use_to_anybody(issuer: Issuer, monkeypatch: pytest.MonkeyPatch):
    """J-81: one that a server published by mistake is known to everybody."""
    everything = KeySet(list(issuer.keys.values())).as_dict(private=True)
    everything["keys"].append({"kty": "oct", "kid": "shared", "k": "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LXM"})
    public = KeySet([issuer.keys["RS256"]]).as_dict(private=False)["keys"]
    everything["keys"] = [one for one in everything["keys"] if one["kid"] != "rsa"] + public
    monkeypatch.setattr(KeySet, "as_dict", lambda *_, **__: everything)
    async with httpx2.AsyncClient(trust_env=False) as http:
        keys = Keys(f"{issuer.url}/keys", http, Now())
        found = await keys.holding("rsa")
        assert found is not None
        assert [one.kid for one in found.keys] == ["rsa"]
        assert await keys.holding(None) is not None, "it is the only one, and need not be named"


async def test_a_token_that_names_no_key_is_good_where_there_is_one_only(issuer: Issuer):
    async with httpx2.AsyncClient(trust_env=False) as http:
        assert await Keys(f"{issuer.url}/keys", http, Now()).holding(None) is None
        issuer.published = ["RS256"]
        assert await Keys(f"{issuer.url}/keys", http, Now()).holding(None) is not None


@pytest.mark.parametrize(
    ("changed", "is_good"),
    [
        ({}, True),
        ({"exp": 100.0}, False),
        ({"exp": 100.1}, True),
        ({"exp": True}, False),
        ({"exp": "4000000000"}, False),
        ({"nbf": 100.0 + SKEW}, True),
        ({"nbf": 100.1 + SKEW}, False),
        ({"nbf": "soon"}, False),
        ({"sub": ""}, False),
        ({"sub": "a\nb"}, False),
        ({"aud": ["https://other.example", AUDIENCE]}, True),
        ({"aud": f"{AUDIENCE}/"}, False),
        ({"aud": [AUDIENCE.upper()]}, False),
        ({"iss": "https://issuer.example/"}, False),
    ],
    ids=str,
)
def test_claims_are_taken_at_their_word(changed: dict[str, object], is_good: bool):
    """J-81: the exact audience and issuer; an end is an end, and only a beginning may be a little ahead of our clock."""
    claims = {"iss": "https://issuer.example", "aud": AUDIENCE, "sub": "alice", "exp": LATER, **changed}
    found = said(claims, issuer="https://issuer.example", audience=AUDIENCE, now=100.0)
    assert (found is not None) is is_good
