"""A trial whose process is killed: the next start takes away what it made, and nothing else (N-8)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcp_proton.config import folders as places
from mcp_proton.simulator import Simulator
from mcp_proton.storage.findings import FileFindings
from tests.unit.bridge.canary.nest import given

from .bridge_home import child, furnished, until

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.process


def everything(simulator: Simulator) -> object:
    account = simulator.account()
    return simulator.state(), sorted(account.label_path(one) for one in account.labels.values())


@pytest.mark.parametrize(
    ("step", "n"),
    [("after APPEND", 1), ("after UID MOVE", 2), ("after DELETE", 1)],
)
async def test_a_trial_that_is_killed_leaves_nothing_once_the_service_starts(step: str, n: int, tmp_path: Path) -> None:
    """N-8: SIGKILL; what was found before holds in the next process."""
    async with Simulator(users=[given()], event_delay=(0.05, 0.1)) as simulator:
        simulator.settings.version = "03.27.00"
        environment = furnished(tmp_path / "home", simulator)
        findings = FileFindings(places.find(environment).state / "findings")
        before = everything(simulator)
        simulator.faults.at(step, n, action="delay", seconds=3600.0)
        async with child(environment, "bridge_process.py", "fly") as flying:
            await until(lambda: not simulator.faults.steps, step)
            await flying.kill()
        assert findings.trace("me") is not None
        found = findings.of("me", "3.27.0")
        async with child(environment) as service:
            await until(lambda: findings.trace("me") is None, "it is cleared away")
            health = (await service.ask("accounts_health", account="me"))["accounts"][0]
        simulator.release_events()
        assert everything(simulator) == before
        assert findings.of("me", "3.27.0") == found
        assert "exact_removal" in health["unproved"] or "destroy" in (found or {})


async def test_what_one_process_proves_another_relies_on_at_once(tmp_path: Path) -> None:
    """N-8: a service that runs all along asks before, and not after; and says so in its capabilities."""
    async with Simulator(users=[given()], event_delay=(0.05, 0.1)) as simulator:
        simulator.settings.version = "03.27.00"
        environment = furnished(tmp_path / "home", simulator)
        async with child(environment) as service:
            await service.ask("accounts_health", account="me")
            told = await service.ask("capabilities_report", account="me")
            assert told["features"]["move"] == "unverified"
            async with child(environment, "bridge_process.py", "fly") as flying:
                assert flying.running.stdout is not None
                assert b'"destroy": true' in await flying.running.stdout.readline()
            told = await service.ask("capabilities_report", account="me")
            assert told["features"]["move"] == "available"
            assert {
                row["evidence"] for row in told["effects"] if row["verb"] == "destroy" and not row.get("refused")
            } == {"live"}
