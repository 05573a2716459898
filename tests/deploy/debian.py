"""Small Debian trees of our own, made once by debootstrap below `.cache/`: what a machine boots from, and what stands in
for the base of the image.

`python -m tests.deploy.debian PACKAGE...` brings the programs that make and use them onto a Debian or Ubuntu machine.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tests.servers.install import apt, services_left_stopped

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

CACHE = Path(__file__).parents[2] / ".cache" / "deploy"
RELEASE = "bookworm"
TRUSTED = Path("/etc/ssl/certs/ca-certificates.crt")
PIP_SETTINGS = Path("/etc/pip.conf")


def tree(name: str, packages: Sequence[str], finish: Callable[[Path], None] | None = None, *, of: str = "") -> Path:
    """Return the root of a minimal Debian with these packages. `of` says of what else it is made: another value, another tree.

    Whom this machine trusts is trusted there too. Safe to call from several processes. Raises CalledProcessError.
    """
    CACHE.mkdir(parents=True, exist_ok=True)
    home = CACHE / name
    state = hashlib.sha256(repr((RELEASE, sorted(packages), of)).encode()).hexdigest()
    with (CACHE / f"{name}.guard").open("w") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        stamp = CACHE / f"{name}.state"
        if not stamp.exists() or stamp.read_text() != state:
            shutil.rmtree(home, ignore_errors=True)
            words = ["debootstrap", "--variant=minbase", f"--include={','.join(packages)}", RELEASE, home]
            quietly(words)
            shutil.copy(TRUSTED, home / TRUSTED.relative_to("/"))
            if PIP_SETTINGS.exists():
                shutil.copy(PIP_SETTINGS, home / "etc")
            if finish is not None:
                finish(home)
            stamp.write_text(state)
    return home


def quietly(words: Sequence[str | Path], **more: str) -> str:
    """Run a program and return what it printed; only a failure says anything. Raises CalledProcessError."""
    done = subprocess.run(
        words, stdin=subprocess.DEVNULL, capture_output=True, text=True, env={**os.environ, **more}, check=False
    )
    if done.returncode:
        print(done.stdout[-4000:], done.stderr[-4000:], sep="\n", file=sys.stderr)
        done.check_returncode()
    return done.stdout


def main(packages: Sequence[str]) -> int:
    lacks = [name for name in packages if not Path("/var/lib/dpkg/info", f"{name}.list").exists()]
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        print(
            "This needs root, on Debian or Ubuntu: it makes namespaces, and trees that belong to root.", file=sys.stderr
        )
        return 1
    if lacks:
        print("Not on this machine yet:", ", ".join(lacks))
        apt("update", "-qq")
        with services_left_stopped():
            apt("install", "-y", "-qq", "--no-install-recommends", *lacks)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
