"""A real OpenID provider end to end: programs that it knows, programs that it does not, and what could go wrong between."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx2
import pytest
from mcp.client.auth import OAuthClientProvider
from mcp.client.session import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata

from .inside import Inside
from .signing import REDIRECT, Page, Program, Storage, official_client
from .speaking import Raw

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.servers.oidc_server import Oidc
    from tests.surfaces.cli.lab import Owner

pytestmark = pytest.mark.process
PROVIDER = '[sign_in]\nby = "provider"\n'


def trusting(owner: Owner, oidc: Oidc, more: str = "") -> None:
    text = owner.folders.config_file.read_text().replace(
        "[clients.hermes]\n", '[clients.hermes]\nsubjects = ["alice"]\n'
    )
    owner.write_config(f'{text}\n[oauth]\nissuer = "{oidc.issuer}"\njwks_url = "{oidc.issuer}/jwks"\n{more}')


@pytest.fixture
def resource(owner: Owner, oidc: Oidc) -> Iterator[Inside]:
    """A service that accepts the provider's tokens; programs are known there."""
    trusting(owner, oidc)
    with Inside(owner.home) as running:
        yield running


@pytest.fixture
def service(owner: Owner, oidc: Oidc) -> Iterator[Inside]:
    """A service in front of it, for programs that are not."""
    trusting(owner, oidc, PROVIDER)
    with Inside(owner.home) as running:
        yield running


@pytest.fixture
def browser() -> Iterator[httpx2.Client]:
    with httpx2.Client(timeout=50, trust_env=False) as one:
        yield one


@pytest.fixture
def program(service: Inside) -> Iterator[Program]:
    with Program(issuer_of(service)) as one:
        yield one


def issuer_of(service: Inside) -> str:
    return f"http://localhost:{service.port}"


def status(service: Inside, token: str) -> int:
    with Raw(service.url, token) as raw:
        return raw.call("messages_list", limit=1).status_code


def consented(browser: httpx2.Client, service: Inside, address: str, answer: str = "yes") -> httpx2.Response:
    """Say yes on our page; return where it leads."""
    page = Page(browser.get(address))
    sent = {"flow": page.flow, "answer": answer}
    return browser.post(f"{issuer_of(service)}/sign-in/consent", data=sent, headers={"Origin": issuer_of(service)})


def let_in(browser: httpx2.Client, service: Inside, oidc: Oidc, address: str, login: str = "alice") -> str:
    """Go the whole way as a person; return where the program is sent its answer."""
    forwarded = consented(browser, service, address)
    assert forwarded.status_code == 303, forwarded.text
    home = f"{issuer_of(service)}/oauth/callback"
    back = oidc.log_in(browser, forwarded.headers["location"], until=home, login=login)
    return browser.get(back).headers["location"]


async def test_a_program_the_provider_registers_finds_its_own_way(resource: Inside, oidc: Oidc) -> None:
    """J-80, J-81, A-31: from the 401: metadata, registration at the provider, PKCE, resource, a JWT that is meant for us."""
    kept = Storage()

    async def sent_to(address: str) -> None:
        with httpx2.Client(timeout=50, trust_env=False) as browser:
            kept.answer = oidc.log_in(browser, address, until=REDIRECT)

    async def came_back() -> AuthorizationCodeResult:
        query = parse_qs(urlsplit(kept.answer).query)
        return AuthorizationCodeResult(code=query["code"][0], state=query["state"][0], iss=query.get("iss", [None])[0])

    metadata = OAuthClientMetadata.model_validate(
        {"redirect_uris": [REDIRECT], "client_name": "official", "application_type": "native"}
    )
    auth = OAuthClientProvider(resource.url, metadata, kept, sent_to, came_back)
    async with (
        httpx2.AsyncClient(auth=auth, timeout=50, trust_env=False) as http,
        streamable_http_client(resource.url, http_client=http) as streams,
        ClientSession(streams[0], streams[1]) as client,
    ):
        await client.initialize()
        told = await client.call_tool("messages_list", {"limit": 1})
        assert told.structured_content is not None
        assert told.structured_content["status"] == "ok"
    assert kept.client is not None
    assert kept.client.client_id != "mcp-proton"
    assert "client=hermes" in resource.output


def direct(
    oidc: Oidc, browser: httpx2.Client, client_id: str, resource: str, scope: str = "mail.read"
) -> dict[str, Any]:
    """Get tokens as a program that the provider knows."""
    redirect = "http://127.0.0.1/callback"
    with Program(oidc.issuer, redirect, client_id) as known:
        address = known.address(resource=resource, scope=scope).replace("/authorize?", "/auth?")
        code = known.code(oidc.log_in(browser, address, until=redirect))
        answered = known.exchange(code, resource=resource)
        assert answered.status_code == 200, answered.text
        return {**answered.json(), "client": known}


def test_a_token_that_the_provider_means_for_another_service_lets_nobody_in(
    resource: Inside, oidc: Oidc, browser: httpx2.Client
) -> None:
    """Audience swap, token confusion: same person, same provider, same key; and whom the owner did not name."""
    good = direct(oidc, browser, "brief", resource.url)
    other = direct(oidc, browser, "brief", "http://127.0.0.1:9/mcp")
    assert status(resource, good["access_token"]) == 200
    assert status(resource, other["access_token"]) == 401
    for confused in (good["refresh_token"], good.get("id_token") or "x.y.z"):
        assert status(resource, confused) == 401
    with (
        httpx2.Client(timeout=50, trust_env=False) as another,
        Program(oidc.issuer, "http://127.0.0.1/callback", "brief") as known,
    ):
        address = known.address(resource=resource.url, scope="mail.read").replace("/authorize?", "/auth?")
        code = known.code(oidc.log_in(another, address, until="http://127.0.0.1/callback", login="mallory"))
        assert status(resource, known.exchange(code, resource=resource.url).json()["access_token"]) == 401
    assert "Traceback" not in resource.output


def test_a_token_that_is_over_says_so_and_the_next_one_goes_on_in_the_session(
    resource: Inside, oidc: Oidc, browser: httpx2.Client
) -> None:
    """J-92: some programs renew only when they are told `invalid_token`."""
    given = direct(oidc, browser, "brief", resource.url)
    with Raw(resource.url, given["access_token"]) as raw:
        assert raw.shake().status_code == 200
        until = time.monotonic() + 50
        while (answered := raw.post("tools/list")).status_code == 200:
            assert time.monotonic() < until
            time.sleep(0.2)
        assert answered.status_code == 401
        assert 'error="invalid_token"' in answered.headers["www-authenticate"]
        form = {"grant_type": "refresh_token", "refresh_token": given["refresh_token"], "client_id": "brief"}
        renewed = browser.post(f"{oidc.issuer}/token", data={**form, "resource": resource.url}).json()
        raw.http.headers["Authorization"] = f"Bearer {renewed['access_token']}"
        assert raw.post("tools/list").status_code == 200


def test_an_opaque_token_is_asked_about_and_a_revoked_one_is_out(
    owner: Owner, oidc: Oidc, browser: httpx2.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """J-82: revoked at the provider in the middle of a session."""
    monkeypatch.setattr("mcp_proton.mcp.oauth.verifying.KEEP", 0.0)
    monkeypatch.setenv("INTROSPECTION", "introspection-secret")
    asking = f'introspection_url = "{oidc.issuer}/token/introspection"\nclient_id = "introspector"\n'
    asking += 'secret = "env:INTROSPECTION"\n'
    trusting(owner, oidc, asking)
    with Inside(owner.home) as running:
        given = direct(oidc, browser, "opaque", running.url)
        assert given["access_token"].count(".") == 0
        with Raw(running.url, given["access_token"]) as raw:
            raw.shake()
            assert raw.post("tools/list").status_code == 200
            revoked = {"token": given["access_token"], "client_id": "opaque"}
            assert browser.post(f"{oidc.issuer}/token/revocation", data=revoked).status_code == 200
            assert raw.post("tools/list").status_code == 401


async def test_a_program_the_provider_does_not_know_is_handed_on(service: Inside, oidc: Oidc) -> None:
    """J-83, J-84, J-85: the official client registers here, signs in there, and its token is the provider's own."""

    def decide(address: str) -> str:
        with httpx2.Client(timeout=50, trust_env=False) as browser:
            return let_in(browser, service, oidc, address)

    kept = await official_client(service.url, decide)
    assert "iss" not in parse_qs(urlsplit(kept.answer).query)


def test_what_the_program_gets_is_the_providers_tokens_and_it_renews_them_here(
    service: Inside, oidc: Oidc, browser: httpx2.Client, program: Program
) -> None:
    """J-85: PKCE, scope and state are the program's; redirect and client are ours; nothing else of the answer is passed on."""
    asked = consented(browser, service, program.address(nonce="n-1", resource=f"{issuer_of(service)}/mcp/"))
    sent = {name: values[0] for name, values in parse_qs(urlsplit(asked.headers["location"]).query).items()}
    own = parse_qs(urlsplit(program.address()).query)
    assert sent["code_challenge"] == own["code_challenge"][0]
    assert (sent["scope"], sent["nonce"]) == ("mail.read mail.write mail.send", "n-1")
    assert (sent["client_id"], sent["redirect_uri"]) == ("mcp-proton", f"{issuer_of(service)}/oauth/callback")
    assert sent["resource"] == service.url
    assert sent["state"] != program.state
    answered = program.exchange(program.code(let_in(browser, service, oidc, program.address())))
    given = answered.json()
    assert answered.headers["cache-control"] == "no-store"
    assert set(given) <= {"access_token", "token_type", "expires_in", "refresh_token", "scope"}
    assert status(service, given["access_token"]) == 200
    renewed = program.renew(given["refresh_token"], resource=service.url).json()
    assert status(service, renewed["access_token"]) == 200
    assert program.renew("nonsense").json()["error"] == "invalid_grant"
    for secret in (given["access_token"], given["refresh_token"], renewed["access_token"]):
        assert secret not in service.output


def test_in_front_of_a_provider_too_a_scheme_answers_where_a_program_registered(
    service: Inside, oidc: Oidc, browser: httpx2.Client
) -> None:
    """J-93, J-85: the provider sees its one client; the program's own id stays here."""
    desktop = "cowork://callback"
    with Program(issuer_of(service), desktop) as program:
        assert browser.get(program.address()).status_code == 400
        program.client_id = program.http.post("/register", json={"redirect_uris": [desktop]}).json()["client_id"]
        assert "Cowork (cowork:)" in browser.get(program.address()).text
        sent = parse_qs(urlsplit(consented(browser, service, program.address()).headers["location"]).query)
        assert sent["client_id"] == ["mcp-proton"]
        code = program.code(let_in(browser, service, oidc, program.address()))
        assert program.exchange(code, client_id="mcp-proton").json()["error"] == "invalid_grant"
        code = program.code(let_in(browser, service, oidc, program.address()))
        given = program.exchange(code).json()
        assert status(service, given["access_token"]) == 200
        assert status(service, program.renew(given["refresh_token"]).json()["access_token"]) == 200


def test_a_password_of_the_services_own_stays_the_services_own(
    owner: Owner, oidc: Oidc, browser: httpx2.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OURS", "the-service-s-own")
    trusting(owner, oidc, f'{PROVIDER}client_id = "confidential"\nsecret = "env:OURS"\n')
    with Inside(owner.home) as service, Program(issuer_of(service), client_id="confidential") as program:
        given = program.exchange(program.code(let_in(browser, service, oidc, program.address()))).json()
        assert status(service, given["access_token"]) == 200
        assert status(service, program.renew(given["refresh_token"]).json()["access_token"]) == 200
        assert "the-service-s-own" not in service.output + str(given)


def test_a_code_is_good_once_for_the_program_that_asked(
    service: Inside, oidc: Oidc, browser: httpx2.Client, program: Program
) -> None:
    """Whatever the provider would check: another verifier, another redirect, a code that did not come through here."""
    for changed in ({"code_verifier": "x" * 43}, {"redirect_uri": f"{REDIRECT}2"}, {"code": "stolen"}):
        code = program.code(let_in(browser, service, oidc, program.address()))
        assert program.exchange(**{"code": code, **changed}).json()["error"] == "invalid_grant", changed
    code = program.code(let_in(browser, service, oidc, program.address()))
    assert program.exchange(code).status_code == 200
    assert program.exchange(code).json()["error"] == "invalid_grant"


def test_nobody_is_handed_on_without_being_asked_and_only_in_the_browser_that_was(
    service: Inside, oidc: Oidc, browser: httpx2.Client, program: Program
) -> None:
    """The confused deputy: the provider knows one client, and may remember it; so the person is asked here, each time."""
    let_in(browser, service, oidc, program.address())
    again = browser.get(program.address())
    assert again.status_code == 200
    assert "this machine" in again.text
    flow, home = Page(again).flow, issuer_of(service)
    for origin in ("https://evil.example.org", "http://localhost:3000", None):
        headers = {"Origin": origin} if origin else {}
        answered = browser.post(f"{home}/sign-in/consent", data={"flow": flow, "answer": "yes"}, headers=headers)
        assert answered.status_code == 403, origin
    with httpx2.Client(timeout=50, trust_env=False) as other:
        stolen = other.post(f"{home}/sign-in/consent", data={"flow": flow, "answer": "yes"}, headers={"Origin": home})
        assert stolen.status_code == 400
        forwarded = consented(browser, service, program.address()).headers["location"]
        back = oidc.log_in(browser, forwarded, until=f"{home}/oauth/callback")
        assert other.get(back).status_code == 400
        assert browser.get(back).status_code == 400  # a state is good once, whoever shows it
    denied = consented(browser, service, program.address(), "no").headers["location"]
    assert parse_qs(urlsplit(denied).query)["error"] == ["access_denied"]


@pytest.mark.parametrize(
    "query",
    [
        {},
        {"code": "x"},
        {"state": "x", "code": "x"},
        {"state": "x" * 5000, "code": "x"},
        {"state": "\ud7ff", "error": "<script>alert(1)</script>"},
    ],
)
def test_an_answer_nobody_waits_for_goes_nowhere(
    service: Inside, browser: httpx2.Client, query: dict[str, str]
) -> None:
    """No open redirect, and nothing of it is quoted."""
    answered = browser.get(f"{issuer_of(service)}/oauth/callback?{urlencode(query)}")
    assert answered.status_code == 400
    assert "alert(1)" not in answered.text
    assert "x" * 100 not in answered.text
    assert "location" not in answered.headers


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ({"error": "access_denied"}, "access_denied"),
        ({"error": "Evil <b>"}, "server_error"),
        ({"code": "a b"}, "server_error"),
        ({}, "server_error"),
        ({"code": "x", "iss": "https://evil.example.org"}, None),
    ],
)
def test_a_refusal_of_the_provider_is_told_to_the_program_in_words_of_ours(
    service: Inside, browser: httpx2.Client, program: Program, answer: dict[str, str], error: str | None
) -> None:
    """And an answer of another provider (mix-up, RFC 9207) is none."""
    forwarded = consented(browser, service, program.address()).headers["location"]
    state = parse_qs(urlsplit(forwarded).query)["state"][0]
    answered = browser.get(f"{issuer_of(service)}/oauth/callback?{urlencode({'state': state, **answer})}")
    if error is None:
        assert answered.status_code == 400
        return
    told = parse_qs(urlsplit(answered.headers["location"]).query)
    assert (told["error"], told["state"]) == ([error], [program.state])


def test_a_provider_that_is_away_is_told_as_that(owner: Owner, oidc: Oidc, browser: httpx2.Client) -> None:
    text = owner.folders.config_file.read_text()
    away = 'issuer = "http://127.0.0.1:9"\njwks_url = "http://127.0.0.1:9/jwks"\n'
    owner.write_config(f"{text}\n[oauth]\n{away}{PROVIDER}")
    with Inside(owner.home) as service, Program(issuer_of(service)) as program:
        assert consented(browser, service, program.address()).status_code == 503
        assert program.renew("x").status_code == 503
        assert program.renew("x").json()["error"] == "temporarily_unavailable"
        assert "Traceback" not in service.output
