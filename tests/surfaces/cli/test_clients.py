"""`clients` and `accounts`: letting agents in, taking things away, and what is told of both."""

from __future__ import annotations

import json
import tomllib
from typing import TYPE_CHECKING

import pytest

from mcp_proton.admin.programs import Program, snippet

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
    text = snippet(program, "hermes", {"MCP_PROTON_HOME": "/a b", "DBUS_SESSION_BUS_ADDRESS": "unix:path=/run/x"})
    for word in ("mail", "mcp", "--client", "hermes", "MCP_PROTON_HOME", "/a b", "unix:path=/run/x"):
        assert word in text
    if program in (Program.CLAUDE_DESKTOP, Program.VSCODE, Program.OPENCODE, Program.OTHER):
        json.loads(text)
    if program is Program.CODEX:
        tomllib.loads(text)
