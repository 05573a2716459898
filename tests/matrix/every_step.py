"""The whole fault matrix, for `make faults`: what each operation says to the server is found out first, then every fault is
played at every step. Hours rather than minutes on a small machine; name operations with `-k` to play only theirs.

A command that is sent many times (SELECT of one mailbox after another) is hit the first three times and the last.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.matrix.acts import ACTS
from tests.matrix.cells import Cell, play
from tests.matrix.laws import broken
from tests.matrix.test_matrix import HITS
from tests.servers.relay import Step, When

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tests.matrix.process import Nursery

pytestmark = [pytest.mark.process, pytest.mark.timeout(3600)]
FIRST = 3


def steps_of(passed: Sequence[Step]) -> Iterator[Step]:
    """Those to be hit; what comes after the answer (LOGOUT) is none."""
    last = {step.verb: step.n for step in passed}
    for step in passed:
        if step.verb != "LOGOUT" and (step.n < FIRST or step.n == last[step.verb]):
            yield step


@pytest.mark.parametrize(("fault", "when"), HITS, ids=str)
@pytest.mark.parametrize("name", ACTS)
async def test_nothing_is_lost_doubled_unapproved_or_unexplained_at_any_step(
    name: str, fault: str, when: When, nursery: Nursery, template: Path, tmp_path: Path
) -> None:
    undisturbed = await play(Cell(name), nursery, template, tmp_path / "undisturbed")
    wrong: dict[str, list[str]] = {}
    for number, step in enumerate(steps_of(undisturbed.steps)):
        cell = Cell(name, fault, when, step)
        told = broken(cell, await play(cell, nursery, template, tmp_path / str(number)))
        if told:
            wrong[str(cell)] = told
    assert wrong == {}
