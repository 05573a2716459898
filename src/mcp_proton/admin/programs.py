"""The programs agents live in, and what each of them wants to read about us."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_SERVER = "mail"
_PASSED = ("MCP_PROTON_HOME", "DBUS_SESSION_BUS_ADDRESS")
"""Programs start us with next to no environment, and the keyring of a Linux desktop is found by the second."""


class Program(StrEnum):
    """Programs we know the configuration of."""

    HERMES = "hermes"
    CLAUDE_CODE = "claude-code"
    CLAUDE_DESKTOP = "claude-desktop"
    CODEX = "codex"
    OPENCODE = "opencode"
    VSCODE = "vscode"
    OTHER = "other"

    @property
    def place(self) -> str:
        """Where what we print belongs."""
        return _PLACES[self]


_PLACES = {
    Program.HERMES: "put this into ~/.hermes/config.yaml",
    Program.CLAUDE_CODE: "run this once",
    Program.CLAUDE_DESKTOP: "put this into claude_desktop_config.json (Settings > Developer > Edit Config)",
    Program.CODEX: "put this into ~/.codex/config.toml",
    Program.OPENCODE: "put this into opencode.json",
    Program.VSCODE: "put this into .vscode/mcp.json",
    Program.OTHER: "put this where your program lists its MCP servers",
}


def guess(label: str) -> Program | None:
    """Return the program a label is named after."""
    return next((one for one in Program if label == one.value or label.startswith(f"{one.value}-")), None)


@dataclass(frozen=True)
class Process:
    """A program of ours that an agent's program starts, and the environment it passes on."""

    arguments: tuple[str, ...]
    environment: Mapping[str, str]


@dataclass(frozen=True)
class Remote:
    """The always-on service, as a program reaches it."""

    url: str
    token: str

    @property
    def headers(self) -> dict[str, str]:
        """What each request has to say."""
        return {"Authorization": f"Bearer {self.token}"}


def started(client: str, environment: Mapping[str, str] | None = None) -> Process:
    """Return how a program starts a service of its own."""
    given = os.environ if environment is None else environment
    return Process(("mcp", "--client", client), {key: given[key] for key in _PASSED if given.get(key)})


def connected(url: str, token: str) -> Process:
    """Return how a program that only speaks standard input and output reaches the always-on service."""
    return Process(("connect",), {"MCP_PROTON_URL": url, "MCP_PROTON_TOKEN": token})


def snippet(program: Program, way: Process | Remote) -> str:
    """Return what to put into a program's configuration, as that program writes it."""
    return _process(program, way) if isinstance(way, Process) else _remote(program, way)


def _process(program: Program, way: Process) -> str:
    command, arguments, passed = own_program(), list(way.arguments), dict(way.environment)
    match program:
        case Program.HERMES:
            env = [f"    env: {json.dumps(passed)}"] if passed else []
            return _hermes(f"    command: {json.dumps(command)}", f"    args: {json.dumps(arguments)}", *env)
        case Program.CODEX:
            env = [f"env = {_inline(passed)}"] if passed else []
            return _codex(f"command = {json.dumps(command)}", f"args = {json.dumps(arguments)}", *env)
        case Program.CLAUDE_CODE:
            given = [word for key, value in passed.items() for word in ("--env", f"{key}={value}")]
            return shlex.join(["claude", "mcp", "add", _SERVER, *given, "--", command, *arguments])
        case Program.OPENCODE:
            local = {"type": "local", "command": [command, *arguments], "timeout": 20_000}
            return _json("mcp", {**local, **({"environment": passed} if passed else {})})
    entry = {"command": command, "args": arguments, **({"env": passed} if passed else {})}
    return _json("servers" if program is Program.VSCODE else "mcpServers", entry)


def _remote(program: Program, way: Remote) -> str:
    match program:
        case Program.HERMES:
            return _hermes(f"    url: {json.dumps(way.url)}", f"    headers: {json.dumps(way.headers)}")
        case Program.CODEX:
            return _codex(f"url = {json.dumps(way.url)}", f"http_headers = {_inline(way.headers)}")
        case Program.CLAUDE_CODE:
            header = f"Authorization: {way.headers['Authorization']}"
            return shlex.join(["claude", "mcp", "add", "--transport", "http", _SERVER, way.url, "--header", header])
        case Program.OPENCODE:
            return _json("mcp", {"type": "remote", "url": way.url, "headers": way.headers, "oauth": False})
        case Program.VSCODE:
            return _json("servers", {"type": "http", "url": way.url, "headers": way.headers})
        case Program.CLAUDE_DESKTOP:  # takes a header from nobody: it reaches a service through our connector
            return _process(program, connected(way.url, way.token))
    return _json("mcpServers", {"url": way.url, "headers": way.headers})


def own_program() -> str:
    """Return our own program by its full path: programs do not search where a shell would."""
    beside = Path(sys.executable).with_name("mcp-proton")
    return str(beside) if beside.exists() else shutil.which("mcp-proton") or "mcp-proton"


def _hermes(*lines: str) -> str:
    return "\n".join(["mcp_discovery_timeout: 15", "mcp_servers:", f"  {_SERVER}:", *lines, "    timeout: 600"])


def _codex(*lines: str) -> str:
    return "\n".join([f"[mcp_servers.{_SERVER}]", *lines])


def _inline(values: Mapping[str, str]) -> str:
    pairs = ", ".join(f"{key} = {json.dumps(value)}" for key, value in values.items())
    return f"{{ {pairs} }}"


def _json(table: str, entry: Mapping[str, object]) -> str:
    return json.dumps({table: {_SERVER: entry}}, indent=2)
