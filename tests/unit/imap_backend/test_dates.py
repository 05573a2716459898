"""The order by date (P-52): right whatever order UIDs have, and extended, never shifted."""

from __future__ import annotations

from array import array
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_proton.imap.finding.dates import LATEST, DateIndex, seconds

UNHURRIED = settings(deadline=None)  # a busy machine is no fault

MAIL = st.dictionaries(st.integers(1, 400), st.integers(0, 50), max_size=60)


def index_of(mail: dict[int, int]) -> DateIndex:
    index = DateIndex(7)
    index.add(((date, uid) for uid, date in mail.items()), max(mail, default=0))
    return index


@UNHURRIED
@given(MAIL)
def test_newest_first_is_the_order_of_dates(mail: dict[int, int]) -> None:
    places = list(index_of(mail).newest())
    assert places == sorted(((date, uid) for uid, date in mail.items()), reverse=True)
    assert list(index_of(mail).oldest()) == places[::-1]


@UNHURRIED
@given(MAIL, st.integers(0, 50), st.integers(1, 400))
def test_a_page_goes_on_right_after_the_last_row(mail: dict[int, int], date: int, uid: int) -> None:
    index = index_of(mail)
    everything = set(index.newest())
    assert set(index.newest((date, uid))) == {place for place in everything if place < (date, uid)}
    assert set(index.oldest((date, uid))) == {place for place in everything if place > (date, uid)}


@UNHURRIED
@given(MAIL, MAIL)
def test_taking_in_twice_is_taking_in_at_once(first: dict[int, int], second: dict[int, int]) -> None:
    index = index_of(first)
    index.add(((date, uid) for uid, date in second.items()), max(second, default=0))
    assert list(index.newest()) == list(index_of(first | second).newest())


@UNHURRIED
@given(MAIL, st.sets(st.integers(1, 400)))
def test_what_was_expunged_is_left_out(mail: dict[int, int], gone: set[int]) -> None:
    left = {uid: date for uid, date in mail.items() if uid not in gone}
    forgetting, keeping = index_of(mail), index_of(mail)
    forgetting.forget(gone)
    keeping.keep(array("I", sorted(left)))
    assert list(forgetting.newest()) == list(keeping.newest()) == list(index_of(left).newest())


@UNHURRIED
@given(MAIL)
def test_an_index_is_loaded_as_it_was_saved(mail: dict[int, int]) -> None:
    index = index_of(mail)
    loaded = DateIndex.load(index.dump(), 7)
    assert loaded is not None
    assert list(loaded.newest()) == list(index.newest())
    assert loaded.upper == index.upper


@UNHURRIED
@given(st.binary(max_size=80))
def test_octets_that_are_no_index_are_not_taken_for_one(octets: bytes) -> None:
    loaded = DateIndex.load(octets, 7)
    assert loaded is None or loaded.dump() == octets


def test_an_index_of_another_uidvalidity_is_not_used() -> None:
    assert DateIndex.load(index_of({1: 5}).dump(), 8) is None


@pytest.mark.parametrize(
    ("moment", "kept"),
    [
        (None, 0),
        (datetime(1, 1, 1, tzinfo=UTC), 0),
        (datetime(1970, 1, 1, 0, 0, 9, tzinfo=UTC), 9),
        (datetime(9999, 12, 31, tzinfo=UTC), LATEST),
    ],
)
def test_odd_dates_are_kept_within_bounds(moment: datetime | None, kept: int) -> None:
    assert seconds(moment) == kept


def test_fifty_thousand_messages_take_less_than_a_megabyte() -> None:
    index = index_of({uid: uid * 60 for uid in range(1, 50_001)})
    assert len(index.dump()) < 450_000
