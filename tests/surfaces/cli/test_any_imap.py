"""An account on any IMAP server from set-up to a letter read, by password and by access token (A-83, A-84)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.servers.account import Account
    from tests.servers.dovecot import Dovecot
    from tests.surfaces.cli.lab import Owner

LETTER = b"Subject: hello\r\nFrom: a@example.org\r\nTo: me@example.org\r\n\r\nHello.\r\n"


def flags(account: Account, **others: str) -> list[str]:
    given = {
        "kind": "imap",
        "host": account.host,
        "port": str(account.imaps_port),
        "username": account.username,
        "trust": f"sha256:{account.certificate_sha256}",
        "preset": "assistant",
        **others,
    }
    return [word for name, value in given.items() for word in (f"--{name}", value)]


@pytest.mark.parametrize("security", ["tls", "starttls"])
def test_an_address_of_this_machine_is_connected_either_way(owner: Owner, dovecot: Account, security: str) -> None:
    """A-84: no provider is too near: an IP address, STARTTLS and a certificate of its own are fine."""
    dovecot.load([LETTER])
    port = dovecot.imaps_port if security == "tls" else dovecot.imap_port
    file = owner.file("password", dovecot.password)
    told = owner.json("setup", *flags(dovecot, port=str(port), security=security, **{"password-file": str(file)}))
    assert told["kind"] == "imap"
    assert [one["subject"] for one in owner.json("do", "messages_list")["messages"]] == ["hello"]


def test_a_command_that_prints_tokens_is_all_it_takes(owner: Owner, dovecot: Account, dovecot_server: Dovecot) -> None:
    dovecot.load([LETTER])
    token = dovecot_server.access_token(dovecot.username)
    prints = owner.file("token", token)
    told = owner.json("setup", "work", *flags(dovecot, auth="bearer", secret=f"command:/bin/cat {prints}"))
    assert told["secret"] == "command"
    written = owner.folders.config_file.read_text()
    assert 'auth = "bearer"' in written
    assert token not in written
    assert [one["subject"] for one in owner.json("do", "messages_list")["messages"]] == ["hello"]
    prints.write_text(dovecot_server.access_token(dovecot.username, seconds=-60))
    checks = {one["check"]: one for one in owner.json("doctor", "work")["checks"]}
    assert checks["work: login"]["state"] == "fix"
    assert "access token" in checks["work: login"]["what"]


def test_what_the_owner_wrote_of_renewing_stays_when_the_account_is_mended(
    owner: Owner, dovecot: Account, dovecot_server: Dovecot
) -> None:
    token = dovecot_server.access_token(dovecot.username)
    prints = owner.file("token", token)
    owner.json("setup", "work", *flags(dovecot, auth="bearer", secret=f"command:/bin/cat {prints}"))
    written = owner.folders.config_file.read_text().replace('auth = "bearer"\n', "")
    table = '[accounts.work.oauth]\ntoken_url = "http://127.0.0.1:1/token"\nclient_id = "me"\n'
    secret = owner.file("refresh", "refresh-token")
    written = written.replace(f'secret = "command:/bin/cat {prints}"', f'secret = "file:{secret}"')
    owner.write_config(f"{written}\n{table}")
    said = owner.run("setup", "work")
    assert said.code != 0  # nobody renews tokens there
    assert "authorization server" in said.err
    assert "refresh-token" not in said.all
    assert table in owner.folders.config_file.read_text()


def test_a_provider_that_takes_no_passwords_says_so_before_it_asks_for_one(owner: Owner) -> None:
    """A-83."""
    said = owner.run("setup", "work", "--provider", "microsoft", "--username", "me@outlook.com", "--preset", "reader")
    assert said.code == 2
    assert "takes no passwords" in said.err
    assert "--auth bearer" in said.err


def test_a_provider_says_which_password_it_wants(owner: Owner, dovecot: Account) -> None:
    """A-83: and what the owner wrote of the account stays when it is mended."""
    file = owner.file("password", dovecot.password)
    owner.write_config(
        f'[accounts.mine]\nprovider = "yahoo"\nhost = "{dovecot.host}"\nimap_port = {dovecot.imaps_port}\n'
        f'username = "{dovecot.username}"\nsecret = "file:{file}"\nsending = false\n'
        f'certificate = "sha256:{dovecot.certificate_sha256}"\n'
    )
    said = owner.run(
        "setup", "mine", "--provider", "yahoo", "--host", dovecot.host, "--port", str(dovecot.imaps_port), "--preset", "reader"
    )  # fmt: skip
    assert said.code == 0, said.err
    assert "app password" in said.err
    written = owner.folders.config_file.read_text()
    assert 'provider = "yahoo"' in written
    assert "sending = false" in written
    assert owner.json("do", "capabilities_report")["features"]["preset_yahoo"] == "unverified"
