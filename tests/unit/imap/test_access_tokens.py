"""Access tokens: kept until shortly before their end, renewed once for all who wait, never shown (A-83, A-95)."""

from __future__ import annotations

import asyncio
import base64
import json

import pytest

from mcp_proton.bootstrap import backend
from mcp_proton.config.tables import Account
from mcp_proton.config.values import Kind
from mcp_proton.domain.errors import AuthFailed
from mcp_proton.imap.login import access_tokens
from mcp_proton.imap.login.access_tokens import AccessTokens, Issued, expiry, printed
from mcp_proton.jmap.protocol.endpoint import Auth
from mcp_proton.storage.vault import Vault
from tests.servers import account as servers
from tests.servers.dovecot import Dovecot

NOW = 1_800_000_000.0


class Source:
    def __init__(self, lasts: float | None = 3_600.0) -> None:
        self.asked, self.now, self.lasts = 0, NOW, lasts

    async def __call__(self) -> Issued:
        self.asked += 1
        await asyncio.sleep(0)
        return Issued(f"token-{self.asked}", None if self.lasts is None else self.now + self.lasts)

    def tokens(self) -> AccessTokens:
        return AccessTokens(self, lambda: self.now)


async def test_a_token_is_kept_until_shortly_before_its_end() -> None:
    source = Source()
    tokens = source.tokens()
    assert await tokens.current() == "token-1"
    source.now += 3_600.0 - access_tokens.NEAR - 1
    assert await tokens.current() == "token-1"
    source.now += 2
    assert await tokens.current() == "token-2"


async def test_a_token_of_unknown_end_is_asked_for_anew_after_a_while() -> None:
    source = Source(lasts=None)
    tokens = source.tokens()
    assert await tokens.current() == await tokens.current() == "token-1"
    source.now += access_tokens.UNTOLD
    assert await tokens.current() == "token-2"


async def test_a_very_short_token_is_used_all_the_same() -> None:
    source = Source(lasts=10.0)
    tokens = source.tokens()
    assert [await tokens.current() for _ in range(3)] == ["token-1"] * 3


async def test_those_who_wait_share_one_renewal() -> None:
    source = Source()
    tokens = source.tokens()
    assert set(await asyncio.gather(*(tokens.current() for _ in range(8)))) == {"token-1"}
    assert set(await asyncio.gather(*(tokens.instead_of("token-1") for _ in range(8)))) == {"token-2"}
    assert source.asked == 2


async def test_a_source_without_another_token_is_told_as_that() -> None:
    async def same() -> Issued:
        return Issued("same")

    assert await AccessTokens(same).instead_of("same") is None


async def test_a_source_that_fails_is_asked_again() -> None:
    left = [AuthFailed("not yet")]

    async def source() -> Issued:
        if left:
            raise left.pop()
        return Issued("tok")

    tokens = AccessTokens(source)
    with pytest.raises(AuthFailed):
        await tokens.current()
    assert await tokens.current() == "tok"


def jwt(claims: object) -> str:
    words = (base64.urlsafe_b64encode(json.dumps(one).encode()).rstrip(b"=").decode() for one in ({}, claims))
    return ".".join((*words, "c2ln"))


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("plain-token", None),
        (" plain-token ", None),
        (jwt({"exp": 1_900_000_000}), 1_900_000_000.0),
        (jwt([1]), None),
        (jwt({"exp": "soon"}), None),
        (jwt({"exp": True}), None),
        (jwt({"exp": -1}), None),
        ("a.!.c", None),
        ('{"access_token":"tok","expires_in":3600}', NOW + 3_600),
        ('{"access_token":"tok","expires_in":"3600"}', NOW + 3_600),
        ('{"access_token":"tok","expires_at":1900000000}', 1_900_000_000.0),
        ('{"token":"tok","expiry":"2030-03-17T17:46:40Z"}', 1_900_000_000.0),
        ('{"token":"tok","expiry":"never"}', None),
    ],
)
def test_what_commands_print_is_read_with_its_end(text: str, ends: float | None) -> None:
    if "!" in text:
        with pytest.raises(AuthFailed):
            printed(text, NOW)
        return
    assert printed(text, NOW).ends == ends


@pytest.mark.parametrize(
    "text",
    ["Error: sign in first", "tok\x01auth=Bearer other", "tök", "", "{", "{}", '{"access_token":7}', "[" * 50, "a" * 9_000,
     '{"a":' * 2_000],
)  # fmt: skip
def test_words_of_regret_are_no_token_and_are_not_repeated(text: str) -> None:
    with pytest.raises(AuthFailed) as refused:
        printed(text, NOW)
    assert text[:6] not in refused.value.message or not text


def test_a_token_shows_in_no_repr() -> None:
    assert "secret-token" not in repr(printed("secret-token", NOW))
    assert "secret-token" not in repr(AccessTokens(lambda: asyncio.sleep(0, Issued("secret-token"))))


def test_an_end_that_is_no_json_is_none() -> None:
    assert expiry("a.b.c") is None


# --- from config.toml to a server ------------------------------------------------------------------------------------


def by_command(account: servers.Account, command: str) -> Account:
    return Account(
        kind=Kind.IMAP,
        host=account.host,
        imap_port=account.imaps_port,
        username=account.username,
        certificate=f"sha256:{account.certificate_sha256}",
        secret=f"command:{command}",
        auth=Auth.BEARER,
        sending=False,
    )


async def test_a_command_of_the_owner_gives_the_tokens_of_an_account(
    dovecot: servers.Account, dovecot_server: Dovecot
) -> None:
    """A-83: the command prints a token; it is run once for several logins."""
    token = dovecot_server.access_token(dovecot.username)
    counted = dovecot_server.folder / "mail" / f"{dovecot.username}.count"
    account = by_command(dovecot, f"/bin/sh -c 'echo x >>{counted}; echo {token}'")
    found = backend("me", account, Vault({"me": account.secret}, {}))
    try:
        assert (await found.health()).connected
        assert {box.path for box in await found.mailboxes()} >= {"INBOX", "Sent"}
    finally:
        await found.aclose()
    assert counted.read_text().count("x") == 1


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("/bin/sh -c 'echo please sign in'", "is none"),
        ("/bin/sh -c 'exit 3'", "ended with 3"),
        ("/bin/sh -c 'yes | head -c 300000'", "did not give"),
        ("/nonexistent/program", "cannot be run"),
    ],
)
async def test_a_command_that_gives_none_is_told_and_nothing_is_sent(
    dovecot: servers.Account, command: str, why: str
) -> None:
    account = by_command(dovecot, command)
    found = backend("me", account, Vault({"me": account.secret}, {}))
    try:
        health = await found.health()
    finally:
        await found.aclose()
    assert not health.connected
    assert health.code == "auth_failed"
    assert why in (health.why or "")
