"""Start-up: from exec to `initialize` answered (and to `tools/list`), over a FastMCP server with one empty tool.

    python bench/startup.py [pairs] [-- command ...]

Runs of both are interleaved, so that what else the machine does falls on both alike; the ratio of medians counts.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass

EMPTY = """
from fastmcp import FastMCP
server = FastMCP("empty")
@server.tool
def nothing() -> None:
    "Do nothing."
server.run(show_banner=False)
"""
OURS = [sys.executable, "-m", "mcp_proton", "mcp", "--demo"]
PAIRS = 8
LIMIT = 1.25


@dataclass(frozen=True)
class Start:
    """Seconds from exec to each answer."""

    initialize: float
    listing: float


def measure(command: list[str]) -> Start:
    """Start a server, shake hands, list its tools, let it end."""
    begun = time.perf_counter()
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        info = {"name": "bench", "version": "1"}
        _ask(process, 1, "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=info)
        answered = time.perf_counter()
        process.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        _ask(process, 2, "tools/list")
        listed = time.perf_counter()
        process.stdin.close()
        process.wait(10)
    return Start(answered - begun, listed - begun)


def _ask(process: subprocess.Popen[bytes], number: int, method: str, **params: object) -> None:
    asked = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    process.stdin.write(json.dumps(asked).encode() + b"\n")
    process.stdin.flush()
    answer = json.loads(process.stdout.readline())
    if answer.get("id") != number or "result" not in answer:
        raise RuntimeError(f"{method} was not answered")


def run(pairs: int = PAIRS, command: list[str] | None = None) -> tuple[float, float]:
    """Print the figures; return the ratios for `initialize` and `tools/list`."""
    empty: list[Start] = []
    ours: list[Start] = []
    measure([sys.executable, "-c", EMPTY])  # fill the caches of the disk
    measure(command or OURS)
    for _ in range(pairs):
        empty.append(measure([sys.executable, "-c", EMPTY]))
        ours.append(measure(command or OURS))
    ratios = []
    for name in ("initialize", "listing"):
        floor, reached = (statistics.median(getattr(one, name) for one in runs) for runs in (empty, ours))
        ratios.append(reached / floor)
        print(
            f"{name:<12} empty FastMCP {floor * 1000:6.0f} ms   mcp-proton {reached * 1000:6.0f} ms   {ratios[-1]:.2f}x"
        )
    print(f"limit for initialize: {LIMIT}x")
    return ratios[0], ratios[1]


if __name__ == "__main__":
    words = sys.argv[1:]
    split = words.index("--") if "--" in words else len(words)
    run(int(words[0]) if split else PAIRS, words[split + 1 :] or None)
