"""The programs agents live in, and what each of them wants to read about us."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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


def snippet(program: Program, client: str, environment: Mapping[str, str] | None = None) -> str:
    """Return the program's configuration for a stdio server of ours, as that program writes it."""
    command, arguments = own_program(), ["mcp", "--client", client]
    given = os.environ if environment is None else environment
    passed = {key: given[key] for key in _PASSED if given.get(key)}
    match program:
        case Program.HERMES:
            return _hermes(command, arguments, passed)
        case Program.CODEX:
            return _codex(command, arguments, passed)
        case Program.CLAUDE_CODE:
            return _claude_code(command, arguments, passed)
        case Program.OPENCODE:
            local = {"type": "local", "command": [command, *arguments], "timeout": 20_000}
            return _json("mcp", {**local, **({"environment": passed} if passed else {})})
    entry = {"command": command, "args": arguments, **({"env": passed} if passed else {})}
    return _json("servers" if program is Program.VSCODE else "mcpServers", entry)


def own_program() -> str:
    """Return our own program by its full path: programs do not search where a shell would."""
    beside = Path(sys.executable).with_name("mcp-proton")
    return str(beside) if beside.exists() else shutil.which("mcp-proton") or "mcp-proton"


def _hermes(command: str, arguments: Sequence[str], environment: Mapping[str, str]) -> str:
    lines = [
        "mcp_discovery_timeout: 15",
        "mcp_servers:",
        f"  {_SERVER}:",
        f"    command: {json.dumps(command)}",
        f"    args: {json.dumps(arguments)}",
        *([f"    env: {json.dumps(environment)}"] if environment else []),
        "    timeout: 600",
    ]
    return "\n".join(lines)


def _codex(command: str, arguments: Sequence[str], environment: Mapping[str, str]) -> str:
    pairs = ", ".join(f"{key} = {json.dumps(value)}" for key, value in environment.items())
    lines = [
        f"[mcp_servers.{_SERVER}]",
        f"command = {json.dumps(command)}",
        f"args = {json.dumps(arguments)}",
        *([f"env = {{ {pairs} }}"] if pairs else []),
    ]
    return "\n".join(lines)


def _claude_code(command: str, arguments: Sequence[str], environment: Mapping[str, str]) -> str:
    given = [word for key, value in environment.items() for word in ("--env", f"{key}={value}")]
    return shlex.join(["claude", "mcp", "add", _SERVER, *given, "--", command, *arguments])


def _json(table: str, entry: Mapping[str, object]) -> str:
    return json.dumps({table: {_SERVER: entry}}, indent=2)
