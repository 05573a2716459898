"""Docker Compose itself: this machine's, or the program, built from its Go module once and kept below `.cache/`.

Run as a program, this builds it where that is needed, or says that it cannot.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from .debian import CACHE, quietly

_VERSION = "v2.32.4"
_GO_HOME = Path("/usr/local/go/bin/go")


def program() -> list[str | Path]:
    """Return the words that start it. Raises FileNotFoundError where there is neither it nor Go."""
    if shutil.which("docker") and _answers(["docker", "compose", "version"]):
        return ["docker", "compose"]
    built = CACHE / f"compose-{_VERSION}"
    if not (built / "docker-compose").exists():
        go = shutil.which("go") or (_GO_HOME if _GO_HOME.exists() else None)
        if go is None:
            raise FileNotFoundError("neither `docker compose` nor Go, with which to build it, is on this machine")
        built.mkdir(parents=True, exist_ok=True)
        told = f"github.com/docker/compose/v2/cmd@{_VERSION}"
        quietly([go, "install", told], GOBIN=str(built), GOTOOLCHAIN="local", GOFLAGS="-mod=mod")
        (built / "cmd").rename(built / "docker-compose")
    return [built / "docker-compose"]


def _answers(words: list[str]) -> bool:
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


if __name__ == "__main__":
    print("Compose:", *program())
