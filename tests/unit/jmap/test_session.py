"""Finding the session, its limits, and what a refused login means."""

from __future__ import annotations

import asyncio
import time

import pytest

from mcp_proton.domain.errors import AuthFailed, Invalid, MailError, Unavailable
from mcp_proton.domain.mail import Role
from mcp_proton.domain.ports import FlagChange
from mcp_proton.jmap.backend import JmapBackend
from mcp_proton.jmap.protocol import client
from mcp_proton.jmap.protocol.endpoint import Auth, Credentials, Endpoint
from tests.servers.jmap import JmapServer
from tests.servers.jmap.methods import Limits
from tests.servers.jmap.server import MAIL, USER
from tests.unit.jmap.accounts import account, arrive, connected, handles, jwt, rows


async def test_the_session_is_found_by_its_well_known_place_and_its_urls_may_be_relative() -> None:
    async with account() as (server, backend):
        arrive(server, 1)
        assert [row.subject for row in await rows(backend)] == ["number 0"]
        assert [path for _, path, _ in server.asked][:3] == ["/.well-known/jmap", "/jmap/session", "/jmap/api"]


async def test_the_session_can_be_named_by_its_own_url() -> None:
    async with JmapServer() as server:
        backend = connected(f"{server.url}/jmap/session")
        assert (await backend.health()).connected
        assert [path for _, path, _ in server.asked] == ["/jmap/session", "/jmap/api"]
        await backend.aclose()


async def test_a_redirect_to_another_origin_is_not_followed_and_the_password_stays_here() -> None:
    async with JmapServer() as server, JmapServer() as other:
        backend = connected(server.url)
        server.answers = [(302, {"Location": f"{other.url}/jmap/session"}, b"")]
        health = await backend.health()
        assert (health.connected, health.code) == (False, "bad_server_answer")
        assert other.asked == []
        await backend.aclose()


async def test_a_redirect_in_circles_ends() -> None:
    async with JmapServer() as server:
        backend = connected(server.url)
        server.answers = [(302, {"Location": "/.well-known/jmap"}, b"")] * 20
        assert (await backend.health()).code == "bad_server_answer"
        assert len(server.asked) < 10
        await backend.aclose()


@pytest.mark.parametrize("key", ["apiUrl", "downloadUrl"])
async def test_urls_of_the_session_stay_within_the_origins_of_the_owner(key: str) -> None:
    async with account() as (server, backend), JmapServer(server.store) as other:
        arrive(server, 1)
        wanted = {"apiUrl": "/jmap/api", "downloadUrl": "/jmap/blob/{accountId}/{blobId}/{name}"}[key]
        server.session_changes = {key: other.url + wanted}
        trusting = connected(server.url, also=(other.url,))
        with pytest.raises(Unavailable) as refusal:
            await backend.structure((await handles(backend))[0])
        assert refusal.value.code == "bad_server_answer"
        assert other.asked == []
        assert (await trusting.structure((await handles(trusting))[0])).envelope.subject == "number 0"
        assert other.asked != []
        await trusting.aclose()


@pytest.mark.parametrize(
    "url", ["http://mail.example.org", "ftp://example.org", "https://", "https://user@example.org", "example.org", ""]
)
def test_a_password_is_sent_by_https_only_unless_to_this_machine(url: str) -> None:
    with pytest.raises(Invalid):
        Endpoint(url).origins  # noqa: B018
    assert Endpoint("http://127.0.0.1:8080").origins
    assert Endpoint("https://example.org").origins


async def test_no_more_requests_are_under_way_than_the_server_wants() -> None:
    async with account(Limits(requests=2)) as (server, backend):
        arrive(server, 5)
        some = await handles(backend)
        await asyncio.gather(*(backend.envelopes(some) for _ in range(20)))
        assert server.most_under_way <= 2


async def test_a_request_is_split_where_it_would_be_too_large() -> None:
    async with account(Limits(size=6_000)) as (server, backend):
        arrive(server, 40)
        some = await handles(backend)
        assert len(await backend.envelopes(some)) == 40
        fates = await backend.set_flags(some, FlagChange(add=frozenset({"seen"})))
        assert {fate.ending.value for fate in fates} == {"done"}


async def test_operations_take_two_http_requests_at_most() -> None:
    """Session and mailboxes are known, as they are in service."""
    async with account() as (server, backend):
        arrive(server, 60)
        some = await handles(backend)
        archive = next(one for one in await backend.mailboxes() if one.role is Role.ARCHIVE)

        async def requests(act: object) -> int:
            before = len(server.asked)
            await act  # type: ignore[misc]
            return len(server.asked) - before

        assert await requests(rows(backend, limit=50)) == 1
        assert await requests(backend.envelopes(some)) == 1
        assert await requests(backend.headers(some)) == 1
        assert await requests(backend.structure(some[0])) == 2
        assert await requests(backend.set_flags(some, FlagChange(add=frozenset({"seen"})))) == 2
        assert await requests(backend.move(some, archive)) == 2


async def test_a_refused_password_is_told_and_not_tried_again_at_once() -> None:
    async with JmapServer() as server:
        backend = connected(server.url, secret="wrong")
        for _ in range(3):
            with pytest.raises(AuthFailed) as refusal:
                await backend.mailboxes()
            assert refusal.value.code == "auth_failed"
        assert len(server.asked) == 1
        await backend.aclose()


@pytest.mark.parametrize(
    ("token", "code"),
    [
        (3_600, "upstream_auth_rejected"),
        (-30, "upstream_auth_rejected"),
        (-3_600, "auth_expired"),
        ("an-opaque-token", "auth_failed"),
        ("a.b.c", "auth_failed"),
    ],
)
async def test_a_401_is_told_by_what_the_token_says_of_itself(token: str | int, code: str) -> None:
    """J-90: nobody is told to log in again where that would not help."""
    secret = jwt(time.time() + token) if isinstance(token, int) else token
    async with JmapServer(token="another") as server:
        backend = connected(server.url, secret=secret, auth=Auth.BEARER)
        health = await backend.health()
        assert (health.connected, health.code) == (False, code)
        assert secret not in repr(health)
        await backend.aclose()


@pytest.mark.parametrize("status", [429, 503])
async def test_a_server_that_asks_for_patience_gets_it(status: int) -> None:
    async with account() as (server, backend):
        await backend.mailboxes()
        server.answers = [(status, {"Retry-After": "1800"}, b"")]
        for _ in range(3):
            with pytest.raises(Unavailable) as refusal:
                await rows(backend)
            assert refusal.value.code == "server_busy"
        assert server.answers == []


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"capabilities": {}}, "bad_server_answer"),
        ({"capabilities": 5}, "bad_server_answer"),
        ({"primaryAccounts": {}}, "no_mail_account"),
        ({"primaryAccounts": {"urn:ietf:params:jmap:mail": "a/b"}}, "bad_server_answer"),
        ({"apiUrl": None}, "bad_server_answer"),
        ({"apiUrl": "https://api\r\nX: y"}, "bad_server_answer"),
    ],
)
async def test_a_session_that_cannot_be_true_is_refused(changed: dict[str, object], code: str) -> None:
    async with account() as (server, backend):
        server.session_changes = changed
        with pytest.raises(MailError) as refusal:
            await backend.mailboxes()
        assert refusal.value.code == code


async def test_limits_of_nonsense_are_taken_for_small_ones() -> None:
    async with account() as (server, backend):
        arrive(server, 3)
        core = {"maxObjectsInGet": 0, "maxCallsInRequest": 8, "maxConcurrentRequests": 0, "maxSizeRequest": 10_000_000}
        server.session_changes = {
            "capabilities": {"urn:ietf:params:jmap:core": core, "urn:ietf:params:jmap:mail": {}},
        }
        assert len(await rows(backend)) == 3


async def test_a_login_that_leads_to_another_mailbox_is_refused() -> None:
    """J-80: handles name messages of one mailbox; another's, with the same ids, is never reached by them."""
    async with account() as (server, backend):
        arrive(server, 1)
        (row,) = await rows(backend)
        server.session_changes = {"primaryAccounts": {MAIL: "another"}, "accounts": {"another": {}}}
        await backend.health()
        for _ in range(2):
            with pytest.raises(AuthFailed) as caught:
                await backend.structure(row.handle)
            assert caught.value.code == "another_account"


async def test_a_session_is_looked_for_again_after_an_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    """J-102."""
    async with account() as (server, backend):
        await backend.mailboxes()
        monkeypatch.setattr(client, "KEPT", -1.0)
        await backend.mailboxes(fresh=True)
        assert sum(path == "/jmap/session" for _, path, _ in server.asked) >= 2


async def test_a_caller_s_next_token_is_tried_though_the_one_before_was_refused() -> None:
    """J-80, J-90: what was refused before says nothing of another token; the same one is not tried again at once."""
    async with JmapServer(token="good") as server:
        shown = ["bad"]

        async def give() -> str:
            return shown[0]

        backend = JmapBackend("me", Endpoint(server.url), Credentials(USER, give, Auth.BEARER, lasting=False))
        for _ in range(2):
            with pytest.raises(AuthFailed):
                await backend.mailboxes()
        assert len(server.asked) == 1
        shown[0] = "good"
        assert await backend.mailboxes()
        server.token = shown[0] = "renewed"
        assert await backend.mailboxes(fresh=True)
        assert server.asked[-1][2]["authorization"] == "Bearer renewed"
        await backend.aclose()
