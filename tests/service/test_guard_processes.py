"""The guard for Trash over the death of a process: the star is owed in the journal, and the next start pays it (N-16)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from mcp_proton.simulator import GivenMessage, GivenUser, Simulator
from tests.contract.letters import letter

from .bridge_home import child, furnished, until

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.process


def bridge() -> Simulator:
    """Two letters in INBOX, one of them with the owner's own star; a server that leaves stars alone in Trash."""
    messages = [
        GivenMessage(letter("ours", number=1), key="ours", places=("inbox",)),
        GivenMessage(letter("starred", number=2), key="starred", places=("inbox", "starred")),
    ]
    user = GivenUser("alice", ["alice@proton.local"], messages=messages)
    return Simulator(users=[user], model="fake", event_delay=(0.05, 0.1))


def places(simulator: Simulator, key: str) -> set[str]:
    return set(simulator.state()[key]["in"]) - {"All Mail", "AllSent", "AllDrafts"}  # type: ignore[call-overload]


@pytest.mark.parametrize("step", ["after UID STORE", "before UID MOVE", "after UID MOVE"])
async def test_a_process_killed_between_star_and_unstar_is_paid_for_by_the_next_start(
    step: str, tmp_path: Path
) -> None:
    """N-16: also the star of a message whose move never came; the owner's own star stays."""
    async with bridge() as simulator:
        environment = furnished(tmp_path / "home", simulator, guarded=True)
        async with child(environment) as first:
            listed = await first.ask("messages_list", account="me")
            handles = [row["handle"] for row in listed["messages"]]
            assert len(handles) == 2
            simulator.faults.at(step, action="delay", seconds=3600.0)
            await first.send("messages_trash", messages=handles)
            await until(lambda: not simulator.faults.steps, step)
            await until(lambda: "Starred" in places(simulator, "ours"), "the star of the guard")
            await first.kill()
        async with child(environment) as second:
            await until(lambda: "Starred" not in places(simulator, "ours"), "the star is taken off")
            records = (await second.ask("operations_list"))["operations"]
            record = next(one for one in records if one["operation"] == "messages_move")
            told: dict[str, Any] = {}
            while "items" not in told:  # the start itself may still be at it
                told = await second.ask("operations_status", operation_id=record["operation_id"], items=True)
        moved = step == "after UID MOVE"
        assert places(simulator, "ours") == {"Trash" if moved else "Inbox"}
        assert "Starred" in places(simulator, "starred"), "the owner's own star is no debt"
        assert {one["fate"] for one in told["items"]} <= {"done", "failed"}, str(told)


async def test_the_owners_choice_in_config_toml_reaches_the_move(tmp_path: Path) -> None:
    """N-16: with `guarded_trash` a star is set and taken off again; without it none is ever set."""
    for guarded in (True, False):
        async with bridge() as simulator:
            environment = furnished(tmp_path / str(guarded), simulator, guarded=guarded)
            starred: list[str] = []
            account = simulator.account()
            original = account.label

            def spy(ids: list[str], label: str, original: object = original, into: list[str] = starred) -> None:
                into.append(label)
                original(ids, label)  # type: ignore[operator]

            account.label = spy  # type: ignore[method-assign, assignment]
            async with child(environment) as running:
                listed = await running.ask("messages_list", account="me")
                handles = [row["handle"] for row in listed["messages"] if row["subject"] == "ours"]
                told = await running.ask("messages_trash", messages=handles)
                assert told["status"] == "ok", told
                await until(lambda: places(simulator, "ours") == {"Trash"}, "in Trash, without a star")
            assert (account.label_id("starred") in starred) is guarded
