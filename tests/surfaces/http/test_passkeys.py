"""Signing in with a passkey: the owner lets a program in, and every way in which somebody else does not."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from joserfc import jwt
from joserfc.jwk import ECKey

from .authenticator import PRESENT, Authenticator
from .inside import Inside
from .signing import REDIRECT, Page, Person, Program, official_client
from .speaking import Raw

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.surfaces.cli.lab import Owner

    from .process import Service

pytestmark = pytest.mark.process


@pytest.fixture
def service(owner: Owner) -> Iterator[Inside]:
    text = owner.folders.config_file.read_text()
    owner.write_config(f'{text}\n[sign_in]\nby = "passkey"\n')
    with Inside(owner.home) as running:
        yield running


def issuer_of(service: Inside) -> str:
    return f"http://localhost:{service.port}"


@pytest.fixture
def person(owner: Owner, service: Inside) -> Iterator[Person]:
    """The owner, who has added a passkey."""
    with Person(issuer_of(service)) as one:
        assert one.add_passkey(owner.json("passkeys", "add")["code"]).status_code == 200
        yield one


@pytest.fixture
def program(service: Inside) -> Iterator[Program]:
    with Program(issuer_of(service)) as one:
        yield one


def signed_in(person: Person, program: Program, **more: Any) -> dict[str, Any]:
    answered = person.let_in(program.address(), **more)
    assert answered.status_code == 200, answered.text
    exchanged = program.exchange(program.code(answered.json()["to"]))
    assert exchanged.status_code == 200, exchanged.text
    return exchanged.json()


def status(service: Inside, token: str) -> int:
    with Raw(service.url, token) as raw:
        return raw.call("messages_list", limit=1).status_code


def test_a_program_is_let_in_renews_and_is_ended(
    owner: Owner, service: Inside, person: Person, program: Program
) -> None:
    """A-32, P-97: what it may do is what the owner ticked; each refresh token once; ended in the middle of a session."""
    given = signed_in(person, program, scopes=["mail.read"])
    assert (given["token_type"], given["expires_in"], given["scope"]) == ("Bearer", 300, "mail.read")
    with Raw(service.url, given["access_token"]) as raw:
        raw.shake()
        assert '"status":"ok"' in raw.post("tools/call", name="messages_list", arguments={"limit": 1}).text
        refused = raw.post(
            "tools/call", name="mail_send", arguments={"to": ["a@example.org"], "subject": "x", "text": "x"}
        )
        assert '"insufficient_scope"' in refused.text
        renewed = program.renew(given["refresh_token"]).json()
        raw.http.headers["Authorization"] = f"Bearer {renewed['access_token']}"
        assert raw.post("tools/list").status_code == 200
        [kept] = owner.json("passkeys", "sign-ins")["sign_ins"]
        assert (kept["client"], kept["program"], kept["scopes"]) == ("hermes", "this machine", ["mail.read"])
        assert owner.run("passkeys", "end", kept["sign_in"]).code == 0
        answered = raw.post("tools/list")
        assert answered.status_code == 401
        assert 'error="invalid_token"' in answered.headers["www-authenticate"]
    assert program.renew(renewed["refresh_token"]).json()["error"] == "invalid_grant"
    for secret in (given["access_token"], given["refresh_token"], renewed["refresh_token"]):
        assert secret not in service.output
    assert "sign_in_begun client=hermes" in service.output
    assert "localhost" not in "".join(line for line in service.lines if "sign_in" in line)


async def test_the_official_client_finds_its_own_way_in(service: Inside, person: Person) -> None:
    """J-83, J-87: from the 401 alone: metadata, registration, PKCE, resource, tokens."""
    await official_client(service.url, lambda address: str(person.let_in(address).json()["to"]))


def test_a_program_learns_what_its_access_token_is_and_when_it_ends(
    owner: Owner, service: Inside, person: Person, program: Program
) -> None:
    """J-91: the subject is the sign-in, and a renewed token has no use of its own yet; one that is ended is a stranger's."""
    given = signed_in(person, program)
    with Raw(service.url, given["access_token"]) as raw:
        assert raw.call("messages_list", limit=1).status_code == 200
        told = raw.http.get(f"{issuer_of(service)}/token/introspect").json()
        [kept] = owner.json("passkeys", "sign-ins")["sign_ins"]
        assert (told["client"], told["subject"], told["last_used"]["ip"]) == ("hermes", kept["sign_in"], "127.0.0.1")
        assert 0 < told["exp"] - told["last_used"]["at_unix"] <= 300
        raw.http.headers["Authorization"] = f"Bearer {program.renew(given['refresh_token']).json()['access_token']}"
        renewed = raw.http.get(f"{issuer_of(service)}/token/introspect").json()
        assert renewed["subject"] == told["subject"]
        assert renewed["token_hash"] != told["token_hash"]
        assert "last_used" not in renewed
        assert owner.run("passkeys", "end", kept["sign_in"]).code == 0
        assert raw.http.get(f"{issuer_of(service)}/token/introspect").status_code == 401


def test_a_code_is_good_once_for_whoever_asked_for_it(service: Inside, person: Person, program: Program) -> None:
    """RFC 6749 §4.1.2, RFC 7636: and who shows it twice ends what it gave."""
    code = program.code(person.let_in(program.address()).json()["to"])
    for changed in ({"code_verifier": "x" * 43}, {"code_verifier": None}, {"redirect_uri": f"{REDIRECT}2"}):
        other = program.code(person.let_in(program.address()).json()["to"])
        assert program.exchange(other, **changed).json()["error"] == "invalid_grant"
        assert program.exchange(other).json()["error"] == "invalid_grant"
    assert program.exchange(code, client_id="other").json()["error"] == "invalid_client"
    assert program.exchange(code, resource="https://other.example.org/mcp").json()["error"] == "invalid_target"
    given = program.exchange(code).json()
    assert status(service, given["access_token"]) == 200
    assert program.exchange(code).json()["error"] == "invalid_grant"
    assert status(service, given["access_token"]) == 401
    assert program.renew(given["refresh_token"]).json()["error"] == "invalid_grant"


def test_a_refresh_token_that_comes_again_ends_the_sign_in(service: Inside, person: Person, program: Program) -> None:
    """A-32."""
    first = signed_in(person, program)
    second = program.renew(first["refresh_token"]).json()
    third = program.renew(second["refresh_token"]).json()
    assert status(service, third["access_token"]) == 200
    assert program.renew(first["refresh_token"]).json()["error"] == "invalid_grant"
    assert status(service, third["access_token"]) == 401
    assert "reason=reused" in service.output


def test_a_refresh_gives_less_where_less_is_asked_for_and_never_more(
    service: Inside, person: Person, program: Program
) -> None:
    given = signed_in(person, program, scopes=["mail.read", "mail.write"])
    more = program.renew(given["refresh_token"], scope="mail.read mail.send").json()
    assert more["error"] == "invalid_scope"
    less = program.renew(given["refresh_token"], scope="mail.read").json()
    assert less["scope"] == "mail.read"
    with Raw(service.url, less["access_token"]) as raw:
        assert "insufficient_scope" in raw.call("mail_send", to=["a@example.org"], subject="x", text="x").text


def test_an_end_by_the_program_or_by_taking_its_client_away_is_an_end(
    owner: Owner, service: Inside, person: Person, program: Program
) -> None:
    """P-97, RFC 7009."""
    given = signed_in(person, program)
    assert program.http.post("/revoke", data={"token": given["refresh_token"]}).status_code == 200
    assert program.http.post("/revoke", data={"token": "nonsense"}).status_code == 200
    assert status(service, given["access_token"]) == 401
    other = signed_in(person, program)
    owner.run("clients", "revoke", "hermes")
    assert status(service, other["access_token"]) == 401
    owner.run("clients", "restore", "hermes")
    assert status(service, other["access_token"]) == 401
    assert program.renew(other["refresh_token"]).json()["error"] == "invalid_grant"


def test_tokens_that_are_not_quite_ours_let_nobody_in(
    owner: Owner, service: Inside, person: Person, program: Program
) -> None:
    """Token confusion: another key under our key id, another audience, issuer, kind, algorithm; over; no sign-in."""
    good = signed_in(person, program)["access_token"]
    key = ECKey.import_key((owner.folders.state / "signing.pem").read_bytes())
    found = jwt.decode(good, key, algorithms=["ES256"])
    assert int(found.claims["exp"]) - int(found.claims["iat"]) == 300

    def signed(changed: dict[str, Any], header: dict[str, Any] | None = None, by: ECKey = key) -> str:
        head = {**found.header, **(header or {})}
        return jwt.encode(head, {**found.claims, **changed}, by, algorithms=["ES256"])

    assert status(service, signed({})) == 200
    body, signature = good.split(".")[1:]
    bad = {
        "another audience": signed({"aud": "https://other.example.org/mcp"}),
        "another issuer": signed({"iss": "https://evil.example.org"}),
        "over": signed({"exp": int(time.time()) - 1}),
        "another kind": signed({}, {"typ": "JWT"}),
        "another key": signed({}, by=ECKey.generate_key("P-256")),
        "no sign-in": signed({"sub": "si_aaaaaaaaaaaaaaaa"}),
        "a client as sign-in": signed({"sub": "hermes"}),
        "cut": good[:-2],
        "no signature": f"{good.rpartition('.')[0]}.",
        "another head": f"e30.{body}.{signature}",
    }
    for what, token in bad.items():
        assert status(service, token) == 401, what
    refresh = signed_in(person, program)["refresh_token"]
    assert status(service, refresh) == 401


@pytest.mark.parametrize(
    "changed",
    [
        {"redirect_uri": "https://evil.example.org/callback"},
        {"redirect_uri": "http://127.0.0.1:45678/callback/../evil"},
        {"redirect_uri": "http://127.0.0.1:45678/callback#x"},
        {"redirect_uri": "http://user@127.0.0.1:45678/callback"},
        {"redirect_uri": "http://127.0.0.1.evil.test:1/callback"},
        {"redirect_uri": "//evil.example.org/callback"},
        {"redirect_uri": "javascript:alert(1)"},
        {"redirect_uri": None},
        {"client_id": "other"},
        {"client_id": None},
    ],
)
def test_an_answer_goes_nowhere_the_owner_did_not_allow(
    person: Person, program: Program, changed: dict[str, Any]
) -> None:
    """J-86: no open redirect: a page of ours says what is wrong, and quotes nothing."""
    answered = person.browser.get(program.address(**changed))
    assert answered.status_code == 400
    assert "location" not in answered.headers
    assert "evil" not in answered.text
    assert "<script>" not in answered.text


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"code_challenge": None}, "invalid_request"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"code_challenge_method": None}, "invalid_request"),
        ({"code_challenge": "short"}, "invalid_request"),
        ({"resource": "https://other.example.org/mcp"}, "invalid_target"),
        ({"scope": 'a"b'}, "invalid_scope"),
        ({"state": "s" * 4097}, "invalid_request"),
    ],
)
def test_what_is_wrong_with_a_request_is_told_to_the_program(
    person: Person, program: Program, changed: dict[str, Any], error: str
) -> None:
    """RFC 6749 §4.1.2.1; J-88: a state of more than 4096 octets is not carried."""
    answered = person.browser.get(program.address(**changed), follow_redirects=False)
    assert answered.status_code == 303
    told = parse_qs(urlsplit(answered.headers["location"]).query)
    assert answered.headers["location"].startswith(REDIRECT)
    assert told["error"] == [error]
    assert told.get("state", [program.state]) == [program.state]


def test_a_passkey_that_proves_nothing_lets_nobody_in(person: Person, program: Program) -> None:
    """WebAuthn §7.2: another origin, another challenge, nobody verified, another key, another kind; and nonsense."""
    stranger = Authenticator(person.issuer)
    stranger.credential = person.authenticator.credential
    elsewhere, unverified = Authenticator("https://evil.example.org"), Authenticator(person.issuer)
    for other in (elsewhere, unverified):
        other.key, other.credential = person.authenticator.key, person.authenticator.credential
    unverified.flags = PRESENT

    def tried(make: Any) -> httpx2.Response:
        page = person.open(program.address())
        return person.answer(page, credential=make(page))

    bad = {
        "another key": lambda page: stranger.use(page.options),
        "another origin": lambda page: elsewhere.use(page.options),
        "nobody verified": lambda page: unverified.use(page.options),
        "another challenge": lambda page: person.authenticator.use({**page.options, "challenge": "AAAA" * 11}),
        "another name": lambda page: person.authenticator.use({**page.options, "rpId": "evil.example.org"}),
        "another kind": lambda page: person.authenticator.use(page.options, "webauthn.create"),
        "nothing": lambda _: None,
        "nonsense": lambda _: {"id": "x", "rawId": [], "response": {"clientDataJSON": 7}},
    }
    for what, make in bad.items():
        answered = tried(make)
        assert (answered.status_code, answered.json()["error"]) == (403, "access_denied"), what
    page = person.open(program.address())
    for _ in range(5):
        assert person.answer(page, credential={}).status_code == 403
    assert person.answer(page).status_code == 403
    assert person.let_in(program.address()).status_code == 200


def test_a_passkey_that_was_copied_is_noticed(person: Person, program: Program) -> None:
    """WebAuthn §6.1.1: a counter that does not go up."""
    for count, good in ((1, True), (2, True), (2, False), (1, False), (3, True)):
        person.authenticator.count = count
        assert (person.let_in(program.address()).status_code == 200) is good, count


def test_only_the_browser_that_was_asked_can_answer_and_only_from_our_page(person: Person, program: Program) -> None:
    """Nobody answers for the owner: another browser with the same page, a page of another program on this machine."""
    page = person.open(program.address())
    with Person(person.issuer, person.authenticator) as other:
        assert other.answer(page).json()["error"] == "invalid_request"
        other.open(program.address())
        assert other.answer(page).json()["error"] == "invalid_request"
    person.browser.headers["Origin"] = "http://localhost:3000"
    assert person.answer(page).status_code == 403
    del person.browser.headers["Origin"]
    assert person.answer(page).status_code == 403
    person.browser.headers["Origin"] = person.issuer
    assert person.answer(page).status_code == 200
    assert person.answer(page).json()["error"] == "invalid_request"


def test_the_owner_can_say_no_and_choose_nobody_who_is_not_there(person: Person, program: Program) -> None:
    page = person.open(program.address())
    assert page.clients == ["hermes"]
    for changed in ({"client": "nobody"}, {"client": None}, {"client": ["hermes"]}, {"scopes": []}, {"scopes": ["x"]}):
        assert person.answer(page, **changed).json()["error"] == "invalid_request", changed
    said = person.browser.post("/sign-in/refuse", json={"flow": page.flow}).json()["to"]
    told = parse_qs(urlsplit(said).query)
    assert (told["error"], told["state"]) == (["access_denied"], [program.state])
    assert person.answer(page).json()["error"] == "invalid_request"


def test_scopes_are_no_more_than_was_asked_for(person: Person, program: Program) -> None:
    page = person.open(program.address(scope="openid mail.read"))
    assert page.scopes == ["mail.read"]
    answered = person.answer(page, scopes=["mail.read", "mail.send"])
    assert program.exchange(program.code(answered.json()["to"])).json()["scope"] == "mail.read"
    assert person.open(program.address(scope=None)).scopes == ["mail.read", "mail.write", "mail.send"]


def test_a_passkey_is_added_by_the_owners_code_alone(owner: Owner, service: Inside, person: Person) -> None:
    """A-32: a code is good once; without one nothing is given, not even a challenge."""
    with Person(person.issuer) as other:
        for code in ("aaaa-bbbb-cccc-dddd", "", None, 7, "x" * 100):
            assert other.browser.post("/sign-in/enrol/begin", json={"code": code}).status_code == 403
        code = owner.json("passkeys", "add")["code"]
        other.authenticator.flags = PRESENT
        assert other.add_passkey(code).status_code == 400
        other.authenticator.flags = PRESENT | 4
        assert other.add_passkey(code, flow="x").status_code == 400
        assert other.add_passkey(code.upper()).status_code == 200
        assert other.add_passkey(code).status_code == 403
    rows = owner.json("passkeys", "list")["passkeys"]
    assert [row["name"] for row in rows] == ["test", "test"]
    assert owner.run("passkeys", "remove", rows[0]["passkey"]).code == 0
    assert owner.run("passkeys", "remove", "nonsense").code != 0
    assert "".join(code.split("-")) not in service.output.replace("-", "")


def test_without_a_passkey_or_a_client_the_page_says_what_to_do(
    owner: Owner, service: Inside, program: Program
) -> None:
    with Person(issuer_of(service)) as nobody:
        answered = nobody.browser.get(program.address())
        assert answered.status_code == 409
        assert "mcp-proton passkeys add" in answered.text


def test_every_program_is_the_one_client_and_only_with_redirects_the_owner_allows(program: Program) -> None:
    """J-84, A-34: registration keeps nothing and opens nothing."""
    allowed = ["http://localhost:1/callback", "https://claude.ai/api/mcp/auth_callback"]
    answered = program.http.post("/register", json={"redirect_uris": allowed, "client_name": "<b>x</b>"})
    assert answered.status_code == 201
    told = answered.json()
    assert (told["client_id"], told["redirect_uris"]) == ("mcp-proton", allowed)
    assert told["token_endpoint_auth_method"] == "none"
    assert "client_secret" not in told
    for bad in (
        ["https://evil.example.org/cb"],
        [*allowed, "https://claude.ai/other"],
        [*allowed, "claude-evil://claude.ai/cb"],
        ["claude://"],
        [],
        None,
        "x",
        [7],
        allowed * 20,
    ):
        refused = program.http.post("/register", json={"redirect_uris": bad})
        assert (refused.status_code, refused.json()["error"]) == (400, "invalid_redirect_uri"), bad


def test_a_program_on_a_persons_device_is_let_in_by_its_scheme_where_it_registered(
    service: Inside, person: Person
) -> None:
    """J-93, A-34: the page names program and scheme; the answer goes where it registered, and to that id alone."""
    desktop = "claude://claude.ai/mcp/callback"
    with Program(issuer_of(service), desktop) as program:
        assert person.browser.get(program.address()).status_code == 400
        told = program.http.post("/register", json={"redirect_uris": [desktop]})
        assert (told.status_code, told.json()["redirect_uris"]) == (201, [desktop])
        program.client_id = told.json()["client_id"]
        assert person.browser.get(program.address(redirect_uri=f"{desktop}/other")).status_code == 400
        assert (
            person.browser.get(program.address(code_challenge=None)).headers["location"].startswith(f"{desktop}?error=")
        )
        page = person.open(program.address()).answered.text
        assert "Claude (claude:)" in page
        assert "whichever program this device opens <strong>claude:</strong> addresses with" in page
        code = program.code(person.let_in(program.address()).json()["to"])
        assert program.exchange(code, client_id="mcp-proton").json()["error"] == "invalid_grant"
        code = program.code(person.let_in(program.address()).json()["to"])
        assert program.exchange(code, redirect_uri=f"{desktop}/").json()["error"] == "invalid_grant"
        given = signed_in(person, program)
        assert status(service, given["access_token"]) == 200
        assert program.renew(given["refresh_token"]).status_code == 200
    assert desktop not in service.output


def test_what_a_program_learns_has_one_origin_and_names_what_is_there(service: Inside, program: Program) -> None:
    """J-92: claude.ai wants all addresses at one origin; by the name a program used, the resource is the one it asked for."""
    told = program.http.get("/.well-known/oauth-authorization-server").json()
    addresses = [value for name, value in told.items() if name.endswith("_endpoint")]
    assert all(address.startswith(f"{told['issuer']}/") for address in addresses)
    assert told["issuer"] == issuer_of(service)
    assert told["code_challenge_methods_supported"] == ["S256"]
    for origin in (f"http://127.0.0.1:{service.port}", f"http://localhost:{service.port}"):
        metadata = program.http.get(f"{origin}/.well-known/oauth-protected-resource/mcp").json()
        assert metadata["resource"] == f"{origin}/mcp"
        assert metadata["authorization_servers"] == [told["issuer"]]
        assert metadata["scopes_supported"] == ["mail.read", "mail.write", "mail.send"]
        challenge = program.http.post(f"{origin}/mcp", json={}).headers["www-authenticate"]
        assert f'resource_metadata="{origin}/.well-known/oauth-protected-resource/mcp"' in challenge


def test_a_browser_by_another_name_is_led_to_the_one_passkeys_are_for(service: Inside, program: Program) -> None:
    address = program.address().replace("localhost", "127.0.0.1")
    answered = program.http.get(address, follow_redirects=False)
    assert answered.status_code == 307
    assert answered.headers["location"] == program.address()


def test_pages_can_be_neither_framed_nor_kept_and_load_nothing_from_elsewhere(person: Person, program: Program) -> None:
    for path in ("/sign-in/enrol", program.address(), "/sign-in/page.js", "/sign-in/page.css", "/authorize?x=1"):
        headers = person.browser.get(path).headers
        assert "frame-ancestors 'none'" in headers["content-security-policy"], path
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["cache-control"] == "no-store"
    page = person.open(program.address())
    cookie = page.answered.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie


@pytest.mark.parametrize(
    "path", ["/token", "/revoke", "/register", "/sign-in/answer", "/sign-in/enrol", "/sign-in/refuse"]
)
def test_nonsense_is_refused_without_a_fault(service: Inside, program: Program, path: str) -> None:
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    told = {"Content-Type": "application/json", "Origin": issuer_of(service)}
    long = b"a=" + b"x" * 100_000
    doubled = b"grant_type=refresh_token&grant_type=authorization_code"
    for headers, body in [
        (form, doubled), (form, b"\xff=%ff"), (form, b"&".join([b"a=b"] * 100)), (form, long), (form, b"grant_type="),
        (form, b"grant_type=refresh_token&refresh_token=%ED%A0%80"), (told, b"[]"), (told, b"{"), (told, b"[" * 50_000),
        (told, b'{"flow":"\\ud800","code":"\\ud800","redirect_uris":["\\ud800"]}'), (told, long), ({}, b""),
        (told, b'{"flow":{},"credential":{},"client":{},"scopes":{}}'),
    ]:  # fmt: skip
        answered = program.http.post(path, content=body, headers=headers)
        if path != "/revoke" or headers is not form:
            assert 400 <= answered.status_code < 500, (path, body[:40], answered.status_code)
        assert answered.status_code < 500, (path, body[:40])
    assert "Traceback" not in service.output
    assert "fault" not in service.output


def test_without_sign_in_there_are_no_such_addresses(demo: Service) -> None:
    """J-84: 404 where the owner has not set it up."""
    base = demo.url.removesuffix("/mcp")
    with Raw(demo.url) as raw:
        for path in ("/register", "/authorize", "/token", "/sign-in/enrol", "/.well-known/oauth-authorization-server"):
            assert raw.http.get(f"{base}{path}").status_code == 404


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        (('by = "provider"',), "needs `[oauth]`"),
        (('by = "passkey"', 'redirects = ["http://evil.example.org/cb"]'), "redirects"),
        (('by = "passkey"', 'redirects = ["https://a.example/cb#x"]'), "redirects"),
        (('by = "passkey"', 'redirects = ["cursor://"]'), "only `claude://` and `cowork://`"),
        (('by = "passkey"', 'secret = "env:X"'), 'are for `by = "provider"`'),
        (('by = "magic"',), "sign_in.by"),
    ],
)
def test_what_cannot_be_is_told_before_it_is_served(owner: Owner, lines: tuple[str, ...], why: str) -> None:
    owner.write_config("\n".join([owner.folders.config_file.read_text(), "[sign_in]", *lines, ""]))
    said = owner.run("config", "check")
    assert said.code == 2
    assert why in said.all
    assert owner.run("passkeys", "add").code == 2


def test_a_page_of_options_names_no_passkey(person: Person, program: Program) -> None:
    page: Page = person.open(program.address())
    assert not page.options.get("allowCredentials")
    assert page.options["userVerification"] == "required"


def test_another_host_name_is_shown_no_page_and_given_no_token(service: Inside, program: Program) -> None:
    """DNS rebinding: the name a browser was lured to is not ours, for signing in as little as for mail."""
    for path in ("/authorize", "/token", "/register", "/sign-in/enrol", "/.well-known/oauth-authorization-server"):
        for host in ("evil.test", f"evil.test:{service.port}", f"localhost.evil.test:{service.port}"):
            answered = program.http.request("GET", path, headers={"Host": host})
            assert answered.status_code == 421, (path, host)
        assert program.http.get(path, headers={"Origin": "https://evil.test"}).status_code == 403


def test_a_program_that_opens_two_connections_and_renews_in_both_stays_in(
    service: Inside, person: Person, program: Program
) -> None:
    """J-92: Cursor opens two sessions at each connect; it must not be taken for two who share a stolen token."""
    given = signed_in(person, program)
    with Raw(service.url, given["access_token"]) as one, Raw(service.url, given["access_token"]) as other:
        assert (one.shake().status_code, other.shake().status_code) == (200, 200)
        assert one.session != other.session
        for raw in (one, other):
            renewed = program.renew(given["refresh_token"]).json()
            raw.http.headers["Authorization"] = f"Bearer {renewed['access_token']}"
        assert (one.post("tools/list").status_code, other.post("tools/list").status_code) == (200, 200)


def test_a_program_that_describes_itself_is_let_in_under_its_own_name(
    owner: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A-34: its code and its answers are its own: they do not mix with those of the one client all others are."""
    address, answers = "https://app.example.org/oauth/client.json", "https://app.example.org/cb"

    async def described(_: str) -> bytes:
        return json.dumps({"client_id": address, "redirect_uris": [answers]}).encode()

    monkeypatch.setattr("mcp_proton.mcp.http.signing_in.programs.fetched", described)
    text = owner.folders.config_file.read_text()
    owner.write_config(f'{text}\n[sign_in]\nby = "passkey"\ndocuments = ["{address}"]\n')
    with Inside(owner.home) as service, Person(issuer_of(service)) as person:
        assert person.add_passkey(owner.json("passkeys", "add")["code"]).status_code == 200
        with Program(issuer_of(service), answers, address) as program, Program(issuer_of(service)) as other:
            told = program.http.get("/.well-known/oauth-authorization-server").json()
            assert told["client_id_metadata_document_supported"] is True
            assert "app.example.org" in person.open(program.address()).answered.text
            assert person.browser.get(program.address(redirect_uri=REDIRECT)).status_code == 400
            assert person.browser.get(other.address(redirect_uri=answers)).status_code == 400
            code = program.code(person.let_in(program.address()).json()["to"])
            assert program.exchange(code, client_id="mcp-proton").json()["error"] == "invalid_grant"
            given = signed_in(person, program)
            assert status(service, given["access_token"]) == 200
            assert program.renew(given["refresh_token"]).status_code == 200
