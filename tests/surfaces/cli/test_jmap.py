"""A JMAP account from set-up to a letter read, and what doctor says of it (P-94, P-98)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.servers.jmap.server import PASSWORD, USER
from tests.surfaces.cli.lab import Jmap

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.surfaces.cli.lab import Owner


@pytest.fixture
def jmap() -> Iterator[Jmap]:
    with Jmap() as running:
        yield running


def flags(owner: Owner, jmap: Jmap, *, password: str = PASSWORD) -> list[str]:
    file = owner.file("password", password + "\n")
    return [
        "post", "--url", jmap.server.url, "--username", USER, "--password-file", str(file),
        "--preset", "assistant", "--client", "hermes",
    ]  # fmt: skip


def test_a_jmap_account_is_connected_and_its_mail_is_read(owner: Owner, jmap: Jmap) -> None:
    told = owner.json("setup", *flags(owner, jmap))
    assert (told["kind"], told["url"], told["mailboxes"]) == ("jmap", jmap.server.url, 6)
    assert "host" not in told
    assert PASSWORD not in owner.folders.config_file.read_text()
    listed = owner.json("do", "messages_list")["messages"]
    assert {one["subject"] for one in listed} == {"letter 0", "letter 1", "letter 2"}
    read = owner.json("do", "messages_get", "--message", listed[0]["handle"])
    assert "Hello." in str(read)
    assert owner.json("accounts", "list")["accounts"][0]["url"] == jmap.server.url


def test_setting_it_up_again_keeps_what_the_owner_wrote(owner: Owner, jmap: Jmap) -> None:
    owner.json("setup", *flags(owner, jmap))
    written = owner.folders.config_file.read_text()
    owner.write_config(written.replace('kind = "jmap"', 'kind = "jmap"\nlabels = "Labels"'))
    assert owner.json("setup", "post")["status"] == "ok"
    assert 'labels = "Labels"' in owner.folders.config_file.read_text()


def test_a_wrong_password_writes_nothing(owner: Owner, jmap: Jmap) -> None:
    said = owner.run("setup", *flags(owner, jmap, password="another"))
    assert said.code != 0
    assert not owner.folders.config_file.exists()
    assert "another" not in said.all


@pytest.mark.parametrize("url", ["http://mail.example.org", "mail.example.org", "https://me@example.org"])
def test_a_url_that_would_give_the_password_away_is_refused(owner: Owner, url: str) -> None:
    said = owner.run("setup", "post", "--url", url, "--username", USER)
    assert said.code == 2
    assert "--url" in said.err
    assert url not in said.err


def test_the_url_is_asked_for(owner: Owner) -> None:
    said = owner.run("setup", "--kind", "jmap", "--preset", "reader")
    assert said.code == 2
    assert "--url URL" in said.err


def test_doctor_looks_at_a_jmap_account_step_by_step(owner: Owner, jmap: Jmap) -> None:
    owner.json("setup", *flags(owner, jmap))
    checks = {one["check"]: one for one in owner.json("doctor")["checks"]}
    assert {one["state"] for name, one in checks.items() if name.startswith("post:")} == {"ok"}
    assert jmap.server.url in checks["post: server"]["what"]
    (owner.folders.state / "secrets" / "post").write_text("another\n")
    checks = {one["check"]: one for one in owner.json("doctor", "post")["checks"]}
    assert checks["post: login"]["state"] == "fix"
    assert checks["post: server"]["state"] == "ok"


def test_doctor_says_when_nothing_answers(owner: Owner) -> None:
    with Jmap() as gone:
        owner.json("setup", *flags(owner, gone))
    checks = {one["check"]: one for one in owner.json("doctor", "post")["checks"]}
    assert checks["post: server"]["state"] == "fix"
    assert checks["post: login"]["state"] == "skip"


def test_an_account_of_callers_is_not_looked_at_without_one(owner: Owner, jmap: Jmap) -> None:
    """J-80: there is no password to look for, and nothing is wrong."""
    owner.json("setup", *flags(owner, jmap))
    text = owner.folders.config_file.read_text()
    secret = next(line for line in text.splitlines() if line.startswith("secret"))
    issuer = "https://id.example.org"
    owner.write_config(
        text.replace(secret, 'secret = "caller"').replace("[clients.hermes]", "[clients.hermes]\naccounts = []")
        + f'\n[clients.anna]\naccounts = ["post"]\nsubjects = ["a"]\n[oauth]\nissuer = "{issuer}"\njwks_url = "{issuer}/jwks"\n'
    )
    checks = {one["check"]: one for one in owner.json("doctor")["checks"]}
    assert checks["post: password"]["state"] == "skip"
    assert "stored" in checks["post: password"]["what"]
    told = owner.json("do", "messages_list", "--account", "post")
    assert (told["status"], told["code"]) == ("unavailable", "no_token_shown")
