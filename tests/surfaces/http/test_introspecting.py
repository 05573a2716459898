"""What a client may learn of its own token, at an address of its own; and that the addresses are those of the field."""

from __future__ import annotations

import hashlib
import re
import time
from datetime import datetime
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from mcp_proton.mcp.http import introspecting

from .inside import Inside
from .issuer import Issuer
from .speaking import Raw

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.surfaces.cli.lab import Owner

pytestmark = [
    pytest.mark.process,
    pytest.mark.filterwarnings("ignore::joserfc.errors.SecurityWarning"),
]
AUDIENCE = "https://mail.example.org/mcp"
ADDRESS = "198.51.100.9"


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    with Issuer() as running:
        yield running


@pytest.fixture
def service(owner: Owner, issuer: Issuer) -> Iterator[Inside]:
    """Behind a proxy on this machine, trusting a provider for `hermes` being alice, and in front of it for programs."""
    text = owner.folders.config_file.read_text()
    text = text.replace("[clients.hermes]\n", '[clients.hermes]\nsubjects = ["alice"]\n')
    oauth = f'issuer = "{issuer.url}"\njwks_url = "{issuer.url}/jwks"\naudience = "{AUDIENCE}"'
    front = f'by = "provider"\nauthorize_url = "{issuer.url}/auth"\ntoken_url = "{issuer.url}/token"'
    owner.write_config(f"{text}\n[oauth]\n{oauth}\n[sign_in]\n{front}\n")
    with Inside(owner.home, MCP_PROTON_TRUSTED_PROXIES="127.0.0.1") as running:
        yield running


def made(owner: Owner, client: str = "hermes", *words: str) -> str:
    return owner.json("clients", "rotate", client, *words)["token"]


def at(service: Inside, path: str) -> str:
    return service.url.removesuffix("/mcp") + path


def asked(service: Inside, token: str | None, method: str = "GET", **more: Any) -> httpx2.Response:
    with Raw(service.url, token) as raw:
        return raw.http.request(method, at(service, "/token/introspect"), **more)


def use(service: Inside, token: str) -> None:
    with Raw(service.url, token) as raw:
        raw.http.headers["X-Forwarded-For"] = f"192.0.2.1, {ADDRESS}"
        assert '"status":"ok"' in raw.call("messages_list", limit=1).text


def hashed(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()[:16]


def test_a_client_token_tells_its_client_its_end_and_its_last_use(owner: Owner, service: Inside) -> None:
    """J-91, J-106: the hash is the audit line's, the address the owner's proxy's word; asking is no use, and in no log."""
    token, began = made(owner, "hermes", "--days", "2"), int(time.time())
    ends = datetime.fromisoformat(owner.json("clients", "list")["clients"][0]["expires_at"])
    unused = {"client": "hermes", "exp": int(ends.timestamp()), "token_hash": hashed(token)}
    for _ in range(2):
        answered = asked(service, token)
        assert (answered.status_code, answered.json()) == (200, unused)
        assert answered.headers["cache-control"] == "no-store"
    use(service, token)
    told = asked(service, token, headers={"X-Forwarded-For": "203.0.113.7"}).json()
    assert told == {**unused, "last_used": {"at_unix": told["last_used"]["at_unix"], "ip": ADDRESS}}
    assert began <= told["last_used"]["at_unix"] <= time.time()
    assert f"token_hash={told['token_hash']}" in service.output
    for secret in (token, ADDRESS, "203.0.113.7"):
        assert secret not in service.output
    assert asked(service, token, "HEAD").content == b""


def test_a_token_without_an_end_says_none(owner: Owner, service: Inside) -> None:
    assert asked(service, token := made(owner)).json() == {"client": "hermes", "token_hash": hashed(token)}


def test_a_providers_token_tells_what_it_says_itself_and_nothing_of_another_of_the_same_subject(
    issuer: Issuer, service: Inside
) -> None:
    """J-91: subject, email and name are the token's own words; what is no such thing is left out."""
    end = int(time.time()) + 500
    full = issuer.token(AUDIENCE, email="alice@example.org", name="Alice", exp=end)
    bare = issuer.token(AUDIENCE, exp=end)
    odd = issuer.token(AUDIENCE, exp=end, email=["a@b"], name="Al\u202eice\n")
    long = issuer.token(AUDIENCE, exp=end, email="a" * 513, name="")
    use(service, full)
    told = asked(service, full).json()
    assert told.pop("last_used")["ip"] == ADDRESS
    plain = {"client": "hermes", "subject": "alice", "exp": end}
    assert told == {**plain, "email": "alice@example.org", "name": "Alice", "token_hash": hashed(full)}
    for token in (bare, odd, long):
        assert asked(service, token).json() == {**plain, "token_hash": hashed(token)}
    assert "alice@" not in service.output


def test_nobody_learns_of_a_token_they_do_not_show(owner: Owner, issuer: Issuer, service: Inside) -> None:
    """J-91: strangers are answered as everywhere; another's token in the request is not looked at."""
    other = owner.json("clients", "add", "other", "--token")["token"]
    mine = made(owner)
    use(service, other)
    with Raw(service.url, f"{mine[:-1]}?") as raw:
        elsewhere, here = raw.shake(), asked(service, f"{mine[:-1]}?")
    assert (here.status_code, here.text) == (elsewhere.status_code, elsewhere.text)
    assert here.headers["www-authenticate"] == elsewhere.headers["www-authenticate"]
    assert asked(service, None).status_code == 401
    assert "error=" not in asked(service, None).headers["www-authenticate"]
    assert asked(service, issuer.token("https://other.example.org/mcp")).status_code == 401
    assert asked(service, issuer.token(AUDIENCE, scope="other")).status_code == 403
    told = asked(service, mine, params={"token": other}, headers={"Token": other})
    assert told.json() == {"client": "hermes", "token_hash": hashed(mine)}
    posted = asked(service, mine, "POST", content=f"token={other}")
    assert (posted.status_code, posted.headers["allow"]) == (405, "GET, HEAD")
    two = [("Authorization", f"Bearer {mine}"), ("Authorization", f"Bearer {other}")]
    assert httpx2.get(at(service, "/token/introspect"), headers=two, trust_env=False).status_code == 401
    assert asked(service, mine, headers={"Host": "evil.test"}).status_code == 421
    owner.run("clients", "revoke", "hermes")
    assert asked(service, mine).status_code == 401


def test_who_asks_and_asks_is_told_to_wait(owner: Owner, service: Inside) -> None:
    """J-91: each client for itself."""
    other = owner.json("clients", "add", "other", "--token")["token"]
    with Raw(service.url, made(owner)) as raw:
        told = [raw.http.get(at(service, "/token/introspect")) for _ in range(2 * introspecting.PER_MINUTE)]
        assert {one.status_code for one in told[: introspecting.PER_MINUTE]} == {200}
        refused = next(one for one in told if one.status_code == 429)
        assert int(refused.headers["retry-after"]) >= 1
        assert refused.headers["cache-control"] == "no-store"
        assert raw.call("messages_list", limit=1).status_code == 200
    assert asked(service, other).status_code == 200


def test_every_address_of_the_field_is_served_and_metrics_are_not_among_them(service: Inside) -> None:
    """J-83: each answers as itself, without a token and without what it asks for; what is no address is none."""
    well_known = "/.well-known/oauth-protected-resource"
    expected = {
        ("POST", "/mcp"): 401,
        ("GET", "/token/introspect"): 401,
        ("GET", "/health"): 200,
        ("GET", well_known): 200,
        ("GET", f"{well_known}/mcp"): 200,
        ("GET", "/.well-known/oauth-authorization-server"): 200,
        ("POST", "/register"): 400,
        ("GET", "/authorize"): 400,
        ("GET", "/oauth/callback"): 400,
        ("POST", "/token"): 400,
        ("GET", "/metrics"): 404,
        ("GET", "/token/introspect/x"): 404,
        ("GET", "/"): 404,
    }
    with httpx2.Client(timeout=50, trust_env=False) as http:
        found = {(method, path): http.request(method, at(service, path)).status_code for method, path in expected}
    assert found == expected
    assert not re.search(r"Traceback|ERROR", service.output)
