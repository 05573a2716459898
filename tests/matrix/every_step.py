"""The whole fault matrix, for `make faults`: what each operation says to the server is found out first, then every fault is
played at every step. Hours rather than minutes on a small machine; name operations with `-k` to play only theirs.

On a Bridge, and on JMAP. A command that is sent many times (SELECT of one mailbox after another) is hit the first three
times and the last.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.matrix.acts import ACTS
from tests.matrix.cells import Cell, play
from tests.matrix.laws import broken
from tests.matrix.on_jmap import JMAP_ACTS, on_jmap
from tests.matrix.test_matrix import HITS
from tests.matrix.world import on_simulator
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


SERVERS: list[tuple[str, str]] = [*(("bridge", name) for name in ACTS), *(("jmap", name) for name in JMAP_ACTS)]


@pytest.mark.parametrize(("fault", "when"), HITS, ids=str)
@pytest.mark.parametrize(("server", "name"), SERVERS, ids=str)
async def test_nothing_is_lost_doubled_unapproved_or_unexplained_at_any_step(
    server: str, name: str, fault: str, when: When, nursery: Nursery, template: Path, tmp_path: Path
) -> None:
    acts, opening = (JMAP_ACTS, on_jmap) if server == "jmap" else (ACTS, on_simulator)
    undisturbed = await play(Cell(name, acts=acts), nursery, template, tmp_path / "undisturbed", opening)
    wrong: dict[str, list[str]] = {}
    for number, step in enumerate(steps_of(undisturbed.steps)):
        cell = Cell(name, fault, when, step, acts)
        told = broken(cell, await play(cell, nursery, template, tmp_path / str(number), opening))
        if told:
            wrong[str(cell)] = told
    assert wrong == {}
