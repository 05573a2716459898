"""How many sessions are open, and whose they are (J-102)."""

from __future__ import annotations

from mcp_proton.mcp.http.sessions import Sessions
from tests.unit.mcp.test_rates import Clock


def test_a_session_ends_unused_and_lives_while_it_is_used():
    clock = Clock()
    sessions = Sessions(10, 60.0, clock)
    sessions.opened("s", "hermes")
    clock.at = 59.0
    sessions.begin("s")
    clock.at = 500.0
    assert sessions.belongs("s", "hermes"), "a request of it is being served"
    sessions.end("s")
    clock.at = 559.0
    assert sessions.belongs("s", "hermes")
    clock.at = 561.0
    assert not sessions.belongs("s", "hermes")
    assert len(sessions) == 0


def test_a_session_belongs_to_who_opened_it():
    sessions = Sessions(10, 60.0, Clock())
    sessions.opened("s", "hermes")
    assert not sessions.belongs("s", "goose")
    assert not sessions.belongs("t", "hermes")
    sessions.ended("s")
    assert not sessions.belongs("s", "hermes")


def test_when_all_are_taken_it_says_when_one_may_be_free():
    clock = Clock()
    sessions = Sessions(4, 60.0, clock)
    for number in range(3):
        assert sessions.room("hermes") == 0.0
        sessions.opened(str(number), "hermes")
        clock.at += 1.0
    assert sessions.room("hermes") == 57.0, "its share is used up; its oldest ends then"
    assert sessions.room("goose") == 0.0, "another can always get in"
    sessions.opened("g", "goose")
    assert sessions.room("goose") > 0
    assert sessions.clients == 2
    clock.at = 61.0
    assert sessions.room("hermes") == 0.0
