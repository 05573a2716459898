"""The journal's states move only along the table (P-33)."""

import pytest

from mcp_proton.domain.errors import Conflict
from mcp_proton.domain.outcome import MOVES, SETTLED, Status, check_move

PAIRS = [(before, after) for before in Status for after in Status]


@pytest.mark.parametrize(("before", "after"), PAIRS)
def test_every_pair_of_states_is_a_legal_move_or_a_conflict(before: Status, after: Status) -> None:
    if after in MOVES[before]:
        check_move(before, after)
    else:
        with pytest.raises(Conflict):
            check_move(before, after)


def test_nothing_leaves_a_settled_state_and_nothing_returns_to_waiting() -> None:
    assert all(not MOVES[state] for state in SETTLED)
    assert not any(Status.PENDING in after for after in MOVES.values())


def test_only_an_approved_operation_is_ever_executed_from_waiting() -> None:
    assert [before for before in Status if Status.EXECUTING in MOVES[before]] == [Status.APPROVED]
