"""Several processes on one store: what one asks, another may claim, settle or go on with, and nothing is done twice."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from mcp_proton.services.acting import batches

from .process import Process

pytestmark = [pytest.mark.process, pytest.mark.timeout(300)]
LETTERS = 1_300
EXAMPLES = 30
ASKING = {"preset": "reader", "rules": [{"effect": "organize", "verdict": "ask"}]}
DENYING = {"preset": "reader"}


class Child:
    """A process of the service."""

    def __init__(self, store: Path, log: Path, letters: int = LETTERS, *more: int) -> None:
        command = [sys.executable, str(Path(__file__).with_name("process.py")), str(store), str(log), str(letters)]
        self.running = subprocess.Popen(
            [*command, *map(str, more)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def send(self, **command: Any) -> None:
        assert self.running.stdin is not None
        self.running.stdin.write(json.dumps(command) + "\n")
        self.running.stdin.flush()

    def line(self) -> str:
        assert self.running.stdout is not None
        return self.running.stdout.readline().strip()

    def ask(self, **command: Any) -> Any:
        self.send(**command)
        return json.loads(self.line())

    def close(self, *, kill: bool = False) -> None:
        if kill:
            self.running.kill()
        assert self.running.stdin is not None
        assert self.running.stdout is not None
        self.running.stdin.close()
        self.running.wait(20)
        self.running.stdout.close()


@pytest.fixture
def store(tmp_path: Path) -> Path:
    (tmp_path / "state").mkdir(mode=0o700)
    return tmp_path / "state" / "store.sqlite3"


@pytest.fixture
def pair(store: Path, tmp_path: Path) -> Iterator[tuple[Child, Child, Path]]:
    log = tmp_path / "log"
    log.touch()
    children = Child(store, log), Child(store, log)
    yield *children, log
    for child in children:
        child.close()


def handles(count: int) -> list[str]:
    account = Process(Path("unused"), Path("unused"), count).account
    box = account.boxes["INBOX"]
    return [f"personal.{box.mailbox.tag}.{box.generation}-{uid}" for uid in box.mail]


def test_journal_and_approval_keep_their_promises_whatever_two_processes_do(pair: tuple[Child, Child, Path]) -> None:
    """P-32…P-38, P-41: a state machine over asking, answering, expiring, revoking and resuming from both at once."""
    first, second, log = pair
    letters = iter(handles(LETTERS))

    class Approvals(RuleBasedStateMachine):
        def __init__(self) -> None:
            super().__init__()
            self.states: dict[str, str] = {}
            self.age: dict[str, int] = {}
            self.message: dict[str, str] = {}
            self.allowed = True
            for child in (first, second):
                child.ask(rules=ASKING)

        def one(self, data: st.DataObject) -> str:
            """One of the last two."""
            return data.draw(st.sampled_from(list(self.states)[-2:]))

        def waiting(self) -> int:
            return sum(state in ("pending", "approved") for state in self.states.values())

        def child(self, data: st.DataObject) -> Child:
            return data.draw(st.sampled_from([first, second]))

        @initialize()
        def ask_and_say_yes(self) -> None:
            """Else most runs would never come to a resume: whole runs go without one rule or another."""
            self.asked(first)
            (operation,) = self.states
            second.ask(ask="approvals_approve", owner=True, **{"with": {"operation_id": operation}})
            self.states[operation] = "approved"

        @precondition(lambda self: self.waiting() < 2)
        @rule(data=st.data())
        def ask(self, data: st.DataObject) -> None:
            self.asked(self.child(data))

        def asked(self, child: Child) -> None:
            handle = next(letters)
            told = child.ask(ask="messages_archive", **{"with": {"messages": [handle]}})
            assert told["status"] == ("approval_pending" if self.allowed else "refused")
            if self.allowed:
                self.states[told["operation_id"]] = "pending"
                self.age[told["operation_id"]] = 0
                self.message[told["operation_id"]] = handle

        @precondition(lambda self: self.states)
        @rule(data=st.data(), answer=st.sampled_from(["approve", "approve", "deny"]))
        def answer(self, data: st.DataObject, answer: str) -> None:
            operation = self.one(data)
            self.child(data).ask(ask=f"approvals_{answer}", owner=True, **{"with": {"operation_id": operation}})
            if self.states[operation] == "pending":
                self.states[operation] = {"approve": "approved", "deny": "denied"}[answer]

        @precondition(lambda self: self.states)
        @rule(data=st.data())
        def withdraw(self, data: st.DataObject) -> None:
            operation = self.one(data)
            self.child(data).ask(ask="operations_cancel", **{"with": {"operation_id": operation}})
            if self.states[operation] in ("pending", "approved"):
                self.states[operation] = "cancelled"

        @rule(minutes=st.sampled_from([1, 1, 10]))
        def wait(self, minutes: int) -> None:
            for child in (first, second):
                child.ask(wind=minutes * 60)
            for operation in self.states:
                self.age[operation] += minutes
                if self.age[operation] >= 15 and self.states[operation] in ("pending", "approved"):
                    self.states[operation] = "expired"

        @rule(allowed=st.sampled_from([True, True, False]))
        def change_the_rules(self, allowed: bool) -> None:
            self.allowed = allowed
            for child in (first, second):
                child.ask(rules=ASKING if self.allowed else DENYING)

        @precondition(lambda self: self.states)
        @rule(data=st.data())
        def resume_from_both_at_once(self, data: st.DataObject) -> None:
            self.resumed(self.one(data))

        def resumed(self, operation: str) -> None:
            for child in (first, second):
                child.send(ask="operations_resume", **{"with": {"operation_id": operation}})
            told = [json.loads(child.line()) for child in (first, second)]
            did = [one for one in told if one["status"] == "ok" and one.get("done") == 1]
            if self.states[operation] == "approved" and self.allowed:
                assert len(did) == 1, told
                self.states[operation] = "done"
            else:
                assert not did, told

        @invariant()
        def each_is_done_once_and_only_after_a_yes(self) -> None:
            acted = log.read_text().split()
            assert len(acted) == len(set(acted))
            for operation, state in self.states.items():
                assert (self.message[operation] in acted) == (state == "done")

        def teardown(self) -> None:
            """What is approved by now is resumed from both, too."""
            for operation in self.states:
                self.resumed(operation)
            self.each_is_done_once_and_only_after_a_yes()
            for operation, state in self.states.items():
                told = second.ask(ask="operations_status", **{"with": {"operation_id": operation}})
                assert told["state"] == {"done": "succeeded"}.get(state, state)

    run_state_machine_as_test(
        Approvals,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            database=None,
            derandomize=True,
            phases=[Phase.generate],  # a letter is asked about once, so what failed can't be played again to shrink it
        ),
    )
    assert len(log.read_text().split()) > EXAMPLES // 3, "hardly anything was ever done"


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_killed_process_is_settled_by_looking_and_never_repeated(
    store: Path, tmp_path: Path, when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A-93, A-94, P-37: SIGKILL in the middle of the second of three steps."""
    monkeypatch.setattr(batches, "CHUNK", 2)
    log, asked = tmp_path / "log", handles(6)
    log.touch()
    child = Child(store, log, 6)
    child.ask(ask="messages_archive", **{"with": {"messages": asked[:2]}})
    child.ask(hang=when)
    child.send(ask="messages_archive", **{"with": {"messages": asked[2:]}})
    assert child.line() == "hanging"
    child.close(kill=True)
    acted = log.read_text().split()

    process = Process(store, log, 6)
    inbox, archive = process.account.boxes["INBOX"], process.account.boxes["Archive"]
    for uid in range(1, 3 if when == "before" else 5):
        process.account.put(archive, inbox.mail.pop(uid).mail)  # what the dead process did to the mailbox
    (record, _) = await process.journal.recent(process.house.agent)
    assert record.status == "executing"
    told = await process.do({"ask": "operations_status", "with": {"operation_id": record.id, "items": True}})
    expected = ("failed", 0, 2) if when == "before" else ("partially_succeeded", 2, 0)
    assert (told["state"], told.get("done", 0), told.get("failed", 0)) == expected
    assert told["pending"] == 2
    assert log.read_text().split() == acted
    if when == "after":
        assert all(one["now"] and one["proof"] == "seen" for one in told["items"])
    await process.aclose()


async def test_the_next_process_goes_on_with_what_was_in_the_background(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P-62: the step in the middle is looked at, the rest is done, nothing twice."""
    monkeypatch.setattr(batches, "CHUNK", 2)
    log, asked = tmp_path / "log", handles(8)
    log.touch()
    child = Child(store, log, 8, 4)
    child.ask(hang="after")
    child.send(ask="messages_archive", **{"with": {"messages": asked}})
    lines = {child.line(), child.line()}
    assert "hanging" in lines
    told = json.loads((lines - {"hanging"}).pop())
    assert (told["code"], told["state"]) == ("in_progress", "executing")
    child.close(kill=True)

    process = Process(store, log, 8, 4)
    inbox, archive = process.account.boxes["INBOX"], process.account.boxes["Archive"]
    for uid in (1, 2):
        process.account.put(archive, inbox.mail.pop(uid).mail)
    await process.house.service._recovery.all()
    for task in list(process.house.service._performing.running.values()):
        await task
    status = await process.do({"ask": "operations_status", "with": {"operation_id": told["operation_id"]}})
    assert (status["state"], status["done"]) == ("succeeded", 8)
    assert sorted(log.read_text().split()) == sorted(asked)
    await process.aclose()


async def test_a_running_operation_is_not_settled_by_another_process(store: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.touch()
    child = Child(store, log, 4)
    child.ask(hang="before")
    child.send(ask="messages_archive", **{"with": {"messages": handles(4)}})
    assert child.line() == "hanging"
    process = Process(store, log, 4)
    await process.house.service._recovery.all()
    (record,) = await process.journal.recent(process.house.agent)
    assert (record.status, record.begun) == ("executing", 2)
    child.close(kill=True)
    await process.house.service._recovery.all()
    (record,) = await process.journal.recent(process.house.agent)
    assert record.status == "failed"
    assert not log.read_text()
    await process.aclose()
