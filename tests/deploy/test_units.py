"""The systemd units, as systemd reads them; and how much the isolated one gives up (P-07)."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

DEPLOY = Path(__file__).parents[2] / "deploy"
MOST_EXPOSED = 2.0
"""On systemd's own scale from 0 (nothing exposed) to 10; below 2.5 it calls a service OK."""


def unit(folder: Path, name: str) -> Path:
    """Return a unit, its program put in the place of one that is here."""
    text = (DEPLOY / name).read_text()
    made = folder / Path(name).name
    made.write_text(re.sub(r"(?m)^ExecStart=\S+", "ExecStart=/bin/true", text))
    return made


def analyze(folder: Path, *words: str | Path) -> str:
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(folder)}
    done = subprocess.run(
        ["systemd-analyze", *words], capture_output=True, text=True, check=False, env=environment, timeout=50
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize(
    ("name", "more"), [("isolated/mcp-proton.service", ()), ("personal/mcp-proton.service", ("--user",))]
)
def test_systemd_has_nothing_to_say_about_a_unit(tmp_path: Path, name: str, more: tuple[str, ...]) -> None:
    assert analyze(tmp_path, "verify", *more, unit(tmp_path, name)).strip() == ""


def test_the_isolated_unit_gives_up_what_it_does_not_need(tmp_path: Path) -> None:
    told = analyze(tmp_path, "security", "--offline=true", unit(tmp_path, "isolated/mcp-proton.service"))
    found = re.search(r"exposure level for \S+: ([\d.]+)", told)
    assert found is not None
    assert float(found[1]) <= MOST_EXPOSED
