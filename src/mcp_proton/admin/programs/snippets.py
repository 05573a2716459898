"""Snippets: what to put into a program's configuration, as that program writes it.

A token is never part of one: a program reads it from its environment, from a file, from its keyring, or asks for it.
"""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

import tomlkit
import yaml

from mcp_proton.admin.programs.program import Program
from mcp_proton.admin.programs.ways import TOKEN, Process, Remote, connected, own_program

if TYPE_CHECKING:
    from collections.abc import Callable

SERVER = "mail"
"""What programs call us: the first word of each tool's name in front of their models."""
_CALL = 600
"""Seconds programs shall wait for a call; a question to the owner is part of it."""
Entry = dict[str, Any]


def snippet(program: Program, way: Process | Remote) -> str:
    """Return what to put into a program's configuration."""
    return _FORMS[program](way)


def _entry(way: Process | Remote, token: str) -> Entry:
    """Return what most programs read. `token` is how they say that it stands elsewhere."""
    if isinstance(way, Remote):
        return {"url": way.url, "headers": {"Authorization": f"Bearer {token}"}}
    passed = {"env": dict(way.environment)} if way.environment else {}
    return {"command": own_program(), "args": list(way.arguments), **passed}


def _hermes(way: Process | Remote) -> str:
    entry = _entry(way, f"${{{TOKEN}}}") | {"timeout": _CALL}
    return _yaml({"mcp_discovery_timeout": 15, "mcp_servers": {SERVER: entry}})


def _claude_code(way: Process | Remote) -> str:
    told = {"type": "http" if isinstance(way, Remote) else "stdio", **_entry(way, f"${{{TOKEN}}}")}
    return shlex.join(["claude", "mcp", "add-json", "--scope", "user", SERVER, json.dumps(told)])


def _claude_desktop(way: Process | Remote) -> str:
    # It takes a header from nobody: it reaches a service through our connector.
    process = connected(way.url, way.token_file) if isinstance(way, Remote) else way
    return _json("mcpServers", _entry(process, ""))


def _codex(way: Process | Remote) -> str:
    # `required`: it waits for the tools before the first turn.
    usual = {"required": True, "startup_timeout_sec": 30, "tool_timeout_sec": _CALL}
    if isinstance(way, Remote):
        told: Entry = {"url": way.url, "bearer_token_env_var": TOKEN, **usual}
    else:
        told = {"command": own_program(), "args": list(way.arguments), **usual, "env": dict(way.environment)}
    return tomlkit.dumps({"mcp_servers": {SERVER: {name: value for name, value in told.items() if value != {}}}})


def _opencode(way: Process | Remote) -> str:
    if isinstance(way, Remote):
        told = {"type": "remote", **_entry(way, f"{{file:{way.token_file}}}"), "oauth": False}
    else:
        passed = {"environment": dict(way.environment)} if way.environment else {}
        told = {"type": "local", "command": [own_program(), *way.arguments], **passed}
    return _json("mcp", {**told, "timeout": _CALL * 1_000})


def _vscode(way: Process | Remote) -> str:
    asked = {"type": "promptString", "id": "mail-token", "description": "The mail client's token", "password": True}
    if isinstance(way, Remote):
        return _json("servers", {"type": "http", **_entry(way, "${input:mail-token}")}, {"inputs": [asked]})
    return _json("servers", {"type": "stdio", **_entry(way, "")})


def _cursor(way: Process | Remote) -> str:
    return _json("mcpServers", _entry(way, f"${{env:{TOKEN}}}"))


def _goose(way: Process | Remote) -> str:
    told: Entry = {"name": SERVER, "enabled": True, "timeout": _CALL}
    if isinstance(way, Remote):
        header = {"Authorization": f"Bearer ${{{TOKEN}}}"}
        told |= {"type": "streamable_http", "uri": way.url, "headers": header, "env_keys": [TOKEN]}
    else:
        arguments, passed = list(way.arguments), dict(way.environment)
        told |= {"type": "stdio", "cmd": own_program(), "args": arguments, "envs": passed}
    return _yaml({"extensions": {SERVER: told}})


def _other(way: Process | Remote) -> str:
    # What an unknown program does with a header that names a variable is unknown too: a file works everywhere.
    return _claude_desktop(way)


_FORMS: dict[Program, Callable[[Process | Remote], str]] = {
    Program.HERMES: _hermes,
    Program.CLAUDE_CODE: _claude_code,
    Program.CLAUDE_DESKTOP: _claude_desktop,
    Program.CODEX: _codex,
    Program.OPENCODE: _opencode,
    Program.VSCODE: _vscode,
    Program.CURSOR: _cursor,
    Program.GOOSE: _goose,
    Program.OTHER: _other,
}


def _json(table: str, entry: Entry, before: Entry | None = None) -> str:
    return json.dumps({**(before or {}), table: {SERVER: entry}}, indent=2)


def _yaml(told: Entry) -> str:
    return yaml.safe_dump(told, sort_keys=False, allow_unicode=True, width=1_000).rstrip()
