"""The official SDKs' clients at the service: TypeScript of both generations, and Python as Hermes pins it (N-15)."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.surfaces.hermes import install as hermes

from . import install

if TYPE_CHECKING:
    from tests.surfaces.http.process import Service

pytestmark = [pytest.mark.process, pytest.mark.timeout(120)]
HERE = Path(__file__).parent


def run(words: list[str | Path]) -> dict[str, Any]:
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=100, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr[-2000:]
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def judge(told: dict[str, Any]) -> None:
    """A list and a mistake are both answers; text and structure say the same."""
    assert told["server"]["name"] == "mcp-proton"
    assert "messages_list" in told["tools"]
    listed, mistaken = told["listed"], told["mistaken"]
    assert listed["structuredContent"]["status"] == "ok"
    assert len(listed["structuredContent"]["messages"]) == 2
    assert json.loads(listed["content"][0]["text"]) == listed["structuredContent"]
    assert not mistaken.get("isError")
    assert mistaken["structuredContent"]["status"] == "stale"
    assert "INBOX" in told["resource"]["contents"][0]["text"]


@pytest.mark.parametrize("generation", ["v1", "v2"])
def test_the_typescript_sdk_lists_reads_and_is_refused_in_order(demo: Service, generation: str) -> None:
    judge(run([install.node(), HERE / "sdk.mjs", install.small(), generation, demo.url, demo.demo_token]))


def test_the_python_sdk_of_the_first_generation_does_too(demo: Service) -> None:
    """Our own environment has the second, which the tests of HTTP speak with."""
    python = hermes.program().with_name("python")
    judge(run([python, HERE / "sdk_v1.py", demo.url, demo.demo_token]))
