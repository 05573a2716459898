"""Access tokens towards a JMAP server: renewed by the code that IMAP accounts use, and shown again where that is safe.

A 401 says that nothing was done, so whatever was asked for is asked for once more with another token (A-83, J-90).
"""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from mcp_proton.bootstrap import backend as made
from mcp_proton.bootstrap.logins import places
from mcp_proton.config.renewal import Renewal
from mcp_proton.config.tables import Account, Kind
from mcp_proton.domain.errors import AuthFailed, Unavailable
from mcp_proton.domain.outgoing import Delivery
from mcp_proton.imap.login.access_tokens import AccessTokens, Issued
from mcp_proton.jmap.backend import JmapBackend
from mcp_proton.jmap.protocol.endpoint import Auth, Credentials, Endpoint
from mcp_proton.storage.vault import Vault
from tests.contract.letters_out import mail
from tests.servers.jmap import JmapServer
from tests.servers.jmap.methods import Limits
from tests.servers.jmap.server import USER
from tests.unit.imap.token_endpoint import token_endpoint
from tests.unit.jmap.accounts import jwt

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

TO = "bob@example.net"


class Source:
    """Gives tokens one after the other, the last one for ever; an error is raised. All but the first last `lasts` s."""

    def __init__(self, *tokens: str | Exception, lasts: float = 3_600.0) -> None:
        self._tokens, self._lasts = list(tokens), lasts
        self.asked = 0

    async def __call__(self) -> Issued:
        self.asked += 1
        token = self._tokens.pop(0) if len(self._tokens) > 1 else self._tokens[0]
        if isinstance(token, Exception):
            raise token
        return Issued(token, time.time() + (self._lasts if self.asked > 1 else 3_600.0))


async def never() -> str:
    raise AssertionError("no password is shown where there are tokens")


@asynccontextmanager
async def logged_in(source: Source, limits: Limits | None = None) -> AsyncIterator[tuple[JmapServer, JmapBackend]]:
    """An account whose session, mailboxes and identities are known by the token `one`."""
    async with JmapServer(token="one", limits=limits) as server:
        login = Credentials(USER, never, Auth.BEARER, tokens=AccessTokens(source))
        backend = JmapBackend("me", Endpoint(server.url), login)
        await backend.mailboxes()
        await backend.identities()
        server.asked.clear()
        try:
            yield server, backend
        finally:
            await backend.aclose()


def shown(server: JmapServer) -> Sequence[str]:
    return [headers["authorization"] for _, _, headers in server.asked]


async def test_a_token_that_is_refused_is_renewed_once_and_the_question_asked_again() -> None:
    source = Source("one", "two")
    async with logged_in(source) as (server, backend):
        server.token = "two"
        assert await backend.mailboxes(fresh=True)
        assert shown(server) == ["Bearer one", "Bearer two"]
        assert await backend.mailboxes(fresh=True)
        assert source.asked == 2


@pytest.mark.parametrize("limits", [Limits(), Limits(blob=1 << 20)])
async def test_a_mail_that_was_met_by_a_401_is_handed_over_once(limits: Limits) -> None:
    """P-92: the 401 did not act, so showing the mail again sends it for the first time; its octets are streamed anew."""
    async with logged_in(Source("one", "two"), limits) as (server, backend):
        server.token = "two"
        text = mail(USER, TO, body="x" * 300_000)
        assert backend.submits is not None
        assert (await backend.submits.submit(USER, [TO], text)).delivery is Delivery.ACCEPTED
        assert [b"".join([piece async for piece in text.chunks()])] == [raw for _, _, raw in server.store.sent]
        assert shown(server)[:2] == ["Bearer one", "Bearer two"]


async def test_a_mail_is_not_sent_where_there_is_no_other_token() -> None:
    async with logged_in(Source("one")) as (server, backend):
        server.token = "two"
        assert backend.submits is not None
        with pytest.raises(AuthFailed):
            await backend.submits.submit(USER, [TO], mail(USER, TO))
        assert server.store.sent == []


@pytest.mark.parametrize(
    ("token", "lasts", "code"),
    [
        ("opaque", 3_600.0, "upstream_auth_rejected"),
        ("opaque", -30.0, "upstream_auth_rejected"),
        ("opaque", -3_600.0, "auth_expired"),
        (None, 3_600.0, "upstream_auth_rejected"),
    ],
)
async def test_a_401_is_told_by_what_is_known_of_the_last_token(token: str | None, lasts: float, code: str) -> None:
    """J-90: by the end its source told, or (None: a JWT) the token itself; and the server is not shown a third one."""
    token = token or jwt(time.time() + 3_600)
    async with logged_in(Source("one", token, lasts=lasts)) as (server, backend):
        server.token = "another"
        with pytest.raises(AuthFailed) as refusal:
            await backend.mailboxes(fresh=True)
        assert refusal.value.code == code
        assert len(server.asked) <= 2
        assert token not in f"{refusal.value}{refusal.value.next}"


async def test_a_403_asks_for_no_other_token() -> None:
    """RFC 6750 §3.1: it is for something else, and so is the next one."""
    source = Source("one", "two")
    async with logged_in(source) as (server, backend):
        server.answers = [(403, {}, b"")]
        with pytest.raises(AuthFailed):
            await backend.mailboxes(fresh=True)
        assert source.asked == 1


async def test_a_token_endpoint_that_is_away_sends_nothing_and_is_told() -> None:
    """Nothing was done by then, and the refusal of the mail server is not what is wrong."""
    away = Unavailable("the authorization server is of no use now", code="upstream_unavailable")
    async with logged_in(Source("one", away)) as (server, backend):
        server.token = "two"
        assert backend.submits is not None
        with pytest.raises(Unavailable) as useless:
            await backend.submits.submit(USER, [TO], mail(USER, TO))
        assert useless.value.code == "upstream_unavailable"
        assert server.store.sent == []


async def test_many_questions_at_once_renew_once() -> None:
    source = Source("one", "two")
    async with logged_in(source) as (server, backend):
        server.token = "two"
        await asyncio.gather(*(backend.mailboxes(fresh=True) for _ in range(8)))
        assert source.asked == 2


async def test_the_stream_of_changes_is_opened_with_another_token_too() -> None:
    async with logged_in(Source("one", "two")) as (server, backend):
        server.pushes, server.token = True, "two"
        async with aclosing(backend._client.events(["Email"], "", 30, 30.0)) as told:
            assert await anext(told) == b""
        assert shown(server) == ["Bearer one", "Bearer two"]


async def test_an_account_of_config_toml_renews_its_tokens_and_keeps_the_rotated_one(tmp_path: Path) -> None:
    """From the file that holds the refresh token to a mailbox, and back into the file."""
    kept = tmp_path / "refresh"
    kept.write_text("refresh-1\n")
    kept.chmod(0o600)

    def judged(form: dict[str, str]) -> bytes:
        assert form["refresh_token"] == "refresh-1"
        return json.dumps({"access_token": "fresh", "expires_in": 600, "refresh_token": "refresh-2"}).encode()

    async with JmapServer(token="fresh") as server, token_endpoint(judged) as endpoint:
        account = Account(
            kind=Kind.JMAP,
            url=server.url,
            username=USER,
            secret=f"file:{kept}",
            oauth=Renewal(token_url=endpoint.url, client_id="id"),
        )
        found = made("me", account, Vault(places({"me": account}), {}))
        try:
            assert (await found.health()).connected
        finally:
            await found.aclose()
    assert kept.read_text() == "refresh-2\n"


async def test_a_token_that_is_given_may_come_with_its_end(tmp_path: Path) -> None:
    """As on IMAP: a file, or what a program prints, may be JSON as a token endpoint answers."""
    kept = tmp_path / "token"
    kept.write_text('{"access_token": "fresh", "expires_in": 600}\n')
    kept.chmod(0o600)
    async with JmapServer(token="fresh") as server:
        account = Account(kind=Kind.JMAP, url=server.url, username=USER, secret=f"file:{kept}", auth="bearer")  # type: ignore[arg-type]
        found = made("me", account, Vault(places({"me": account}), {}))
        try:
            assert (await found.health()).connected
        finally:
            await found.aclose()
