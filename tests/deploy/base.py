"""A stand-in for the base of the image, where no registry of images can be reached: Debian's own packages, and in
`/usr/local` the Python of this machine, as in the official image. It bears the official image's name.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from .debian import quietly, tree

ROOT = Path(__file__).parents[2]
DOCKERFILE = ROOT / "deploy" / "container" / "Dockerfile"
# What the official slim image has beside Debian's minimum: what Python is linked with, names and times.
_PACKAGES = """ca-certificates netbase tzdata libbz2-1.0 libffi8 liblzma5 libncursesw6 libreadline8 libsqlite3-0 libssl3
libuuid1 zlib1g""".split()  # noqa: SIM905 - easier to read and edit than a list
_LEFT_OUT = ("site-packages", "test", "idlelib", "__pycache__", "config-*")


def name() -> str:
    """Return what the Dockerfile calls its base. Every stage has the same."""
    (found,) = set(re.findall(r"(?m)^FROM (\S+:\S+)", DOCKERFILE.read_text()))
    return f"docker.io/library/{found}"


def root() -> Path:
    """Return the root of the stand-in. Raises FileNotFoundError where this machine has not that Python."""
    python = _python(name().partition(":")[2].partition("-")[0])
    return tree("base", _PACKAGES, lambda home: _bring(python, home), of=str(python))


def _python(version: str) -> Path:
    """Return the prefix of this machine's Python of a version."""
    found = subprocess.run(
        [ROOT / "tools" / "find-python", version], capture_output=True, text=True, check=False
    ).stdout
    if not found:
        raise FileNotFoundError(f"the image needs Python {version}, and this machine has none to stand in for its base")
    told = quietly([found.strip(), "-c", "import sys; print(sys.base_prefix)"])
    return Path(told.strip())


def _bring(python: Path, home: Path) -> None:
    to = home / "usr" / "local"
    (library,) = (python / "lib").glob("python3.*[0-9]")
    shutil.copytree(library, to / "lib" / library.name, ignore=shutil.ignore_patterns(*_LEFT_OUT), symlinks=True)
    (to / "lib" / library.name / "site-packages").mkdir()
    for shared in (python / "lib").glob("libpython3*.so*"):
        shutil.copy2(shared, to / "lib", follow_symlinks=False)
    shutil.copy2(python / "bin" / library.name, to / "bin")
    for short in ("python", "python3"):
        (to / "bin" / short).symlink_to(library.name)
    quietly(["chroot", home, "ldconfig"])
    quietly(["chroot", home, "python", "-c", "import bz2, ctypes, lzma, readline, sqlite3, ssl, uuid, zlib"])
