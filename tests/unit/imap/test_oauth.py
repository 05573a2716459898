"""Renewing access tokens at a token endpoint: once, bounded, the rotated refresh token stored (RFC 6749 §6; A-83, A-95)."""

from __future__ import annotations

import base64
import json
import logging
from typing import TYPE_CHECKING

import pytest

from mcp_proton.bootstrap import backend
from mcp_proton.bootstrap.logins import client_of, places
from mcp_proton.config.renewal import Renewal
from mcp_proton.config.tables import Account
from mcp_proton.config.values import Kind
from mcp_proton.domain.errors import AuthFailed, Unavailable
from mcp_proton.imap.login.oauth import OCTETS, Client, Renewing
from mcp_proton.storage.vault import Vault
from mcp_proton.testing import MemoryVault
from tests.unit.imap.token_endpoint import Answer, token_endpoint

if TYPE_CHECKING:
    from pathlib import Path

    from tests.servers.account import Account as ServerAccount
    from tests.servers.dovecot import Dovecot

GOOD = b'{"access_token":"fresh","token_type":"Bearer","expires_in":3600}'


def renewing(client: Client, vault: MemoryVault) -> Renewing:
    return Renewing(client, lambda: vault.secret("me"), lambda another: vault.keep("me", another))


async def client_secret() -> str:
    return "s3cret&="


async def test_a_renewal_says_what_the_standard_says() -> None:
    async with token_endpoint([GOOD]) as server:
        client = Client(server.url, "id", client_secret, "mail imap")
        issued = await renewing(client, MemoryVault({"me": "refresh-1"}))()
    assert issued.token == "fresh"
    assert server.forms == [
        {
            "grant_type": "refresh_token",
            "refresh_token": "refresh-1",
            "client_id": "id",
            "client_secret": "s3cret&=",
            "scope": "mail imap",
        }
    ]


async def test_a_public_client_shows_no_secret() -> None:
    async with token_endpoint([GOOD]) as server:
        await renewing(Client(server.url, "id"), MemoryVault({"me": "refresh-1"}))()
    assert server.forms == [{"grant_type": "refresh_token", "refresh_token": "refresh-1", "client_id": "id"}]


async def test_a_client_secret_can_go_into_the_header() -> None:
    async with token_endpoint([GOOD]) as server:
        await renewing(Client(server.url, "id", client_secret, in_header=True), MemoryVault({"me": "r"}))()
    assert b"authorization: basic " + base64.b64encode(b"id:s3cret&=").lower() in server.heads[0].lower()
    assert "client_secret" not in server.forms[0]


async def test_another_refresh_token_is_stored_before_the_access_token_is_used() -> None:
    vault = MemoryVault({"me": "refresh-1"})
    rotated: list[Answer] = [b'{"access_token":"a","refresh_token":"refresh-2"}', GOOD]
    async with token_endpoint(rotated) as server:
        source = renewing(Client(server.url, "id"), vault)
        await source()
        assert await vault.secret("me") == "refresh-2"
        await source()
    assert [form["refresh_token"] for form in server.forms] == ["refresh-1", "refresh-2"]


async def test_a_refresh_token_that_cannot_be_stored_lives_as_long_as_the_process(
    caplog: pytest.LogCaptureFixture,
) -> None:
    vault = MemoryVault({"me": "refresh-1"})

    async def refused(_: str) -> None:
        raise AuthFailed("the keyring is locked")

    rotated: list[Answer] = [b'{"access_token":"a","refresh_token":"refresh-2"}', GOOD]
    with caplog.at_level(logging.DEBUG):
        async with token_endpoint(rotated) as server:
            source = Renewing(Client(server.url, "id"), lambda: vault.secret("me"), refused)
            await source()
            await source()
    assert [form["refresh_token"] for form in server.forms] == ["refresh-1", "refresh-2"]
    assert "could not be stored" in caplog.text
    assert "refresh-2" not in caplog.text


async def test_a_token_that_another_process_rotated_is_looked_up_again() -> None:
    vault = MemoryVault({"me": "refresh-1"})

    def judged(form: dict[str, str]) -> Answer:
        if form["refresh_token"] == "refresh-2":
            return GOOD
        vault._secrets["me"] = "refresh-2"  # the other process stored it just now
        return 400, b'{"error":"invalid_grant"}'

    async with token_endpoint(judged) as server:
        assert (await renewing(Client(server.url, "id"), vault)()).token == "fresh"
    assert len(server.forms) == 2


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ((400, b'{"error":"invalid_grant","error_description":"refresh-1 of bob"}'), "refresh token no more"),
        ((401, b'{"error":"invalid_client"}'), "does not know `client_id`"),
        ((400, b'{"error":"unauthorized_client"}'), "does not know `client_id`"),
        ((400, b'{"error":"invalid_scope"}'), "scope"),
        ((400, b'{"error":{"code":7}}'), "refused to renew"),
        ((403, b"{}"), "refused to renew"),
        (b'{"access_token":"two words"}', "is none"),
        (b"{}", "is none"),
    ],
)
async def test_a_refusal_is_told_plainly_and_without_the_servers_words(answer: Answer, why: str) -> None:
    async with token_endpoint([answer]) as server:
        with pytest.raises(AuthFailed, match=why) as refused:
            await renewing(Client(server.url, "id"), MemoryVault({"me": "refresh-1"}))()
    assert "refresh-1" not in f"{refused.value} {refused.value.next}"
    assert "bob" not in str(refused.value)


@pytest.mark.parametrize(
    "answer",
    [(500, b"{}"), (429, b"{}"), (302, b"{}"), b"no json", b"[]", b"[" * 10_000, (404, b"<html>"), b" " * (OCTETS + 1)],
)
async def test_what_is_no_answer_is_unavailable_and_no_reason_to_sign_in_again(answer: Answer) -> None:
    async with token_endpoint([answer]) as server:
        with pytest.raises(Unavailable) as useless:
            await renewing(Client(server.url, "id"), MemoryVault({"me": "refresh-1"}))()
    assert not isinstance(useless.value, AuthFailed)
    assert len(server.forms) == 1  # and a redirect was not followed


async def test_a_server_that_is_not_there_is_told_without_the_request() -> None:
    with pytest.raises(Unavailable) as useless:
        await renewing(Client("http://127.0.0.1:1/token", "id"), MemoryVault({"me": "refresh-1"}))()
    assert useless.value.__cause__ is None
    assert "refresh-1" not in str(useless.value)


async def test_an_account_of_config_toml_renews_its_tokens_and_keeps_the_rotated_one(
    dovecot: ServerAccount, dovecot_server: Dovecot, tmp_path: Path
) -> None:
    """From the file that holds the refresh token to a mailbox on a real server, and back into the file."""
    kept = tmp_path / "refresh"
    kept.write_text("refresh-1\n")
    kept.chmod(0o600)
    fresh = dovecot_server.access_token(dovecot.username)

    def judged(form: dict[str, str]) -> Answer:
        assert (form["refresh_token"], form["client_secret"]) == ("refresh-1", "of the client")
        return json.dumps({"access_token": fresh, "expires_in": 600, "refresh_token": "refresh-2"}).encode()

    async with token_endpoint(judged) as server:
        account = Account(
            kind=Kind.IMAP,
            host=dovecot.host,
            imap_port=dovecot.imaps_port,
            username=dovecot.username,
            certificate=f"sha256:{dovecot.certificate_sha256}",
            secret=f"file:{kept}",
            oauth=Renewal(token_url=server.url, client_id="id", client_secret="env:CLIENT"),
            sending=False,
        )
        vault = Vault(places({"me": account}), {"CLIENT": "of the client"})
        assert client_of("me") in places({"me": account})
        found = backend("me", account, vault)
        try:
            assert (await found.health()).connected
        finally:
            await found.aclose()
    assert kept.read_text() == "refresh-2\n"
    assert kept.stat().st_mode & 0o077 == 0
