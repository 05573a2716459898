"""Agents that are large to install, with a scripted model, at the service: `make clients`. Not part of `make test`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from mcp_proton.admin.flows.flow import flow
from mcp_proton.admin.programs import Program, Remote, connected
from tests.surfaces.hermes.script import Call, Say, Step

from .agents import AGENTS, run
from .door import Door
from .holding import hold

if TYPE_CHECKING:
    from pathlib import Path

    from tests.surfaces.http.process import Service

pytestmark = [pytest.mark.process, pytest.mark.timeout(300)]
SCRIPT: list[Step] = [
    Call("mailboxes_list", {}),
    *[Call("messages_get", {"message": "demo.aaaaaa.1-1"})] * 4,
    Call("messages_list", {"limit": 2}),
    Say("DONE {last}"),
]


@pytest.mark.parametrize("name", AGENTS)
def test_an_agent_configured_as_we_print_it_reads_and_is_never_shut_out(
    demo: Service, tmp_path: Path, name: str
) -> None:
    """N-15: four mistakes in a row are answers; and what `doctor --client` says for it is what it says."""
    token_file = tmp_path / "token"
    token_file.write_text(f"{demo.demo_token}\n")
    token_file.chmod(0o600)
    with Door(demo.url) as door:
        turn = run(name, tmp_path, Remote(door.url, token_file), demo.demo_token, SCRIPT)
        heard = list(door.heard)
    assert turn.answer.startswith("DONE"), (turn.answer, turn.errors[-2000:])
    assert '"INBOX"' in turn.results("mailboxes_list")[0].replace("\\", "")
    assert all("stale" in one for one in turn.results("messages_get"))
    assert '"messages"' in turn.results("messages_list")[0].replace("\\", "")
    assert demo.demo_token not in json.dumps([one.result for one in turn.exchanges])
    if name in set(Program):
        hold(flow(Program(name)), heard)


@pytest.mark.parametrize("name", AGENTS)
def test_an_agent_that_starts_the_connector_reads_too(demo: Service, tmp_path: Path, name: str) -> None:
    """P-05: the way of programs that speak no HTTP, and to a Unix socket."""
    token_file = tmp_path / "token"
    token_file.write_text(f"{demo.demo_token}\n")
    token_file.chmod(0o600)
    turn = run(
        name, tmp_path, connected(demo.url, token_file), "", [Call("messages_list", {"limit": 2}), Say("DONE {last}")]
    )
    assert turn.answer.startswith("DONE"), (turn.answer, turn.errors[-2000:])
    assert '"messages"' in turn.results("messages_list")[0].replace("\\", "")
