"""Windows over UIDs and the compact spelling of sets."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_proton.domain.errors import Invalid
from mcp_proton.imap.finding import windows
from mcp_proton.imap.protocol.uids import LARGEST, UidSet

UNHURRIED = settings(deadline=None)  # a busy machine is no fault

UIDS = st.sets(st.integers(1, 5_000), max_size=80).map(sorted)


@UNHURRIED
@given(UIDS, st.integers(1, 30))
def test_both_ends_visit_every_uid_once(uids: list[int], size: int) -> None:
    visited = [uid for window in windows.both_ends(uids, size) for uid in window]
    assert sorted(visited) == uids


def test_both_ends_begin_at_the_highest_and_go_on_at_the_lowest() -> None:
    assert [list(window) for window in windows.both_ends([1, 2, 3, 7, 8, 9], 2)] == [[8, 9], [1, 2], [3, 7]]


@UNHURRIED
@given(UIDS)
def test_a_set_is_read_as_it_was_written(uids: list[int]) -> None:
    ranges = windows.union(UidSet.of(uids))
    assert windows.read_compact(windows.compact(ranges)) == ranges


@UNHURRIED
@given(UIDS, UIDS)
def test_a_union_holds_what_either_holds(left: list[int], right: list[int]) -> None:
    both = windows.union(UidSet.of(left), UidSet.of(right))
    assert list(both) == sorted({*left, *right})


@pytest.mark.parametrize(
    "text",
    ["0", "-", "1-", "1..2", "é", "1 2", "zzzzzzzzzzzzz", f"1-{windows.base36(LARGEST)}", ".".join(["1"] * 2_001)],
)
def test_what_no_cursor_holds_is_refused(text: str) -> None:
    with pytest.raises(Invalid):
        windows.read_compact(text)
