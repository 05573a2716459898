"""The MCP Inspector's command line at the service, in both eras (N-15)."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from . import install

if TYPE_CHECKING:
    from tests.surfaces.http.process import Service

pytestmark = [pytest.mark.process, pytest.mark.timeout(120)]


def inspect(service: Service, *words: str) -> dict[str, Any]:
    program = install.small() / "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"
    done = subprocess.run(
        [install.node(), program, "--cli", service.url, "--transport", "http",
         "--header", f"Authorization: Bearer {service.demo_token}", *words, "--format", "json", "-q"],
        capture_output=True, text=True, check=False, timeout=100, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:] + done.stdout[-500:]
    told: dict[str, Any] = json.loads(done.stdout)
    return told["result"]


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_inspector_finds_no_schema_that_some_client_could_not_read(demo: Service, era: str) -> None:
    """`--strict` ends with 6 where a schema is not portable."""
    tools = inspect(demo, "--method", "tools/list", "--strict", "--protocol-era", era)["tools"]
    assert {"messages_list", "messages_get"} <= {one["name"] for one in tools}


def test_the_inspector_calls_a_tool_and_gets_a_prompt(demo: Service) -> None:
    told = inspect(demo, "--method", "tools/call", "--tool-name", "messages_list", "--tool-arg", "limit=1")
    assert told["structuredContent"]["status"] == "ok"
    names = [one["name"] for one in inspect(demo, "--method", "prompts/list")["prompts"]]
    assert names
