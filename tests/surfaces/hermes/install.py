"""A real Hermes Agent in a virtual environment of its own, from `hermes.lock`.

Never in the project's environment: its pins and ours exclude each other. Made once for each state of the lock, then
used without a network.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

VERSION = "0.19.0"
_LOCK = Path(__file__).with_name("hermes.lock")
_CACHE = Path(__file__).parents[3] / ".cache"
_HOME = _CACHE / "hermes"


def program() -> Path:
    """The `hermes` command, installed first when it is missing or the lock has changed.

    Safe to call from several processes at once; raises CalledProcessError, with pip's words printed, when it cannot be
    installed.
    """
    _CACHE.mkdir(exist_ok=True)
    with (_CACHE / "hermes.guard").open("w") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        if not _is_current():
            _install()
    return _HOME / "bin" / "hermes"


def _state() -> str:
    return f"{hashlib.sha256(_LOCK.read_bytes()).hexdigest()} {_HOME}"


def _is_current() -> bool:
    stamp = _HOME / "state"
    return stamp.exists() and stamp.read_text() == _state() and (_HOME / "bin" / "python").exists()


def _install() -> None:
    shutil.rmtree(_HOME, ignore_errors=True)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    commands: list[list[str | Path]] = [
        [sys.executable, "-m", "venv", _HOME],
        [_HOME / "bin" / "pip", "install", "--quiet", "--no-compile", "--require-hashes", "-r", _LOCK],
    ]
    for command in commands:
        subprocess.run(command, check=True, env=environment, stdin=subprocess.DEVNULL)
    (_HOME / "state").write_text(_state())


if __name__ == "__main__":
    program()
    print("Hermes is ready.")
