"""Several processes send on one store: one mail leaves once, limits hold, and what a killed one began is found out (P-92)."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .test_processes import Child, store

__all__ = ["store"]
pytestmark = pytest.mark.process
MAIL = {"to": ["anna@example.org"], "subject": "Report", "text": "Here it is."}
KNOWN = {"recipients": ["@example.org"]}
OPEN = {"preset": "autonomous", "boundaries": KNOWN}
FEW = {"preset": "autonomous", "boundaries": KNOWN | {"rates": {"send": "3/hour"}}}


class Sender(Child):
    """A process that sends."""

    def __init__(self, store: Path, outside: Path) -> None:
        command = [sys.executable, str(Path(__file__).with_name("sending_process.py")), str(store), str(outside)]
        self.running = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


class Desk:
    """Two processes, and the world outside."""

    def __init__(self, store: Path, outside: Path) -> None:
        self.store, self.outside = store, outside
        self.one, self.two = Sender(store, outside), Sender(store, outside)
        for child in (self.one, self.two):
            child.ask(rules=OPEN)

    @property
    def left(self) -> int:
        return len(list(self.outside.iterdir()))

    def both(self, times: int = 1, **arguments: Any) -> list[dict[str, Any]]:
        """Let both send at once."""
        answers = []
        for number in range(times):
            for child in (self.one, self.two):
                child.send(
                    ask="mail_send", **{"with": MAIL | {key: f"{value} {number}" for key, value in arguments.items()}}
                )
            answers += [json.loads(child.line()) for child in (self.one, self.two)]
        return answers


@pytest.fixture
def desk(store: Path, tmp_path: Path) -> Iterator[Desk]:
    outside = tmp_path / "outside"
    outside.mkdir()
    made = Desk(store, outside)
    yield made
    for child in (made.one, made.two):
        child.close(kill=child.running.poll() is None)


def test_two_processes_that_send_the_same_at_once_send_it_once(desk: Desk) -> None:
    """N-2, B-04."""
    for number in range(5):
        told = desk.both(subject=f"Report {number}")
        assert sorted(one["status"] for one in told) == ["conflict", "ok"]
        assert desk.left == number + 1


def test_a_limit_is_counted_across_processes(desk: Desk) -> None:
    """P-18."""
    for child in (desk.one, desk.two):
        child.ask(rules=FEW)
    for number in range(4):
        desk.one.send(ask="mail_send", **{"with": MAIL | {"subject": f"one {number}"}})
        desk.two.send(ask="mail_send", **{"with": MAIL | {"subject": f"two {number}"}})
        for child in (desk.one, desk.two):
            child.line()
    assert desk.left == 3


@pytest.mark.parametrize("when", ["before", "after"])
def test_what_a_killed_process_began_is_found_out_by_the_next_and_not_sent_again(desk: Desk, when: str) -> None:
    """P-92, A-43, A-94."""
    desk.one.ask(hang=when)
    desk.one.send(ask="mail_send", **{"with": MAIL})
    assert desk.one.line() == "hanging"
    desk.one.running.kill()
    desk.one.running.wait(20)
    desk.two.ask(wind=60)  # until the dead process counts as gone
    (waiting,) = desk.two.ask(ask="operations_list", owner=True)["operations"]
    again = desk.two.ask(ask="mail_send", **{"with": MAIL})
    assert (again["status"], again["code"]) == ("conflict", "may_be_sent_already")
    desk.two.ask(wind=120)
    status = {"ask": "operations_status", "owner": True, "with": {"operation_id": waiting["operation_id"]}}
    found = desk.two.ask(**status)
    assert found["state"] == ("succeeded" if when == "after" else "delivery_unknown")  # it may be on its way still
    desk.two.ask(wind=120)
    now = desk.two.ask(**status)
    assert now["state"] == ("succeeded" if when == "after" else "failed")
    assert desk.left == (when == "after")
