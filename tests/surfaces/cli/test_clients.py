"""`clients` and `accounts`: letting agents in, taking things away, and what is told of both."""

from __future__ import annotations

import json
import tomllib
from typing import TYPE_CHECKING

import pytest

from mcp_proton.admin.programs import Process, Program, Remote, snippet, started

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


@pytest.mark.parametrize("program", Program)
def test_each_program_gets_its_own_form_and_what_it_filters_away(program: Program) -> None:
    text = snippet(
        program, started("hermes", {"MCP_PROTON_HOME": "/a b", "DBUS_SESSION_BUS_ADDRESS": "unix:path=/run/x"})
    )
    for word in ("mail", "mcp", "--client", "hermes", "MCP_PROTON_HOME", "/a b", "unix:path=/run/x"):
        assert word in text
    if program in (Program.CLAUDE_DESKTOP, Program.VSCODE, Program.OPENCODE, Program.OTHER):
        json.loads(text)
    if program is Program.CODEX:
        tomllib.loads(text)


@pytest.mark.parametrize("program", Program)
def test_each_program_is_told_how_to_reach_the_service(program: Program) -> None:
    token = "mcpp_abc_def"
    remote = snippet(program, Remote("http://127.0.0.1:8420/mcp", token))
    through = snippet(program, Process(("connect",), {"MCP_PROTON_URL": "unix:/run/a.sock", "MCP_PROTON_TOKEN": token}))
    for text, words in ((remote, ("127.0.0.1:8420/mcp", token)), (through, ("connect", "unix:/run/a.sock", token))):
        for word in words:
            assert word in text
        if program in (Program.CLAUDE_DESKTOP, Program.VSCODE, Program.OPENCODE, Program.OTHER):
            json.loads(text)
        if program is Program.CODEX:
            tomllib.loads(text)


def test_a_token_is_shown_once_with_what_to_do_with_it(owner: Owner) -> None:
    told = owner.json("clients", "add", "codex", "--token", "--days", "30")
    assert told["token"].startswith("mcpp_")
    assert told["token"] in told["configuration"]
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
