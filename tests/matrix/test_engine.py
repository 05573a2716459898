"""Cells of the fault matrix on Proton's own engine (N-16): its calls to Proton fail, UIDVALIDITY changes, another device is
faster, connections end, our process is killed, and events are held back all the while.

What the server has no part in (a full disk, an answer that never comes) is played on the simulator alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.matrix.acts import ACTS
from tests.matrix.cells import Cell, play
from tests.matrix.laws import broken
from tests.matrix.test_matrix import HITS
from tests.matrix.world import on_engine
from tests.servers.relay import Step

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.matrix.process import Nursery
    from tests.servers.gluon_server import GluonServer

# The first run builds the program, which takes minutes.
pytestmark = [pytest.mark.server, pytest.mark.process, pytest.mark.timeout(900)]

FAULTS = frozenset(
    {
        "lost",
        "cut",
        "refused by Proton",
        "done and refused by Proton",
        "rebuilt",
        "elsewhere",
        "elsewhere, told",
        "killed",
    }
)
ENGINE_HITS = [(fault, when) for fault, when in HITS if fault in FAULTS]


def chosen() -> Iterator[Cell]:
    """At every kind of write of every operation every third hit: which ones goes on from operation to operation."""
    number = 0
    for name, act in ACTS.items():
        for verb in act.writes:
            for hit, (fault, when) in enumerate(ENGINE_HITS):
                if (hit + number) % 3 == 0:
                    yield Cell(name, fault, when, Step(verb, 0))
            number += 1


CHOSEN = list(chosen())


@pytest.mark.parametrize("cell", CHOSEN, ids=str)
async def test_nothing_is_lost_doubled_unapproved_or_unexplained_on_the_engine(
    cell: Cell, nursery: Nursery, template: Path, tmp_path: Path, gluon_server: GluonServer
) -> None:
    played = await play(cell, nursery, template, tmp_path / "state", on_engine(gluon_server))
    assert broken(cell, played) == []
    assert played.sprung, f"{cell.step} is no step of this: {[str(one) for one in played.steps]}"


def test_every_operation_and_every_fault_of_the_engine_is_among_them() -> None:
    assert {(cell.fault, cell.when) for cell in CHOSEN} == set(ENGINE_HITS)
    assert {cell.act for cell in CHOSEN} == set(ACTS)
    assert len(CHOSEN) >= 150
