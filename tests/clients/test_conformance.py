"""The official conformance suite at the service: every scenario for servers that applies, and why the others do not (N-15)."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from . import install
from .door import Door

if TYPE_CHECKING:
    from tests.surfaces.http.process import Service

pytestmark = [pytest.mark.process, pytest.mark.timeout(240)]
SORTED = yaml.safe_load(Path(__file__).with_name("conformance.yaml").read_text())


def suite(*words: str) -> str:
    program = install.small() / "node_modules/@modelcontextprotocol/conformance/dist/index.js"
    done = subprocess.run(
        [install.node(), program, *words], capture_output=True, text=True, check=False, timeout=200,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    return done.stdout


def checks(door: Door, scenario: str, folder: Path) -> list[dict[str, Any]]:
    """Run a scenario and return its checks. The suite cannot show a token; the door does in its place."""
    told = suite("server", "--url", door.url, "--scenario", scenario, "-o", str(folder))
    (found,) = folder.glob(f"server-{scenario}-*/checks.json")
    return json.loads(found.read_text()) or [{"id": scenario, "status": "FAILURE", "errorMessage": told[-500:]}]


def test_every_scenario_that_applies_passes(demo: Service, tmp_path: Path) -> None:
    with Door(demo.url, demo.demo_token) as door:
        failed = {
            f"{scenario}: {one['id']}": one.get("errorMessage")
            for scenario in SORTED["applies"]
            for one in checks(door, scenario, tmp_path)
            if one["status"] == "FAILURE"
        }
        assert failed == {}
        for scenario, why in SORTED["applies_in_part"].items():
            found = checks(door, scenario, tmp_path)
            left = [one for one in found if one["status"] == "FAILURE"]
            assert {one["id"] for one in left} == set(re.findall(r"sep-[\w-]+", why))
            assert all("no_such_tool" in str(one["details"]) or one["details"]["untestable"] for one in left), left
            assert sum(one["status"] == "SUCCESS" for one in found) >= 20
    assert "Traceback" not in demo.output


def test_no_scenario_is_left_out() -> None:
    """A new version of the suite brings new ones: each is sorted by hand."""
    listed = suite("list").partition("Client scenarios")[0]
    known = {*SORTED["applies"], *SORTED["applies_in_part"]}
    for reason in ("needs_its_own_tools", "needs_its_own_resources_and_prompts", "not_offered"):
        known |= set(SORTED[reason]["scenarios"])
    assert set(re.findall(r"^  - (\S+) \[", listed, re.MULTILINE)) == known
