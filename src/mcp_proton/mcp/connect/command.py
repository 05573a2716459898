"""`mcp-proton connect`: a client that only speaks standard input and output reaches the always-on service."""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import TYPE_CHECKING

from mcp_proton.mcp.connect.relay import Relay
from mcp_proton.mcp.connect.service import Service

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

URL, TOKEN, TOKEN_FILE = "MCP_PROTON_URL", "MCP_PROTON_TOKEN", "MCP_PROTON_TOKEN_FILE"
DEFAULT = "http://127.0.0.1:8420/mcp"
USAGE = "usage: mcp-proton connect [--url URL] [--token-file PATH]"


def run(arguments: Sequence[str]) -> int:
    """Relay until the client closes its end; return the exit code."""
    try:
        service = _service(arguments, os.environ)
    except (ValueError, OSError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        sys.stderr.write(f"mcp-proton: {why}\n")
        return 2
    writing = threading.Lock()

    def emit(octets: bytes) -> None:
        with writing:
            rest = memoryview(octets + b"\n")
            while rest:
                rest = rest[os.write(1, rest) :]

    for ending in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(ending, _end)
    relay = Relay(service, emit)
    try:
        with os.fdopen(0, "rb", closefd=False) as lines:
            for line in lines:
                relay.take(line)
    except (SystemExit, BrokenPipeError):
        pass
    finally:
        relay.close()
    return 0


def _end(*_: object) -> None:
    raise SystemExit


def _service(arguments: Sequence[str], environment: Mapping[str, str]) -> Service:
    """Read the command line by hand: a parser of arguments would be a quarter of all the time it takes to start."""
    given = {"--url": environment.get(URL, DEFAULT), "--token-file": environment.get(TOKEN_FILE, "")}
    words = list(arguments)
    while words:
        name, equals, value = words.pop(0).partition("=")
        if name not in given or not (equals or words):
            raise ValueError(USAGE)
        given[name] = value if equals else words.pop(0)
    token = environment.get(TOKEN, "")
    if given["--token-file"]:
        with open(given["--token-file"], encoding="utf-8") as file:  # noqa: PTH123 - pathlib takes its time to load
            token = file.readline().strip()
    if not token or not token.isascii() or not token.isprintable():
        raise ValueError(f"no token: put the client's token into {TOKEN}, or its file into {TOKEN_FILE}")
    return Service(given["--url"], token)
