"""The OpenID provider of the tests (`oidc/`, Node), its packages installed by npm from the lock once and kept below `.cache/`.

Run as a program, this installs it, or says what the machine lacks. Standard library only, so any Python can run it.
"""

from __future__ import annotations

import fcntl
import hashlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

_SOURCES = Path(__file__).parent / "oidc"
_CACHE = Path(__file__).parents[2] / ".cache" / "servers" / "oidc"
_OLDEST_NODE = 20


def missing() -> list[str]:
    """What it needs and this machine lacks."""
    lacks = [] if _node_is_new_enough() else [f"Node {_OLDEST_NODE} or newer"]
    if not program().exists() and shutil.which("npm") is None:
        lacks.append("npm")
    return lacks


def left_out(lacks: list[str]) -> str:
    """What to say where it cannot be run."""
    return f"The OpenID provider is left out: this machine lacks {' and '.join(lacks)}."


def program() -> Path:
    """Where what is made of these sources lies, or will."""
    digest = hashlib.sha256()
    for source in sorted(_SOURCES.iterdir()):
        digest.update(source.name.encode() + b"\0" + source.read_bytes())
    return _CACHE / digest.hexdigest()[:16] / "server.mjs"


def install() -> Path:
    """Install it unless that was done. Raises CalledProcessError with npm's own words on the terminal."""
    made = program()
    if made.exists():
        return made
    _CACHE.mkdir(parents=True, exist_ok=True)
    with (_CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            unfinished = _CACHE / "unfinished"
            shutil.rmtree(unfinished, ignore_errors=True)
            shutil.copytree(_SOURCES, unfinished)
            quiet = ["--silent", "--no-audit", "--no-fund", "--ignore-scripts"]
            subprocess.run(["npm", "ci", *quiet], cwd=unfinished, check=True, stdin=subprocess.DEVNULL)
            unfinished.rename(made.parent)
    return made


def _node_is_new_enough() -> bool:
    if shutil.which("node") is None:
        return False
    told = subprocess.run(["node", "--version"], capture_output=True, text=True, check=False).stdout
    found = re.match(r"v(\d+)\.", told)
    return found is not None and int(found[1]) >= _OLDEST_NODE


def main() -> int:
    if lacks := missing():
        print(left_out(lacks))
        return 0
    try:
        install()
    except subprocess.CalledProcessError as error:
        print(f"npm could not bring the OpenID provider (exit {error.returncode}).", file=sys.stderr)
        return 1
    print("The OpenID provider is ready.")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
