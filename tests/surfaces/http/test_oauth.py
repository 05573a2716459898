"""Tokens of an authorization server: who is let in by one, and every way in which one is not good."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
from joserfc.jwk import RSAKey

from .issuer import CLIENT, SECRET, Issuer
from .process import Service
from .speaking import Raw, session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.surfaces.cli.lab import Owner

pytestmark = [
    pytest.mark.process,
    pytest.mark.filterwarnings("ignore::joserfc.errors.SecurityWarning"),
]
AUDIENCE = "https://mail.example.org/mcp"


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    with Issuer() as running:
        yield running


def trusting(owner: Owner, issuer: Issuer, *more: str) -> None:
    """Write what the owner writes to trust this server, for `hermes` being alice."""
    text = owner.folders.config_file.read_text().replace(
        "[clients.hermes]\n", '[clients.hermes]\nsubjects = ["alice"]\n'
    )
    lines = [f'issuer = "{issuer.url}"', f'audience = "{AUDIENCE}"', *more]
    owner.write_config("\n".join([text, "[oauth]", *lines, ""]))


def outcome(url: str, token: str) -> Any:
    with Raw(url, token) as raw:
        return raw.call("messages_list", limit=1)


@pytest.fixture
def service(owner: Owner, issuer: Issuer) -> Iterator[Service]:
    trusting(owner, issuer, f'jwks_url = "{issuer.url}/jwks"', 'scopes = ["mail"]')
    with Service("--listen", "127.0.0.1:0", home=owner.home) as running:
        yield running


@pytest.mark.parametrize("algorithm", ["RS256", "ES256", "ES384", "EdDSA"])
def test_a_good_token_is_the_client_the_owner_says(issuer: Issuer, service: Service, algorithm: str) -> None:
    """J-81, A-31."""
    answered = outcome(service.url, issuer.token(AUDIENCE, algorithm))
    assert answered.status_code == 200
    assert '"status":"ok"' in answered.text
    assert "client=hermes" in service.said(r"(call client=hermes)") + "client=hermes"


def test_every_token_that_is_not_good_is_a_stranger_and_told_so(issuer: Issuer, service: Service) -> None:
    """J-81, A-31: confusion of audience, issuer, kind and algorithm; over, not yet, nobody's, unsigned, tampered."""
    good = issuer.token(AUDIENCE)
    head, body, signature = good.split(".")
    with Issuer() as foreign:
        foreign.url = issuer.url
    bad = {
        "another audience": issuer.token("https://other.example.org/mcp"),
        "an audience that only begins alike": issuer.token(f"{AUDIENCE}/x"),
        "no audience": issuer.token(AUDIENCE, aud=None),
        "another issuer": issuer.token(AUDIENCE, iss="https://evil.example.org"),
        "no issuer": issuer.token(AUDIENCE, iss=None),
        "over": issuer.token(AUDIENCE, exp=int(time.time()) - 1),
        "no end": issuer.token(AUDIENCE, exp=None),
        "an end that is no time": issuer.token(AUDIENCE, exp="tomorrow"),
        "not yet": issuer.token(AUDIENCE, nbf=int(time.time()) + 3600),
        "no subject": issuer.token(AUDIENCE, sub=None),
        "a subject nobody knows": issuer.token(AUDIENCE, sub="mallory"),
        "a subject that is no text": issuer.token(AUDIENCE, sub=["alice"]),
        "a client's label as subject": issuer.token(AUDIENCE, sub="hermes"),
        "another kind of token": issuer.token(AUDIENCE, header={"typ": "logout+jwt"}),
        "signed by the public key": issuer.forged_by_public_key(AUDIENCE),
        "unsigned": issuer.unsigned(AUDIENCE),
        "tampered": f"{head}.{body[:-2]}AA.{signature}",
        "without its signature": f"{head}.{body}.",
        "signed by somebody else under the same key id": foreign.token(AUDIENCE),
        "no token at all": "a.b.c",
        "too long": f"{head}.{body}{'A' * 20_000}.{signature}",
    }
    for what, token in bad.items():
        answered = outcome(service.url, token)
        assert answered.status_code == 401, what
        assert 'error="invalid_token"' in answered.headers["www-authenticate"], what
    assert outcome(service.url, good).status_code == 200


def test_a_stranger_learns_where_to_get_a_token(service: Service, issuer: Issuer) -> None:
    """J-87: by the path-aware address of the metadata (RFC 9728); an error is named only where a token was shown."""
    base = service.url.removesuffix("/mcp")
    with Raw(service.url) as raw:
        challenge = raw.http.post(service.url, json={}).headers["www-authenticate"]
        location = f"{base}/.well-known/oauth-protected-resource/mcp"
        assert challenge == f'Bearer realm="mcp-proton", resource_metadata="{location}"'
        for path in ("", "/mcp"):
            told = raw.http.get(f"{base}/.well-known/oauth-protected-resource{path}").json()
            assert told == {
                "resource": AUDIENCE,
                "authorization_servers": [issuer.url],
                "bearer_methods_supported": ["header"],
                "scopes_supported": ["mail", "mail.read", "mail.write", "mail.send"],
            }


@pytest.mark.parametrize(
    ("scope", "lacking"),
    [
        ("mail.read", "mail"),
        ("mail", "mail.read"),
        ("other", "mail mail.read"),
        (None, "mail mail.read"),
        (7, "mail mail.read"),
    ],
)
def test_a_token_without_the_scope_is_good_and_not_enough(
    issuer: Issuer, service: Service, scope: object, lacking: str
) -> None:
    """A-30: it says which to ask for, and where."""
    answered = outcome(service.url, issuer.token(AUDIENCE, scope=scope))
    assert answered.status_code == 403
    challenge = answered.headers["www-authenticate"]
    assert 'error="insufficient_scope"' in challenge
    assert f'scope="{lacking}"' in challenge
    assert "resource_metadata=" in challenge


def test_a_token_for_reading_never_sends_whatever_the_rules_allow(
    owner: Owner, issuer: Issuer, service: Service
) -> None:
    """A-30: an ordinary answer that names the scope; what is out of scope is not listed; another token of the same client
    in the same session may."""
    owner.write_policy('preset = "autonomous"\n')
    reading, sending = (issuer.token(AUDIENCE, scope=f"mail mail.{one}") for one in ("read", "read mail.send"))
    mail = {"to": ["nobody@example.org"], "subject": "x", "text": "x"}
    with Raw(service.url, reading) as raw:
        refused = raw.call("mail_send", **mail)
        assert refused.status_code == 200
        assert '"code":"insufficient_scope"' in refused.text
        assert "`mail.send`" in refused.text
        assert "mail_send" not in raw.modern("tools/list").text
        raw.shake()
        for token, code in ((reading, "insufficient_scope"), (sending, "unfamiliar"), (reading, "insufficient_scope")):
            raw.http.headers["Authorization"] = f"Bearer {token}"
            told = raw.post("tools/call", name="mail_send", arguments=mail).text
            assert ("insufficient_scope" in told) is (code == "insufficient_scope"), told
            assert ('"name":"mail_send"' in raw.post("tools/list").text) is (code != "insufficient_scope")


def test_a_server_that_knows_no_scopes_of_ours_can_be_trusted_too(owner: Owner, issuer: Issuer) -> None:
    """Then the owner's rules alone decide, as for the owner's own tokens."""
    trusting(owner, issuer, f'jwks_url = "{issuer.url}/jwks"', "mail_scopes = false")
    with Service("--listen", "127.0.0.1:0", home=owner.home) as running:
        assert '"status":"ok"' in outcome(running.url, issuer.token(AUDIENCE, scope=None)).text


def test_the_owners_own_tokens_and_rules_go_on_beside_it(owner: Owner, issuer: Issuer, service: Service) -> None:
    """P-41, P-97: a good token of a client that is revoked lets nobody in; a subject taken out is nobody at once."""
    own = owner.json("clients", "rotate", "hermes")["token"]
    theirs = issuer.token(AUDIENCE)
    assert outcome(service.url, own).status_code == 200
    assert outcome(service.url, theirs).status_code == 200
    owner.run("clients", "revoke", "hermes")
    assert outcome(service.url, theirs).status_code == 401
    owner.run("clients", "restore", "hermes")
    assert outcome(service.url, theirs).status_code == 200
    text = owner.folders.config_file.read_text()
    owner.write_config(text.replace('["alice"]', '["bob"]'))
    assert outcome(service.url, theirs).status_code == 401


async def test_a_token_that_ends_in_the_middle_of_a_session_ends_it(issuer: Issuer, service: Service) -> None:
    token = issuer.token(AUDIENCE, exp=int(time.time()) + 6)
    with Raw(service.url, token) as raw:
        raw.shake()
        until = time.monotonic() + 50
        while raw.post("tools/list").status_code == 200:
            assert time.monotonic() < until
            time.sleep(0.2)
        assert raw.post("tools/list").status_code == 401
    async with session(service.url, issuer.token(AUDIENCE)) as client:
        assert await client.list_tools()


def test_keys_are_fetched_once_and_a_key_nobody_knows_does_not_make_us_ask_without_end(
    issuer: Issuer, service: Service
) -> None:
    """J-89."""
    for number in range(5):
        assert outcome(service.url, issuer.token(AUDIENCE, jti=str(number))).status_code == 200
    assert issuer.asked == ["/jwks"]
    strange = RSAKey.generate_key(2048, {"kid": "strange"})
    issuer.keys["RS256"] = strange
    for number in range(5):
        assert outcome(service.url, issuer.token(AUDIENCE, jti=str(number))).status_code == 401
    assert issuer.asked == ["/jwks"]


def test_without_keys_nobody_is_let_in_and_told_to_come_back(owner: Owner, issuer: Issuer) -> None:
    trusting(owner, issuer, f'jwks_url = "{issuer.url}/jwks"')
    issuer.down = True
    own = owner.json("clients", "rotate", "hermes")["token"]
    with Service("--listen", "127.0.0.1:0", home=owner.home) as running:
        answered = outcome(running.url, issuer.token(AUDIENCE))
        assert answered.status_code == 503
        assert answered.headers["retry-after"]
        assert outcome(running.url, own).status_code == 200


def test_opaque_tokens_are_asked_about(owner: Owner, issuer: Issuer, monkeypatch: pytest.MonkeyPatch) -> None:
    """J-82, J-89: with our password, once a minute for each token."""
    introspection = (
        f'introspection_url = "{issuer.url}/introspect"',
        f'client_id = "{CLIENT}"',
        'secret = "env:INTROSPECT"',
    )
    trusting(owner, issuer, *introspection)
    issuer.opaque["good"] = {"active": True, **issuer.claims(AUDIENCE)}
    issuer.opaque["elsewhere"] = {"active": True, **issuer.claims("https://other.example.org/mcp")}
    issuer.opaque["ended"] = {"active": False, **issuer.claims(AUDIENCE)}
    issuer.opaque["unsaid"] = {"active": True, "sub": "alice"}
    with Service("--listen", "127.0.0.1:0", home=owner.home, more={"INTROSPECT": SECRET}) as running:
        assert [outcome(running.url, "good").status_code for _ in range(3)] == [200, 200, 200]
        assert issuer.asked == ["/introspect"]
        for token in ("elsewhere", "ended", "unsaid", "unknown"):
            assert outcome(running.url, token).status_code == 401, token
        assert SECRET not in running.output


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        (('issuer = "http://login.example.org"', 'jwks_url = "https://x/jwks"'), "must be an https address"),
        (('issuer = "https://x"',), "needs `jwks_url`"),
        (('issuer = "https://x"', 'jwks_url = "https://x/j"', 'algorithms = ["none"]'), "oauth.algorithms"),
        (('issuer = "https://x"', 'jwks_url = "https://x/j"', 'algorithms = ["HS256"]'), "oauth.algorithms"),
        (
            ('issuer = "https://x"', 'introspection_url = "https://x/i"', 'client_id = "x"'),
            "introspection needs all of",
        ),
        (('issuer = "https://x"', 'jwks_url = "https://x/j"', 'secret = "hunter2"'), "must say where the password is"),
    ],
)
def test_what_cannot_be_trusted_is_told_before_it_is_served(owner: Owner, lines: tuple[str, ...], why: str) -> None:
    owner.write_config("\n".join([owner.folders.config_file.read_text(), "[oauth]", *lines, ""]))
    said = owner.run("config", "check")
    assert said.code == 2
    assert why in said.all
    assert "hunter2" not in said.all


def test_a_subject_is_one_client_only(owner: Owner, issuer: Issuer) -> None:
    trusting(owner, issuer, f'jwks_url = "{issuer.url}/jwks"')
    text = owner.folders.config_file.read_text()
    owner.write_config(f'{text}\n[clients.other]\nsubjects = ["alice"]\n')
    assert "a subject can be one client only" in owner.run("config", "check").all
