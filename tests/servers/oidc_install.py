"""The OpenID provider of the tests (`oidc/`), its packages installed by npm from the lock once and kept below `.cache/`.

Node is the one that the MCP clients run on. Run as a program, this installs it.
"""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

from tests.clients.install import npm

_SOURCES = Path(__file__).parent / "oidc"
_CACHE = Path(__file__).parents[2] / ".cache" / "servers" / "oidc"


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
            npm("ci", "--loglevel=error", "--no-audit", "--no-fund", "--ignore-scripts", folder=unfinished)
            unfinished.rename(made.parent)
    return made


def main() -> int:
    try:
        install()
    except subprocess.CalledProcessError as error:
        print(f"npm could not bring the OpenID provider (exit {error.returncode}).", file=sys.stderr)
        return 1
    print("The OpenID provider is ready.")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
