"""A real Hermes Agent asks to delete for good; the owner approves on the command line; exactly that message is gone."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.surfaces.cli.lab import Bridge, Owner
from tests.surfaces.hermes.script import Call, Say, Step

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.surfaces.hermes.agent import Hermes

pytestmark = [pytest.mark.process, pytest.mark.timeout(300)]

PROGRAM = Path(sys.executable).with_name("mcp-proton")
SERVER = [PROGRAM, "mcp", "--client", "hermes", "--profile", "full"]
PASSPHRASE = "correct horse battery"
CONDEMNED, SPARED = "the one to be deleted", "the one beside it"


def operation_in(results: Sequence[str]) -> str:
    """The operation that waits, as the agent was told it."""
    found = re.search(r"op_[a-z2-7]{16}", results[-1])
    assert found is not None, results[-1][:400]
    return found[0]


def handle_of(subject: str, results: Sequence[str]) -> str:
    """The handle beside a subject in a list, copied as a model would."""
    row = re.search(r"personal\.[a-z2-7]{6}\.[A-Za-z0-9_-]+(?=[^{}]*" + subject + ")", results[-1])
    assert row is not None, results[-1][:400]
    return row[0]


def test_a_permanent_deletion_waits_for_the_owner_and_takes_exactly_that_message(
    hermes: Hermes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """P-40, P-41, P-61, P-32 under the preset Assistant: asked, waited, approved with the passphrase, resumed, gone."""
    monkeypatch.setenv("MCP_PROTON_HOME", str(tmp_path / "home"))
    with Bridge() as bridge:
        owner = Owner(tmp_path / "home", capsys)
        owner.connect(bridge, preset="assistant")
        passphrase = owner.file("passphrase", PASSPHRASE + "\n")
        assert owner.run("passphrase", "--file", passphrase).code == 0
        for subject in (CONDEMNED, SPARED):
            raw = f"From: Anna <anna@example.org>\r\nTo: {bridge.username}\r\nSubject: {subject}\r\n\r\nHello.\r\n"
            bridge.call(lambda one, raw=raw, key=subject: one.deliver(raw.encode(), places=("trash",), key=key))  # type: ignore[misc]
        bridge.call(lambda one: one.release_events())
        before = bridge.simulator.state()

        def approving(results: Sequence[str]) -> dict[str, Any]:
            """While the agent works, the owner answers in a shell of their own."""
            operation = operation_in(results)
            assert bridge.simulator.state() == before, "nothing was done before the owner answered"
            refused = approve(owner, operation)
            assert refused.returncode == 4, "without a terminal or the passphrase nobody approves"
            done = approve(owner, operation, "--passphrase-file", str(passphrase))
            assert done.returncode == 0, done.stdout + done.stderr
            return {"operation_id": operation}

        script: list[Step] = [
            Call("messages_list", {"mailbox": "trash", "limit": 10}),
            Call("messages_destroy", lambda results: {"messages": [handle_of(CONDEMNED, results)]}),
            Call("operations_resume", lambda results: {"operation_id": operation_in(results)}),
            Call("operations_resume", approving),
            Call("operations_resume", lambda results: {"operation_id": operation_in(results)}),
            Say("done: {last}"),
        ]
        turn = hermes.run(SERVER, {"MCP_PROTON_HOME": str(owner.home)}, script)
        (asked,) = turn.results("messages_destroy")
        early, resumed, again = turn.results("operations_resume")
        assert "approval_pending" in asked, turn.errors
        assert "approval_pending" in early, "asking again is no approval"
        assert re.search(r"status\W+ok\b", resumed), resumed
        assert "already_done" in again
        after = bridge.simulator.state()
        assert before.keys() - after.keys() == {CONDEMNED}
        assert after == {key: one for key, one in before.items() if key != CONDEMNED}


def approve(owner: Owner, operation: str, *more: str) -> subprocess.CompletedProcess[str]:
    """Type the command."""
    return subprocess.run(
        [PROGRAM, "approvals", "approve", operation, *more],
        env=owner.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
