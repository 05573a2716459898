"""What each program is told about us, read by its own format's parser; a token is in none of it."""

from __future__ import annotations

import json
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from mcp_proton.admin.programs import (
    TOKEN,
    Process,
    Program,
    Remote,
    connected,
    guess,
    guide,
    own_program,
    snippet,
    started,
)

PROCESS = started("hermes", {"MCP_PROTON_HOME": "/a b", "DBUS_SESSION_BUS_ADDRESS": "unix:path=/run/x", "SECRET": "s"})
PASSED = {"MCP_PROTON_HOME": "/a b", "DBUS_SESSION_BUS_ADDRESS": "unix:path=/run/x"}
ARGUMENTS = ["mcp", "--client", "hermes"]
URL = "https://mail.example.org/mcp"
FILE = Path("/home/a b/hermes.token")
REMOTE = Remote(URL, FILE)
SOCKET = connected("unix:/run/a.sock", FILE)
THROUGH = {"MCP_PROTON_URL": "unix:/run/a.sock", "MCP_PROTON_TOKEN_FILE": str(FILE)}
IN_A_FILE = (Program.CLAUDE_DESKTOP, Program.OTHER)
"""Programs that take no header with a token from elsewhere: they reach the service through our connector."""


def read(program: Program, way: Process | Remote) -> dict[str, Any]:
    """Read a snippet as its program would, and return the entry about us."""
    text = snippet(program, way)
    match program:
        case Program.HERMES:
            return yaml.safe_load(text)["mcp_servers"]["mail"]
        case Program.GOOSE:
            return yaml.safe_load(text)["extensions"]["mail"]
        case Program.CODEX:
            return tomllib.loads(text)["mcp_servers"]["mail"]
        case Program.CLAUDE_CODE:
            *words, told = shlex.split(text)
            assert words == ["claude", "mcp", "add-json", "--scope", "user", "mail"]
            return json.loads(told)
        case Program.OPENCODE:
            return json.loads(text)["mcp"]["mail"]
        case Program.VSCODE:
            return json.loads(text)["servers"]["mail"]
    return json.loads(text)["mcpServers"]["mail"]


@pytest.mark.parametrize(("way", "arguments", "passed"), [(PROCESS, ARGUMENTS, PASSED), (SOCKET, ["connect"], THROUGH)])
@pytest.mark.parametrize("program", Program)
def test_a_program_that_starts_us_gets_the_command_in_full(
    program: Program, way: Process, arguments: list[str], passed: dict[str, str]
) -> None:
    """N-15: with what programs filter out of the environment, and nothing else of it."""
    told = read(program, way)
    if program is Program.OPENCODE:
        assert (told["type"], told["command"]) == ("local", [own_program(), *arguments])
        assert told["environment"] == passed
    elif program is Program.GOOSE:
        assert (told["type"], told["cmd"], told["args"]) == ("stdio", own_program(), arguments)
        assert told["envs"] == passed
    else:
        assert (told["command"], told["args"]) == (own_program(), arguments)
        assert told["env"] == passed


@pytest.mark.parametrize("program", Program)
def test_a_program_that_needs_no_environment_is_told_of_none(program: Program) -> None:
    told = read(program, started("hermes", {}))
    assert not told.get("env", told.get("environment", told.get("envs")))


@pytest.mark.parametrize("program", [one for one in Program if one not in IN_A_FILE])
def test_a_program_that_speaks_http_is_told_where_and_how_the_token_gets_there(program: Program) -> None:
    told = read(program, REMOTE)
    assert told.get("url", told.get("uri")) == URL
    bearer = (told.get("headers") or {}).get("Authorization")
    match program:
        case Program.CODEX:
            assert told["bearer_token_env_var"] == TOKEN
        case Program.OPENCODE:
            assert bearer == f"Bearer {{file:{FILE}}}"
        case Program.VSCODE:
            (asked,) = json.loads(snippet(program, REMOTE))["inputs"]
            assert asked["password"] is True
            assert bearer == f"Bearer ${{input:{asked['id']}}}"
        case Program.CURSOR:
            assert bearer == f"Bearer ${{env:{TOKEN}}}"
        case Program.GOOSE:
            assert told["env_keys"] == [TOKEN]
            assert bearer == f"Bearer ${{{TOKEN}}}"
        case _:
            assert bearer == f"Bearer ${{{TOKEN}}}"
    assert guide(program, REMOTE).token


@pytest.mark.parametrize("program", IN_A_FILE)
def test_a_program_that_cannot_keep_a_header_secret_goes_through_the_connector(program: Program) -> None:
    told = read(program, REMOTE)
    assert told["args"] == ["connect"]
    assert told["env"] == {"MCP_PROTON_URL": URL, "MCP_PROTON_TOKEN_FILE": str(FILE)}


@pytest.mark.parametrize("program", Program)
def test_each_program_has_a_place_and_a_trial(program: Program) -> None:
    for way in (PROCESS, SOCKET, REMOTE):
        told = guide(program, way)
        assert told.place
        assert told.trial
        assert bool(told.token) is (way is not PROCESS)


def test_a_label_says_which_program_it_is() -> None:
    assert guess("claude-code-work") is Program.CLAUDE_CODE
    assert guess("goose") is Program.GOOSE
    assert guess("goosebumps") is None
