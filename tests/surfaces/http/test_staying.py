"""P-06: what has to go on needs the always-on service; a process over stdio ends with its client, and we say so."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from mcp_proton.admin import cli
from tests.surfaces.http.process import PATIENCE, ROOT, Service
from tests.surfaces.http.speaking import Raw, session

SHAKEN = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}


@pytest.mark.process
def test_a_process_over_stdio_ends_with_its_client() -> None:
    given = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": SHAKEN}) + "\n"
    words = [sys.executable, "-m", "mcp_proton", "mcp", "--demo"]
    ended = subprocess.run(
        words, input=given, capture_output=True, text=True, check=False, timeout=PATIENCE,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT / "src")},
    )  # fmt: skip
    assert json.loads(ended.stdout.splitlines()[0])["result"]["serverInfo"]
    assert ended.returncode == 0


@pytest.mark.process
async def test_the_service_stays_when_its_last_client_goes() -> None:
    with Service("--demo", "--listen", "127.0.0.1:0") as service:
        for _ in range(2):
            async with session(service.url, service.demo_token) as client:
                assert (await client.list_tools()).tools
            with Raw(service.url) as raw:
                assert raw.http.get(service.url.replace("/mcp", "/health")).json()["status"] == "ok"
        assert service.end() == 0


def section(page: str, heading: str) -> str:
    """Return what stands under a heading, blanks evened out."""
    found = re.search(rf"(?ms)^#+ {re.escape(heading)}\n(.*?)(?=^#+ |\Z)", Path(ROOT, page).read_text())
    assert found is not None
    return " ".join(found[1].split())


@pytest.mark.parametrize(
    ("command", "named"), [("mcp", "It ends with its client"), ("serve", "It stays when clients go")]
)
def test_the_help_of_each_way_says_what_needs_the_service(
    command: str, named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run([command, "--help"]) == 0
    is_told(" ".join(capsys.readouterr().out.split()), named)


@pytest.mark.parametrize(
    ("page", "heading", "named"),
    [
        ("docs/deployment.md", "Why always on", "with the always-on service"),
        ("docs/clients.md", "Clients", "[always-on service](deployment.md#why-always-on)"),
    ],
)
def test_whoever_chooses_a_way_is_told_what_needs_the_service(page: str, heading: str, named: str) -> None:
    is_told(section(page, heading), named)


def is_told(text: str, named: str) -> None:
    assert named in text
    for word in ("watching mail", "schedules", "work in the background"):
        assert word in text
