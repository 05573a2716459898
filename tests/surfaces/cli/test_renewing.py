"""An account whose access tokens are renewed is set up by flags alone, on a real server (A-83, A-95)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.surfaces.cli.lab import Elsewhere
from tests.surfaces.cli.test_any_imap import LETTER, flags
from tests.unit.imap.token_endpoint import TokenEndpoint, token_endpoint

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.servers.account import Account
    from tests.servers.dovecot import Dovecot
    from tests.surfaces.cli.lab import Owner


class Provider(Elsewhere):
    """Renews tokens for one mailbox, and hands out another refresh token each time."""

    def __init__(self, server: Dovecot, mailbox: Account) -> None:
        super().__init__()
        self._server, self._mailbox = server, mailbox
        self.endpoint: TokenEndpoint
        self.valid = "refresh-token-1"

    async def start(self) -> None:
        self.endpoint = await self._stack.enter_async_context(token_endpoint(self._answer))

    def _answer(self, form: dict[str, str]) -> tuple[int, bytes]:
        if form.get("refresh_token") != self.valid or form.get("client_secret") != "of-the-client":
            return 400, b'{"error":"invalid_grant"}'
        self.valid = f"refresh-token-{len(self.endpoint.forms) + 1}"
        told = {"access_token": self._server.access_token(self._mailbox.username), "refresh_token": self.valid}
        return 200, json.dumps({**told, "expires_in": 3600}).encode()


@pytest.fixture
def provider(dovecot: Account, dovecot_server: Dovecot) -> Iterator[Provider]:
    with Provider(dovecot_server, dovecot) as running:
        yield running


@pytest.fixture
def words(owner: Owner, dovecot: Account, provider: Provider, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The command line that sets the account up."""
    monkeypatch.setenv("SECRET_OF_CLIENT", "of-the-client")
    first = owner.file("first", f"{provider.valid}\n")
    oauth = {
        "oauth-client-id": "mail-client",
        "oauth-token-url": provider.endpoint.url,
        "oauth-client-secret": "env:SECRET_OF_CLIENT",
        "password-file": str(first),
        "secret": f"file:{kept(owner)}",
    }
    return ["setup", "work", *flags(dovecot, **oauth)]


def kept(owner: Owner) -> Path:
    return owner.folders.state / "secrets" / "work"


def test_flags_are_all_it_takes(owner: Owner, dovecot: Account, provider: Provider, words: list[str]) -> None:
    """The next refresh token is kept, where only the owner can read it; no token and no secret is in config.toml or shown."""
    dovecot.load([LETTER])
    told = owner.json(*words)
    assert (told["kind"], told["secret"], told["token_url"]) == ("imap", "file", provider.endpoint.url)
    assert provider.endpoint.forms[0]["client_id"] == "mail-client"
    assert "scope" not in provider.endpoint.forms[0]
    assert kept(owner).read_text().strip() == provider.valid != "refresh-token-1"
    assert kept(owner).stat().st_mode & 0o777 == 0o600
    assert [one["subject"] for one in owner.json("do", "messages_list")["messages"]] == ["hello"]
    assert kept(owner).read_text().strip() == provider.valid
    written = owner.folders.config_file.read_text()
    assert "[accounts.work.oauth]\n" in written
    assert 'client_secret = "env:SECRET_OF_CLIENT"' in written
    for hidden in ("refresh-token", "of-the-client"):
        assert hidden not in written
        assert hidden not in str(told)
    assert owner.run("config", "check").code == 0


def test_one_flag_changes_one_key_and_a_password_ends_it(
    owner: Owner, dovecot: Account, provider: Provider, words: list[str]
) -> None:
    owner.json(*words)
    text = owner.folders.config_file.read_text()
    owner.write_config(text.replace('client_id = "mail-client"', 'client_id = "mail-client"  # as registered'))
    owner.json("setup", "work", "--oauth-scope", "mail")
    written = owner.folders.config_file.read_text()
    assert 'scope = "mail"' in written
    assert "# as registered" in written
    assert provider.endpoint.forms[-1]["scope"] == "mail"
    password = owner.file("password", dovecot.password)
    told = owner.json("setup", "work", "--auth", "basic", "--password-file", str(password))
    assert "token_url" not in told
    assert "oauth" not in owner.folders.config_file.read_text()
    assert owner.json("accounts", "health", "work")["accounts"][0]["connected"] is True


def test_a_refresh_token_that_is_not_good_writes_nothing(owner: Owner, provider: Provider, words: list[str]) -> None:
    provider.valid = "another"
    said = owner.run(*words)
    assert said.code != 0
    assert "takes the refresh token no more" in said.err
    assert "refresh-token-1" not in said.all
    assert not owner.folders.config_file.exists()
    assert not kept(owner).exists()


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (["--oauth-client-id", "x"], "--kind imap"),
        (["--url", "https://jmap.example.org", "--oauth-client-id", "x"], "--kind imap"),
        (["--kind", "imap", "--host", "h", "--oauth-client-id", "x"], "--oauth-token-url"),
        (["--provider", "icloud", "--oauth-client-id", "x"], "--oauth-token-url"),
        (["--provider", "gmail", "--oauth-scope", "x"], "--oauth-client-id"),
        (["--provider", "gmail", "--oauth-client-id", ""], "--oauth-client-id"),
        (["--provider", "gmail", "--oauth-client-id", "x", "--oauth-token-url", "http://a.example/t"], "https address"),
        (["--provider", "gmail", "--oauth-client-id", "x", "--oauth-client-secret", "hunter2"], "never the password itself"),
        (["--provider", "gmail", "--oauth-client-id", "x", "--auth", "basic"], "leave out one of them"),
        (["--provider", "gmail", "--oauth-client-id", "x", "--secret", "env:ONE"], "keyring or file"),
        (["--provider", "microsoft"], "--oauth-client-id ID"),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_told_before_anything_is_asked(owner: Owner, more: list[str], why: str) -> None:
    file = owner.file("token", "t\n")
    words = ["--username", "me@example.org", "--password-file", str(file), "--preset", "reader"]
    said = owner.run("setup", "work", *words, *more)
    assert said.code == 2, said.all
    assert why in " ".join(said.err.split())
    assert "hunter2" not in said.all
    assert not owner.home.exists()


def test_the_help_says_where_a_refresh_token_comes_from(owner: Owner) -> None:
    told = " ".join(owner.run("setup", "--help").out.split())
    assert "It gives you a refresh token; hand that over as the password" in told
    assert "--oauth-client-id" in told
