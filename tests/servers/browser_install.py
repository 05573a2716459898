"""A browser for the pages: Debian's Chromium with its driver, installed by apt-get as root where that can be.

Run as a program, this installs it, or says what the machine lacks. Standard library only, so any Python can run it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

from tests.servers.install import apt

_PROGRAMS = {"chromium": "chromium", "chromedriver": "chromium-driver"}


def missing() -> list[str]:
    """What the tests need and this machine lacks."""
    return [package for program, package in _PROGRAMS.items() if shutil.which(program) is None]


def left_out(lacks: list[str]) -> str:
    """What to say where it cannot be run."""
    return f"The browser is left out: this machine lacks {' and '.join(lacks)}."


def main() -> int:
    lacks = missing()
    if lacks and shutil.which("apt-get") is not None and os.geteuid() == 0:
        try:
            apt("update", "-qq")
            apt("install", "-y", "-qq", "--no-install-recommends", *lacks)
        except subprocess.CalledProcessError as error:
            print(f"apt-get could not bring it (exit {error.returncode}).", file=sys.stderr)
        lacks = missing()
    print(left_out(lacks) if lacks else "The browser is ready.")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
