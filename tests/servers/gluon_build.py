"""Proton's IMAP engine with our account behind it, built from `gluon/` (Go) once and kept below `.cache/`.

Run as a program, this builds it, or says what the machine lacks. Standard library only, so any Python can run it.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

_SOURCES = Path(__file__).parent / "gluon"
_CACHE = Path(__file__).parents[2] / ".cache" / "servers" / "gluon"
_GO_HOME = Path("/usr/local/go/bin/go")
_OLDEST_GO = (1, 24)


class CannotBuildError(RuntimeError):
    """The engine can't be built on this machine; the message says what it lacks."""


def missing() -> list[str]:
    """What building needs and this machine lacks."""
    lacks = [] if _go() else [f"Go {_OLDEST_GO[0]}.{_OLDEST_GO[1]} or newer"]
    return lacks if shutil.which("cc") or shutil.which("gcc") else [*lacks, "a C compiler"]


def left_out(lacks: list[str]) -> str:
    """What to say where it can't be built."""
    return f"Proton's engine is left out: this machine lacks {' and '.join(lacks)}."


def program() -> Path:
    """Where the program built from these sources lies, or will."""
    digest = hashlib.sha256()
    for source in sorted(_SOURCES.iterdir()):
        if source.suffix in {".go", ".mod", ".sum"}:
            digest.update(source.name.encode() + b"\0" + source.read_bytes())
    return _CACHE / digest.hexdigest()[:16] / "gluonserver"


def build() -> Path:
    """Build the program unless that was done; takes minutes the first time. Raises CannotBuildError."""
    built = program()
    if built.exists():
        return built
    _CACHE.mkdir(parents=True, exist_ok=True)
    with (_CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not built.exists():
            _compile(built)
    return built


def _compile(to: Path) -> None:
    go = _go()
    if go is None or (lacks := missing()):
        raise CannotBuildError(f"gluon can't be built here, what lacks is: {', '.join(lacks if go else missing())}")
    for old in _CACHE.iterdir():
        if old.is_dir():
            shutil.rmtree(old)
    to.parent.mkdir()
    # Built beside its place and moved there, so that a build that was cut short isn't taken for one.
    unfinished = to.with_suffix(".unfinished")
    environment = {**os.environ, "GOFLAGS": "-mod=readonly -buildvcs=false", "GOTOOLCHAIN": "local", "CGO_ENABLED": "1"}
    done = subprocess.run(
        ["nice", "-n", "10", go, "build", "-p", "1", "-o", unfinished, "."],
        cwd=_SOURCES, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode:
        raise CannotBuildError(f"go build failed:\n{done.stderr}")
    unfinished.rename(to)


def _go() -> str | None:
    """A Go that is new enough."""
    found = shutil.which("go") or (str(_GO_HOME) if _GO_HOME.exists() else None)
    if found is None:
        return None
    said = subprocess.run(
        [found, "version"], env={**os.environ, "GOTOOLCHAIN": "local"}, capture_output=True, text=True, check=False
    ).stdout
    version = re.search(r"go(\d+)\.(\d+)", said)
    return found if version and (int(version[1]), int(version[2])) >= _OLDEST_GO else None


def main() -> int:
    """Build the program; 0 also where it can't be built, which is then said."""
    if lacks := missing():
        print(left_out(lacks))
        return 0
    if not program().exists():
        print("Building Proton's IMAP engine; this takes some minutes the first time.", flush=True)
    try:
        build()
    except CannotBuildError as error:
        print(error, file=sys.stderr)
        return 1
    print("Proton's IMAP engine is ready.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
