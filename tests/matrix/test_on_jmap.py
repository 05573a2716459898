"""The fault matrix on JMAP (N-16, N-1, A-90…A-94): the connection is cut before and after the server acted, the server says it
failed or did some of it, our process is killed, another device is faster. A change is done once or not at all, and told so.

Here are a few cells of every operation; `make faults` plays every fault at every step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcp_proton.domain.effects import CHANGING
from mcp_proton.services.door.registry import primitive
from tests.matrix.acts import CATALOG, ELSEWHERE
from tests.matrix.cells import FAULTS, Cell, play
from tests.matrix.laws import broken
from tests.matrix.on_jmap import JMAP_ACTS, JMAP_UNSUPPORTED, on_jmap
from tests.matrix.test_matrix import HITS, LEFT_OUT
from tests.servers.relay import Step

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.matrix.process import Nursery

pytestmark = [pytest.mark.process, pytest.mark.timeout(180)]


def chosen() -> Iterator[Cell]:
    """At every kind of write one hit: which one goes on from operation to operation."""
    number = 0
    for name, act in JMAP_ACTS.items():
        for verb in act.writes:
            fault, when = HITS[number % len(HITS)]
            yield Cell(name, fault, when, Step(verb, 0), JMAP_ACTS)
            number += 1


CHOSEN = list(chosen())


@pytest.mark.parametrize("cell", CHOSEN, ids=str)
async def test_nothing_is_lost_doubled_unapproved_or_unexplained_on_jmap(
    cell: Cell, nursery: Nursery, template: Path, tmp_path: Path
) -> None:
    played = await play(cell, nursery, template, tmp_path / "state", on_jmap)
    assert broken(cell, played) == []
    assert played.sprung, f"{cell.step} is no step of this: {[str(one) for one in played.steps]}"


async def test_what_jmap_has_nothing_for_is_refused_before_anybody_is_asked(
    nursery: Nursery, template: Path, tmp_path: Path
) -> None:
    for name in JMAP_UNSUPPORTED:
        played = await play(Cell(name, acts={}), nursery, template, tmp_path / "state", on_jmap)
        assert played.ready["refused"]["status"] == "unsupported"


def test_every_fault_and_every_operation_that_changes_mail_is_played_on_jmap() -> None:
    covered = {act.operation for act in JMAP_ACTS.values()} | JMAP_UNSUPPORTED | ELSEWHERE.keys()
    changing = {one.name for one in CATALOG if primitive(one).effects & CHANGING}
    assert changing - covered == LEFT_OUT
    assert {(cell.fault, cell.when) for cell in CHOSEN} == set(HITS)
    assert {cell.act for cell in CHOSEN} == set(JMAP_ACTS)
    assert set(FAULTS) >= {"lost", "cut", "killed"}
