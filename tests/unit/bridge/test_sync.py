"""Whether Bridge is still taking in the account (P-50): True or not known, never a false all-clear."""

from __future__ import annotations

from mcp_proton.bridge.sync import APART, Look, SyncWatch


class Counts:
    """A mailbox that grows by a step a look, on a clock that moves when paused for."""

    def __init__(self, step: int) -> None:
        self.step = step
        self.messages = 1_000
        self.now = 100.0
        self.pauses = 0
        self.looks = 0

    async def look(self) -> Look:
        self.looks += 1
        self.messages += self.step
        return Look(self.now, self.messages, self.messages + 1)

    async def pause(self, seconds: float) -> None:
        self.pauses += 1
        self.now += seconds


async def test_counts_that_move_in_bridges_steps_mean_syncing() -> None:
    counts = Counts(64)
    assert await SyncWatch(counts.look, counts.pause).syncing() is True


async def test_counts_that_rest_prove_nothing() -> None:
    counts = Counts(0)
    assert await SyncWatch(counts.look, counts.pause).syncing() is None


async def test_a_few_new_messages_are_no_sync() -> None:
    counts = Counts(3)
    assert await SyncWatch(counts.look, counts.pause).syncing() is None


async def test_asked_again_soon_one_look_is_enough() -> None:
    counts = Counts(64)
    watch = SyncWatch(counts.look, counts.pause)
    await watch.syncing()
    counts.now += APART * 2
    assert await watch.syncing() is True
    assert (counts.looks, counts.pauses) == (3, 1)
