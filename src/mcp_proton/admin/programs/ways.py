"""How a program reaches us: it starts a process of ours, or speaks HTTP to the always-on service."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

TOKEN, TOKEN_FILE = "MCP_PROTON_TOKEN", "MCP_PROTON_TOKEN_FILE"
"""The variables in which programs that read tokens from their environment find the client's, or its file."""
_PASSED = ("MCP_PROTON_HOME", "DBUS_SESSION_BUS_ADDRESS")
"""Programs start us with next to no environment, and the keyring of a Linux desktop is found by the second."""


@dataclass(frozen=True)
class Process:
    """A program of ours that an agent's program starts, and the environment it passes on."""

    arguments: tuple[str, ...]
    environment: Mapping[str, str]


@dataclass(frozen=True)
class Remote:
    """The always-on service, as a program reaches it, and the file the client's token is in."""

    url: str
    token_file: Path


def started(client: str, environment: Mapping[str, str] | None = None) -> Process:
    """Return how a program starts a service of its own."""
    given = os.environ if environment is None else environment
    return Process(("mcp", "--client", client), {key: given[key] for key in _PASSED if given.get(key)})


def connected(url: str, token_file: Path) -> Process:
    """Return how a program that only speaks standard input and output reaches the always-on service."""
    return Process(("connect",), {"MCP_PROTON_URL": url, TOKEN_FILE: str(token_file)})


def own_program() -> str:
    """Return our own program by its full path: programs do not search where a shell would."""
    beside = Path(sys.executable).with_name("mcp-proton")
    return str(beside) if beside.exists() else shutil.which("mcp-proton") or "mcp-proton"
