"""Guides: where a program's configuration of us belongs, where it finds the token, and how it is tried."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcp_proton.admin.programs.program import Program
from mcp_proton.admin.programs.snippets import SERVER
from mcp_proton.admin.programs.ways import TOKEN, TOKEN_FILE, Remote

if TYPE_CHECKING:
    from mcp_proton.admin.programs.ways import Process


@dataclass(frozen=True)
class Guide:
    """What a person does with a snippet. `token` is where the client's token goes, where the program holds it itself."""

    place: str
    token: str
    trial: str


_ENVIRONMENT = f"in the environment the program is started with, as {TOKEN}"
_FILE = "in the file that is named there, of mode 0600"
_GUIDES = {
    Program.HERMES: Guide(
        "put this into ~/.hermes/config.yaml",
        f"as {TOKEN}=… in ~/.hermes/.env, of mode 0600",
        f"`hermes mcp test {SERVER}` connects and lists the tools (read what it prints: it exits with 0 either way)",
    ),
    Program.CLAUDE_CODE: Guide(
        "run this once", _ENVIRONMENT, f"`claude mcp get {SERVER}` says that it is connected; inside: /mcp"
    ),
    Program.CLAUDE_DESKTOP: Guide(
        "put this into claude_desktop_config.json (Settings > Developer > Edit Config)",
        _FILE,
        f"quit it wholly and start it again; Settings > Developer shows {SERVER} as running",
    ),
    Program.CODEX: Guide(
        "put this into ~/.codex/config.toml",
        _ENVIRONMENT,
        f"`codex mcp list` shows {SERVER}; inside: /mcp lists the tools",
    ),
    Program.OPENCODE: Guide(
        "put this into ~/.config/opencode/opencode.json", _FILE, f"`opencode mcp list` shows {SERVER} as connected"
    ),
    Program.VSCODE: Guide(
        "put this into .vscode/mcp.json, or into your user's (command: MCP: Open User Configuration)",
        "it asks once, and keeps it encrypted",
        f"command MCP: List Servers > {SERVER} > Start Server; the agent's tools then name it",
    ),
    Program.CURSOR: Guide(
        "put this into ~/.cursor/mcp.json",
        _ENVIRONMENT,
        f"Settings > MCP shows {SERVER} with a green dot and its tools",
    ),
    Program.GOOSE: Guide(
        "put this into ~/.config/goose/config.yaml",
        f"in goose's own keyring, as {TOKEN} (`goose configure`), or in its environment",
        "ask in `goose session`: which mailboxes do I have?",
    ),
    Program.OTHER: Guide(
        "put this where your program lists its MCP servers", _FILE, "ask your agent: which mailboxes do I have?"
    ),
}


def guide(program: Program, way: Process | Remote) -> Guide:
    """Return what to do with a program's snippet for a way of reaching us. No token: it needs none."""
    told = _GUIDES[program]
    if isinstance(way, Remote):
        return told
    return Guide(told.place, _FILE if TOKEN_FILE in way.environment else "", told.trial)
