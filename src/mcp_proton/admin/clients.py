"""`mcp-proton clients`: the agents the owner lets in, each under a label, and how to tell each of them about us."""

from __future__ import annotations

import json as jsonlib
import os
import shutil
import sys
from enum import StrEnum
from pathlib import Path

from cyclopts import App

from mcp_proton import bootstrap
from mcp_proton.config import editing
from mcp_proton.config.tables import Profile

from .asking import confirm
from .exits import Exit
from .printing import AsJson, Printer

app = App(name="clients", help="See, add and remove the agents you let in.")


class Program(StrEnum):
    """Programs we know the configuration of."""

    HERMES = "hermes"
    CLAUDE_CODE = "claude-code"
    CLAUDE_DESKTOP = "claude-desktop"
    CODEX = "codex"
    OPENCODE = "opencode"
    VSCODE = "vscode"


@app.command(name="list")
def list_clients(*, json: AsJson = False) -> Exit:
    """List the clients in config.toml."""
    config = bootstrap.settings(os.environ).config
    rows = [
        {"client": name, "profile": one.profile.value, "accounts": one.accounts or ["all"]}
        for name, one in config.clients.items()
    ]
    return Printer(as_json=json).answer({"status": "ok", "clients": rows})


@app.command
def add(
    name: str,
    /,
    *,
    profile: Profile = Profile.CORE,
    account: list[str] | None = None,
    program: Program = Program.HERMES,
    json: AsJson = False,
) -> Exit:
    """Let an agent in under a label, and print what to put into its configuration."""
    settings = bootstrap.settings(os.environ)
    editing.add_client(settings.folders.config_file, name, {"profile": profile.value, "accounts": account})
    printer = Printer(as_json=json)
    printer.answer({"status": "ok", "client": name, "profile": profile.value})
    printer.remark(f"put this into the configuration of {program.value}:")
    printer.line(snippet(program, name))
    return Exit.DONE


@app.command
def remove(name: str, /, *, yes: bool = False, json: AsJson = False) -> Exit:
    """Take a client out of config.toml; from then on it is refused."""
    printer = Printer(as_json=json)
    if not yes and not confirm(f"remove client {name}?", flag="--yes"):
        printer.remark("nothing was changed")
        return Exit.REFUSED
    editing.remove_client(bootstrap.settings(os.environ).folders.config_file, name)
    return printer.answer({"status": "ok", "removed": name})


@app.command(name="config")
def show_config(name: str, /, *, program: Program = Program.HERMES) -> Exit:
    """Print what to put into a program's configuration for a client."""
    Printer().line(snippet(program, name))
    return Exit.DONE


def snippet(program: Program, client: str) -> str:
    """Return the program's configuration for a stdio server of ours, as that program writes it."""
    command, arguments = _command(), ["mcp", "--client", client]
    environment = {"MCP_PROTON_HOME": home} if (home := os.environ.get("MCP_PROTON_HOME")) else {}
    if program is Program.HERMES:
        lines = [
            "mcp_discovery_timeout: 15",
            "mcp_servers:",
            "  mail:",
            f"    command: {command}",
            f"    args: {jsonlib.dumps(arguments)}",
            *([f"    env: {jsonlib.dumps(environment)}"] if environment else []),
            "    timeout: 600",
        ]
        return "\n".join(lines)
    if program is Program.CODEX:
        tail = [f"env = {{ MCP_PROTON_HOME = {jsonlib.dumps(home)} }}"] if home else []
        return "\n".join(
            ["[mcp_servers.mail]", f"command = {jsonlib.dumps(command)}", f"args = {jsonlib.dumps(arguments)}", *tail]
        )
    if program is Program.CLAUDE_CODE:
        given = " ".join(f"--env {key}={value}" for key, value in environment.items())
        return " ".join(filter(None, ["claude mcp add mail", given, "--", command, *arguments]))
    entry = {"command": command, "args": arguments, **({"env": environment} if environment else {})}
    if program is Program.OPENCODE:
        local = {"type": "local", "command": [command, *arguments], "timeout": 20000}
        return jsonlib.dumps(
            {"mcp": {"mail": {**local, **({"environment": environment} if environment else {})}}}, indent=2
        )
    return jsonlib.dumps({"servers" if program is Program.VSCODE else "mcpServers": {"mail": entry}}, indent=2)


def _command() -> str:
    """Return our own program by its full path: clients do not search where a shell would."""
    beside = Path(sys.executable).with_name("mcp-proton")
    return str(beside) if beside.exists() else shutil.which("mcp-proton") or "mcp-proton"
