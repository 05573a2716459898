"""Two messages in the trash of a simulated Bridge, under the preset Assistant: one is to be deleted for good, one is not."""

from __future__ import annotations

import re
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.surfaces.cli.lab import Bridge, Owner

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pytest

PROGRAM = Path(sys.executable).with_name("mcp-proton")
CONDEMNED, SPARED = "the one to be deleted", "the one beside it"


@dataclass(frozen=True)
class Trash:
    """The owner of that trash. `before` is all the mail there was, `passphrase` the file with what approves a deletion."""

    bridge: Bridge
    owner: Owner
    passphrase: Path
    before: Mapping[str, Any]

    def state(self) -> Mapping[str, Any]:
        """Return all the mail there is."""
        return self.bridge.simulator.state()

    def without(self, subject: str) -> Mapping[str, Any]:
        """Return what is left once exactly that message is gone."""
        return {key: one for key, one in self.before.items() if key != subject}

    def waiting(self, results: Sequence[str]) -> str:
        """Return the operation that waits, as the agent was told it: nothing was done yet."""
        found = re.search(r"op_[a-z2-7]{16}", results[-1])
        assert found is not None, results[-1][:400]
        assert self.state() == self.before, "nothing was done before the owner answered"
        return found[0]

    def approve(self, operation: str, *more: str | Path) -> subprocess.CompletedProcess[str]:
        """Type the command, in a shell without a terminal."""
        return subprocess.run(
            [PROGRAM, "approvals", "approve", operation, *more],
            env=self.owner.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def approved(self, results: Sequence[str]) -> dict[str, Any]:
        """Approve what waits with the passphrase; return how the agent goes on with it."""
        operation = self.waiting(results)
        done = self.approve(operation, "--passphrase-file", self.passphrase)
        assert done.returncode == 0, done.stdout + done.stderr
        return {"operation_id": operation}


def condemning(subject: str, results: Sequence[str]) -> dict[str, Any]:
    """Name the handle beside a subject in a list the agent has seen, copied as a model would."""
    row = re.search(r"personal\.[a-z2-7]{6}\.[A-Za-z0-9_-]+(?=[^{}]*" + subject + ")", "\n".join(results))
    assert row is not None, results[-1][:400]
    return {"messages": [row[0]]}


@contextmanager
def filled(home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Trash]:
    """Start the Bridge, connect the owner to it, and put the two messages in."""
    monkeypatch.setenv("MCP_PROTON_HOME", str(home))
    with Bridge() as bridge:
        owner = Owner(home, capsys)
        owner.connect(bridge, preset="assistant")
        passphrase = owner.file("passphrase", "correct horse battery\n")
        assert owner.run("passphrase", "--file", passphrase).code == 0
        for subject in (CONDEMNED, SPARED):
            raw = f"From: Anna <anna@example.org>\r\nTo: {bridge.username}\r\nSubject: {subject}\r\n\r\nHello.\r\n"
            bridge.call(lambda one, raw=raw, key=subject: one.deliver(raw.encode(), places=("trash",), key=key))  # type: ignore[misc]
        bridge.call(lambda one: one.release_events())
        yield Trash(bridge, owner, passphrase, bridge.simulator.state())
