"""The simulator against what each change was measured to do on a real Bridge, row by row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcp_proton.simulator import GivenLabel, GivenUser, Simulator
from tests.simulator.client import Client
from tests.simulator.effect_table import cases, table
from tests.simulator.effect_world import LABELS, World, differences

if TYPE_CHECKING:
    from mcp_proton.simulator import Certificate

SECTIONS = list(table())


@pytest.mark.parametrize("section", SECTIONS)
async def test_every_row_of_the_measured_effects_comes_out_the_same(section: str, certificate: Certificate) -> None:
    """B-05, B-06: COPY, MOVE, EXPUNGE, CLOSE, STORE and APPEND do to account and view what they did on a real Bridge."""
    user = GivenUser("alice", ["alice@proton.local"], labels=[GivenLabel.from_path(path) for path in LABELS])
    found, _ = cases(section)
    wrong: list[str] = []
    async with (
        Simulator(users=[user], model="fake", certificate=certificate) as sim,
        Client(sim) as client,
        Client(sim) as other,
    ):
        world = World(sim, client, other)
        for case in found:
            differing = differences(world, case, await world.outcome(case))
            wrong += [f"{case}\n    {name}: {pair}" for name, pair in differing.items()]
    assert not wrong, f"{len(wrong)} in {len(found)} cases:\n" + "\n".join(wrong[:20])


@pytest.mark.parametrize("section", SECTIONS)
def test_only_rows_of_the_other_fake_api_go_untried(section: str) -> None:
    rows = table()[section]["rows"]
    found, barren = cases(section)
    assert len(found) >= len(rows)
    for row in (rows[number] for number in barren):
        # For STORE the table calls a place `(to)` that it doesn't name.
        assert row.get("api") == "stock" or (section, row.get("place before")) == ("store", "(to)"), row


async def test_another_effect_than_the_measured_one_is_found_out(certificate: Certificate) -> None:
    user = GivenUser("alice", ["alice@proton.local"], labels=[GivenLabel.from_path(path) for path in LABELS])
    async with (
        Simulator(users=[user], model="real", certificate=certificate) as sim,
        Client(sim) as client,
        Client(sim) as other,
    ):
        world = World(sim, client, other)
        to_trash = [case for case in cases("copy")[0] if case["to"] == "Trash" and case["another label"] == "yes"]
        found = [differences(world, case, await world.outcome(case)) for case in to_trash]
    # The real API strips labels in Trash, the one that was measured doesn't.
    assert any("labels" in differing for differing in found)
