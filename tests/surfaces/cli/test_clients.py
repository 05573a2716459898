"""`clients` and `accounts`: letting agents in, taking things away, and what is told of both."""

from __future__ import annotations

import stat
import tomllib
from typing import TYPE_CHECKING

import pytest
import yaml

if TYPE_CHECKING:
    from tests.surfaces.cli.lab import Bridge, Owner


@pytest.fixture(autouse=True)
def _connected(owner: Owner, bridge: Bridge) -> None:
    owner.connect(bridge)


def test_a_client_is_let_in_under_a_label(owner: Owner) -> None:
    told = owner.json("clients", "add", "codex", "--profile", "reader", "--account", "personal")
    assert told["program"] == "codex"
    assert tomllib.loads(told["configuration"])["mcp_servers"]["mail"]["args"] == ["mcp", "--client", "codex"]
    rows = {one["client"]: one for one in owner.json("clients", "list")["clients"]}
    assert rows["codex"] == {"client": "codex", "profile": "reader", "accounts": ["personal"]}


def test_adding_a_client_again_never_widens_what_it_may_use(owner: Owner) -> None:
    owner.run("clients", "add", "coder", "--account", "personal", "--profile", "reader")
    owner.run("clients", "add", "coder")
    rows = {one["client"]: one for one in owner.json("clients", "list")["clients"]}
    assert rows["coder"] == {"client": "coder", "profile": "reader", "accounts": ["personal"]}


@pytest.mark.parametrize("label", ["owner", "Two Words", "x" * 30])
def test_a_label_nobody_can_have_is_refused(owner: Owner, label: str) -> None:
    before = owner.folders.config_file.read_text()
    assert owner.run("clients", "add", label).code == 2
    assert owner.folders.config_file.read_text() == before


def test_an_account_a_client_is_given_has_to_be_there(owner: Owner) -> None:
    said = owner.run("clients", "add", "coder", "--account", "persnal")
    assert said.code == 2
    assert "did you mean `personal`?" in said.err


def test_a_client_that_is_removed_is_nobody(owner: Owner) -> None:
    assert owner.run("clients", "remove", "hermes").code == 2, "without a terminal it needs --yes"
    assert owner.json("clients", "remove", "hermes", "--yes")["removed"] == "hermes"
    assert owner.json("clients", "list").get("clients", []) == []
    said = owner.run("clients", "config", "hermes")
    assert said.code == 4
    assert "there is no client `hermes`" in said.err


def test_removing_an_account_forgets_its_password(owner: Owner) -> None:
    secret = owner.folders.state / "secrets" / "personal"
    assert secret.exists()
    assert owner.json("accounts", "remove", "personal", "--yes")["removed"] == "personal"
    assert not secret.exists()
    assert owner.run("accounts", "remove", "personal", "--yes").code == 4


def test_accounts_are_listed_without_names_of_people(owner: Owner, bridge: Bridge) -> None:
    rows = owner.json("accounts", "list")["accounts"]
    assert rows[0]["account"] == "personal"
    assert bridge.username not in str(rows)


def test_what_the_server_can_do_is_asked_before_it_is_told(owner: Owner) -> None:
    """P-09."""
    assert owner.json("accounts", "capabilities")["features"]["search"] == "available"


def test_a_token_is_shown_once_with_what_to_do_with_it(owner: Owner) -> None:
    told = owner.json("clients", "add", "codex", "--token", "--days", "30")
    assert told["token"].startswith("mcpp_")
    assert told["token"] not in told["configuration"] + told["token_goes"]
    assert told["token"] not in owner.run("clients", "list").all + owner.run("clients", "config", "codex").all
    rows = {one["client"]: one for one in owner.json("clients", "list")["clients"]}
    assert rows["codex"]["token"] == told["token"].rpartition("_")[0]
    assert "token" not in rows["hermes"]
    owner.run("clients", "revoke", "codex")
    rows = {one["client"]: one for one in owner.json("clients", "list")["clients"]}
    assert rows["codex"]["now"] == "revoked"
    assert "token" not in rows["codex"]


def test_no_token_is_made_for_a_client_that_is_not_let_in(owner: Owner) -> None:
    said = owner.run("clients", "rotate", "hermse")
    assert said.code == 4
    assert "did you mean `hermes`?" in said.err
    assert owner.run("clients", "rotate", "hermes", "--days", "0").code == 2


def test_a_token_that_goes_into_a_file_is_shown_nowhere(owner: Owner) -> None:
    file = owner.home.parent / "agent" / "codex.token"
    said = owner.run("clients", "add", "codex", "--token-file", file)
    token = file.read_text().strip()
    assert token.startswith("mcpp_")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert token not in said.all
    assert token not in owner.run("clients", "rotate", "codex", "--token-file", file).all
    assert token != file.read_text().strip()


def test_a_client_with_a_token_is_told_the_way_to_the_service(owner: Owner) -> None:
    """The other way is a word away."""
    assert "--client" in owner.run("clients", "config", "hermes").out
    owner.json("clients", "rotate", "hermes")
    assert "http://127.0.0.1:8420/mcp" in owner.run("clients", "config", "hermes").out
    assert "--client" in owner.run("clients", "config", "hermes", "--way", "stdio").out


def test_what_to_do_with_a_configuration_is_said_beside_it(owner: Owner) -> None:
    """N-15: where it goes and how it is tried; standard output holds nothing but the configuration."""
    said = owner.run("clients", "config", "hermes", "--way", "http")
    assert yaml.safe_load(said.out)["mcp_servers"]["mail"]["headers"] == {"Authorization": "Bearer ${MCP_PROTON_TOKEN}"}
    for words in (
        "~/.hermes/config.yaml",
        "~/.hermes/.env",
        "hermes mcp test mail",
        "mcp-proton doctor --client hermes",
    ):
        assert words in said.err


def test_the_service_is_reached_where_it_listens(owner: Owner) -> None:
    text = owner.folders.config_file.read_text()
    for listen, way, found in (
        ("127.0.0.1:8420", "http", '"http://127.0.0.1:8420/mcp"'),
        ("127.0.0.1:8420", "connect", '"MCP_PROTON_URL": "http://127.0.0.1:8420/mcp"'),
        ("unix:/run/mcp.sock", "http", '"MCP_PROTON_URL": "unix:/run/mcp.sock"'),
    ):
        owner.write_config(f'{text}\n[service]\nlisten = "{listen}"\n')
        assert found in owner.run("clients", "config", "hermes", "--way", way, "--program", "other").out
    owner.write_config(f'{text}\n[service]\nlisten = "0.0.0.0:8420"\npublic_url = "https://mail.example.org"\n')
    assert "https://mail.example.org/mcp" in owner.run("clients", "config", "hermes", "--way", "http").out
