"""The project as somebody else finds it: what is tracked, what the lock pins, what a wheel holds."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
LOCKS = [
    "requirements.lock",
    "deploy/requirements.lock",
    "tools/supply.lock",
    "tests/surfaces/hermes/hermes.lock",
    "tests/clients/node.lock",
]
PIN = re.compile(r"^([\w.-]+)==(\S+)", re.MULTILINE)


@cache
def tracked() -> tuple[Path, ...]:
    """Every file that is or is about to be in the repository."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.decode()
    return tuple(path for name in names.split("\0") if name and (path := ROOT / name).is_file())


def lines(pattern: str = "*") -> Iterator[tuple[str, str]]:
    """Each line of text with its place."""
    for path in tracked():
        data = path.read_bytes()
        if not path.match(pattern) or b"\0" in data:
            continue
        for number, line in enumerate(data.decode(errors="replace").splitlines(), start=1):
            yield f"{path.relative_to(ROOT)}:{number}", line


@cache
def pinned(lock: str) -> dict[str, Version]:
    found = PIN.findall((ROOT / lock).read_text())
    return {canonicalize_name(name): Version(version) for name, version in found}


def declared() -> list[Requirement]:
    """Everything pyproject.toml asks for, to run, to test, to measure and to build."""
    table = tomllib.loads((ROOT / "pyproject.toml").read_text())
    groups = [requirement for group in table["dependency-groups"].values() for requirement in group]
    return [
        Requirement(text) for text in [*table["project"]["dependencies"], *groups, *table["build-system"]["requires"]]
    ]


def test_no_tracked_file_names_a_folder_of_this_machine() -> None:
    folders = {ROOT, Path.home()} | ({ROOT.parent} - {Path("/"), Path(tempfile.gettempdir())})
    named = "|".join(re.escape(str(folder)) for folder in folders if folder != Path("/"))
    found = [place for place, line in lines() if re.search(rf"(?<![\w./-])({named})/", line)]
    assert found == []


def test_no_tracked_file_says_where_packages_come_from() -> None:
    source = re.compile(r'"resolved": *"http|^ *(--)?(extra-)?index-url\b|source = \{ *(registry|url) *= *"http')
    assert [place for place, line in lines() if source.search(line)] == []
    assert [place for lock in LOCKS for place, line in lines(lock) if "://" in line] == []


def test_nothing_in_the_code_says_it_is_not_done_or_not_tested() -> None:
    """The last letter of each word stands in brackets, so that this file is looked at like any other."""
    said = r"#\s*(TOD[O]|FIXM[E]|XX[X])\b|raise NotImplementedErro[r]|pytest\.(ski[p]|xfai[l])|mark\.(ski[p]|xfai[l])"
    assert [place for place, line in lines("*.py") if re.search(said, line)] == []


@pytest.mark.parametrize("requirement", declared(), ids=str)
def test_the_lock_pins_what_the_project_declares(requirement: Requirement) -> None:
    version = pinned("requirements.lock").get(canonicalize_name(requirement.name))
    assert version is not None, "run `make lock`"
    assert requirement.specifier.contains(version), f"{version}: run `make lock`"
    for extra in requirement.extras:
        missing = [
            need.name
            for text in metadata.requires(requirement.name) or []
            if (need := Requirement(text)).marker
            and need.marker.evaluate({"extra": extra})
            and not need.marker.evaluate({"extra": ""})
            and canonicalize_name(need.name) not in pinned("requirements.lock")
        ]
        assert missing == [], "run `make lock`"


@pytest.mark.parametrize("lock", LOCKS)
def test_every_pin_has_hashes(lock: str) -> None:
    entries = re.split(r"(?m)^(?=[\w.-]+==)", (ROOT / lock).read_text())[1:]
    assert len(entries) == len(pinned(lock)) > 0
    assert [entry.split("\n")[0] for entry in entries if "--hash=sha256:" not in entry] == []


@pytest.mark.parametrize("folder", ["small", "large"])
def test_every_package_of_node_has_a_hash(folder: str) -> None:
    lock = json.loads((ROOT / "tests/clients" / folder / "package-lock.json").read_text())
    packages = {name: one for name, one in lock["packages"].items() if name}
    assert packages
    assert [name for name, one in packages.items() if not one.get("integrity", "").startswith("sha512-")] == []


def test_every_make_target_is_explained() -> None:
    makefile = (ROOT / "Makefile").read_text()
    listed = " ".join(re.findall(r"^\.PHONY:(.*)$", makefile, re.MULTILINE))
    targets = set(re.sub(r"\$\([^)]*\)", "", listed).split())
    assert {"demo", "test", "check", "bench", "docs"} <= targets
    told = "".join((ROOT / page).read_text() for page in ("README.md", "CONTRIBUTING.md"))
    assert {target for target in targets if not re.search(rf"\bmake {target}\b", told)} == set()


@pytest.mark.process
def test_a_wheel_holds_the_whole_package_its_types_and_its_licence(tmp_path: Path) -> None:
    words = [
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--no-index",
        "--wheel-dir",
        str(tmp_path),
        str(ROOT),
    ]
    subprocess.run([sys.executable, "-m", "pip", *words], check=True, stdin=subprocess.DEVNULL)
    (wheel,) = tmp_path.glob("*.whl")
    held = set(zipfile.ZipFile(wheel).namelist())
    source = {path.relative_to(ROOT / "src").as_posix() for path in tracked() if path.is_relative_to(ROOT / "src")}
    assert source - held == set()
    assert "mcp_proton/py.typed" in held
    assert any(name.endswith("licenses/LICENSE") for name in held)
    assert {name.split("/")[0].partition("-")[0] for name in held} == {"mcp_proton"}


def test_the_package_and_the_command_are_called_what_they_are_called() -> None:
    """P-01."""
    import mcp_proton

    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert scripts == {"mcp-proton": "mcp_proton.__main__:main"}
    rooms = {path.name for path in Path(mcp_proton.__path__[0]).iterdir()}
    assert {"domain", "bridge", "services", "policy", "storage", "mcp", "admin"} <= rooms
