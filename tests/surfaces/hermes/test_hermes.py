"""The harness around a real Hermes Agent: what the model asks reaches the server, what the server says comes back."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.surfaces.hermes import install
from tests.surfaces.hermes.script import Call, Say, Step

if TYPE_CHECKING:
    from tests.surfaces.hermes.agent import Hermes

pytestmark = [pytest.mark.process, pytest.mark.timeout(300)]

PROBE: list[str | Path] = [sys.executable, Path(__file__).with_name("probe.py")]


def test_a_script_runs_through_a_real_agent_and_results_feed_later_calls(hermes: Hermes) -> None:
    script: list[Step] = [
        Call("echo", {"text": "one"}),
        Call("echo", lambda results: {"text": "two after " + ("one" if "echo:one" in results[0] else "nothing")}),
        Call("environment", {"name": "PROBE_SETTING"}),
        Say("the end: {last}"),
    ]
    turn = hermes.run(PROBE, {"PROBE_SETTING": "given"}, script)
    assert [exchange.tool for exchange in turn.exchanges] == [
        "mcp__mail__echo",
        "mcp__mail__echo",
        "mcp__mail__environment",
    ], turn.errors
    assert "echo:one" in turn.results("echo")[0]
    assert "echo:two after one" in turn.results("echo")[1]
    assert "given" in turn.results("environment")[0]
    assert "the end:" in turn.answer
    assert "Give a text back." in turn.tools["mcp__mail__echo"]["description"]


def test_a_server_that_cannot_start_shows_in_the_transcript(hermes: Hermes) -> None:
    turn = hermes.run([sys.executable, "-c", "raise SystemExit('no mail today')"], {}, [Call("echo", {}), Say("bye")])
    assert "no mail today" in turn.errors
    assert turn.exchanges == ()
    assert turn.tools == {}


def test_hermes_lives_apart_from_the_project() -> None:
    python = install.program().with_name("python")
    code = "import importlib.metadata as m; print(m.version('hermes-agent'), m.version('mcp'))"
    told = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.split() == [install.VERSION, "1.26.0"]
    project = subprocess.run([python, "-c", "import mcp_proton"], capture_output=True, text=True, check=False)
    assert "ModuleNotFoundError" in project.stderr
