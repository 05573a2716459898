"""Start-up: from exec to `initialize` answered (and to `tools/list`), over a FastMCP server with one empty tool.

    python -m bench.startup [pairs] [-- command ...]

Runs of both are interleaved, so that what else the machine does falls on both alike; the ratio of medians counts.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass

from .timing import Figure, ratio, tell

EMPTY = """
from fastmcp import FastMCP
server = FastMCP("empty")
@server.tool
def nothing() -> None:
    "Do nothing."
server.run(show_banner=False)
"""
OURS = (sys.executable, "-m", "mcp_proton", "mcp", "--demo")
PAIRS = 8


@dataclass(frozen=True)
class Start:
    """Seconds from exec to each answer."""

    initialize: float
    listing: float


def measure(pairs: int = PAIRS, command: tuple[str, ...] = OURS) -> list[Figure]:
    """Start both in turns; a first pair only fills the disk's caches."""
    runs: tuple[list[Start], list[Start]] = ([], [])
    for _ in range(pairs + 1):
        for side, words in zip(runs, ((sys.executable, "-c", EMPTY), command), strict=True):
            side.append(_start(words))
    floor, ours = (
        Start(*(statistics.median(getattr(one, name) for one in side[1:]) for name in ("initialize", "listing")))
        for side in runs
    )
    return [
        ratio("exec to `initialize` answered, over an empty FastMCP server", ours.initialize, floor.initialize, 1.25),
        ratio("exec to `tools/list` answered, over an empty FastMCP server", ours.listing, floor.listing, 1.5),
    ]


def _start(command: tuple[str, ...]) -> Start:
    """Start a server, shake hands, list its tools, let it end."""
    begun = time.perf_counter()
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        info = {"name": "bench", "version": "1"}
        _ask(process, 1, "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=info)
        answered = time.perf_counter()
        assert process.stdin is not None
        process.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        _ask(process, 2, "tools/list")
        listed = time.perf_counter()
        process.stdin.close()
        process.wait(10)
    return Start(answered - begun, listed - begun)


def _ask(process: subprocess.Popen[bytes], number: int, method: str, **params: object) -> None:
    asked = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(asked).encode() + b"\n")
    process.stdin.flush()
    answer = json.loads(process.stdout.readline())
    if answer.get("id") != number or "result" not in answer:
        raise RuntimeError(f"{method} was not answered")


if __name__ == "__main__":
    words = sys.argv[1:]
    split = words.index("--") if "--" in words else len(words)
    tell(measure(int(words[0]) if split else PAIRS, tuple(words[split + 1 :]) or OURS))
