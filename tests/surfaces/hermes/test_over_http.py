"""A real Hermes Agent at the always-on service, configured as we print it: it asks, the owner approves, it goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import yaml

from mcp_proton.admin.flows.flow import flow
from mcp_proton.admin.programs import Program
from tests.clients.door import Door
from tests.clients.holding import hold
from tests.surfaces.cli.lab import Bridge, Owner
from tests.surfaces.http.process import Service

from .script import Call, Say, Step
from .test_deleting import CONDEMNED, PASSPHRASE, SPARED, approve, handle_of, operation_in

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from .agent import Hermes

pytestmark = [pytest.mark.process, pytest.mark.timeout(300)]


def test_hermes_over_http_deletes_what_the_owner_approved_and_nothing_else(
    hermes: Hermes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """N-15, P-40, P-41: five refusals in a row do not lock it out; what the flow of `doctor --client` says is what it does."""
    monkeypatch.setenv("MCP_PROTON_HOME", str(tmp_path / "home"))
    with Bridge() as bridge:
        owner = Owner(tmp_path / "home", capsys)
        owner.connect(bridge, preset="assistant")
        passphrase = owner.file("passphrase", PASSPHRASE + "\n")
        assert owner.run("passphrase", "--file", passphrase).code == 0
        owner.run("clients", "add", "hermes", "--profile", "full")
        token = owner.json("clients", "rotate", "hermes")["token"]
        printed = yaml.safe_load(owner.json("clients", "config", "hermes")["configuration"])["mcp_servers"]["mail"]
        for subject in (CONDEMNED, SPARED):
            raw = f"From: Anna <anna@example.org>\r\nTo: {bridge.username}\r\nSubject: {subject}\r\n\r\nHello.\r\n"
            bridge.call(lambda one, raw=raw, key=subject: one.deliver(raw.encode(), places=("trash",), key=key))  # type: ignore[misc]
        bridge.call(lambda one: one.release_events())
        before = bridge.simulator.state()

        def approving(results: Sequence[str]) -> dict[str, Any]:
            """While the agent works, the owner answers in a shell of their own."""
            operation = operation_in(results)
            assert bridge.simulator.state() == before, "nothing was done before the owner answered"
            done = approve(owner, operation, "--passphrase-file", str(passphrase))
            assert done.returncode == 0, done.stdout + done.stderr
            return {"operation_id": operation}

        refused = Call("messages_get", {"message": "personal.aaaaaa.1-1"})
        script: list[Step] = [
            *[refused] * 5,
            Call("messages_list", {"mailbox": "trash", "limit": 10}),
            Call("messages_destroy", lambda results: {"messages": [handle_of(CONDEMNED, results)]}),
            Call("operations_resume", approving),
            Say("done: {last}"),
        ]
        with Service("--listen", "127.0.0.1:0", home=owner.home) as service, Door(service.url) as door:
            turn = hermes.reach({**printed, "url": door.url}, script, {"MCP_PROTON_TOKEN": token})
        assert "approval_pending" in turn.results("messages_destroy")[0], turn.errors
        assert '"ok"' in turn.results("operations_resume")[0].replace("\\", "")
        assert bridge.simulator.state() == {key: one for key, one in before.items() if key != CONDEMNED}
        assert token not in str([call.result for call in turn.exchanges])
        hold(flow(Program.HERMES), door.heard)
