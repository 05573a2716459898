"""The fault matrix on a Bridge: each operation × each step × each fault, a real store, real processes (N-16, A-90…A-94).

Every operation that changes mail waits for the owner, is approved, and is hit while it is done: the connection is lost or cut,
the server says no (done or not) or goodbye or nothing, UIDVALIDITY changes, another device moves the message, the process is
killed, the disk is full. Then the next process comes. Nothing is lost, doubled, unapproved or unexplained.

Here are the cells that write and some that read, every operation and every fault among them; `make faults` plays all steps.
To play them on another server, see `world.py`.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest

from mcp_proton.domain.effects import CHANGING
from mcp_proton.services.door.registry import primitive
from tests.matrix.acts import ACTS, CATALOG, ELSEWHERE, UNSUPPORTED
from tests.matrix.cells import FAULTS, Cell, Played, play
from tests.matrix.laws import broken
from tests.matrix.process import Nursery
from tests.servers.relay import Step, When

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.process, pytest.mark.timeout(180)]

HITS: list[tuple[str, When]] = [
    (fault, when)
    for fault, when in itertools.product(FAULTS, ("before", "after"))
    if (fault, when) not in {("cut", "before"), ("elsewhere", "after")} and not ("refused" in fault and when == "after")
]


def chosen() -> Iterator[Cell]:
    """At every kind of write half of the hits, at a read two: which ones goes on from operation to operation."""
    for number, (name, act) in enumerate(ACTS.items()):
        for kind, verb in enumerate(act.writes):
            for hit, (fault, when) in enumerate(HITS):
                if (hit + number + kind) % 2 == 0:
                    yield Cell(name, fault, when, Step(verb, 0))
        for turn in range(2):
            fault, when = HITS[(2 * number + turn) % len(HITS)]
            yield Cell(name, fault, when, Step(act.reads[(number + turn) % len(act.reads)], 0))


CHOSEN = list(chosen())


@pytest.mark.parametrize("cell", CHOSEN, ids=str)
async def test_nothing_is_lost_doubled_unapproved_or_unexplained(
    cell: Cell, nursery: Nursery, template: Path, tmp_path: Path
) -> None:
    played = await play(cell, nursery, template, tmp_path / "state")
    assert broken(cell, played) == []
    assert played.sprung, f"{cell.step} is no step of this: {[str(one) for one in played.steps]}"


@pytest.mark.parametrize("name", ACTS)
async def test_without_a_fault_everything_is_done(name: str, nursery: Nursery, template: Path, tmp_path: Path) -> None:
    cell = Cell(name)
    played = await play(cell, nursery, template, tmp_path / "state")
    assert broken(cell, played) == []
    assert _done(played), played.answer


def _done(played: Played) -> bool:
    assert played.answer is not None
    assert played.record is not None
    return (played.answer["status"], played.record.status) == ("ok", "succeeded")


@pytest.mark.parametrize("name", UNSUPPORTED)
async def test_what_a_bridge_has_nothing_for_is_refused_before_anybody_is_asked(
    name: str, nursery: Nursery, template: Path, tmp_path: Path
) -> None:
    played = await play(Cell(name), nursery, template, tmp_path / "state")
    assert played.ready["refused"]["status"] == "unsupported"


def test_every_operation_that_changes_mail_is_in_the_matrix() -> None:
    covered = {act.operation for act in ACTS.values()} | UNSUPPORTED.keys() | ELSEWHERE.keys()
    changing = {one.name for one in CATALOG if primitive(one).effects & CHANGING}
    assert changing - covered == LEFT_OUT


def test_at_least_300_cells_with_every_fault_and_every_operation_are_played_each_time() -> None:
    assert len(set(CHOSEN)) >= 300
    assert {(cell.fault, cell.when) for cell in CHOSEN} == set(HITS)
    assert {cell.act for cell in CHOSEN} == set(ACTS)


LEFT_OUT = {
    *(
        "artifacts_create",
        "artifacts_upload",
        "invitations_answer",
        "mail_forward",
        "mail_reply",
        "mail_reply_all",
        "mail_send",
    ),
    *("drafts_create", "drafts_discard", "drafts_send", "drafts_update"),
    "imports_create",
    "messages_transfer",
}
"""operations of other families, whose side effects have matrices of their own: `tests/service/test_sending_faults.py`,
`test_bridge_sending_faults.py`, `test_draft_faults.py`, `test_import_faults.py` and `test_transfer_faults.py`"""
