"""Token buckets: how often, and when to come back (J-100, J-101)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mcp_proton.mcp.http.rates import KEYS, Rate, starting


class Clock:
    def __init__(self) -> None:
        self.at = 0.0

    def __call__(self) -> float:
        return self.at


def test_so_many_at_once_and_then_as_they_come_back():
    clock = Clock()
    rate = Rate(3, 60.0, clock)
    assert [rate.take("a") for _ in range(4)] == [0.0, 0.0, 0.0, 20.0]
    clock.at = 20.0
    assert rate.take("a") == 0.0
    assert rate.take("a") == 20.0


def test_every_key_must_have_room_and_nothing_is_taken_where_one_has_not():
    rate = Rate(2, 60.0, Clock())
    rate.take("subject")
    rate.take("subject")
    assert rate.take("client", "subject") > 0
    assert rate.take("client") == 0.0
    assert rate.take("client") == 0.0


def test_nought_is_no_limit():
    rate = Rate(0, 60.0, Clock())
    assert not any(rate.take("a") for _ in range(10_000))


def test_a_burst_and_one_more_a_minute():
    clock = Clock()
    rate = starting(32, 60.0, clock)
    assert not any(rate.take("a") for _ in range(32))
    assert rate.take("a") == 60.0
    clock.at = 60.0
    assert rate.take("a") == 0.0


def test_memory_is_bounded_whatever_the_keys():
    rate = Rate(1, 60.0, Clock())
    for number in range(3 * KEYS):
        rate.take(str(number))
    assert len(rate._buckets) == KEYS


@given(st.lists(st.floats(0, 30), max_size=60), st.integers(1, 20))
def test_whoever_waits_as_told_gets_in_and_nobody_gets_more_than_the_rate(steps, most):
    clock = Clock()
    rate = Rate(most, 60.0, clock)
    for taken, step in enumerate(steps, start=1):
        clock.at += step
        wait = rate.take("a")
        if wait:
            clock.at += wait + 1e-6
            assert rate.take("a") == 0.0
        assert taken <= most + clock.at * most / 60.0 + 1e-3
