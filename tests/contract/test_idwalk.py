"""The contract: walking over all ids of a mailbox, without a gap or a double, or with another state (N-4, J-62)."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from mcp_proton.domain.errors import NotFound
from mcp_proton.domain.mail import Mailbox, Role
from mcp_proton.domain.walk import Interval
from tests.contract.letters import letter
from tests.contract.worlds import DAY, Mail, box, newest

if TYPE_CHECKING:
    from mcp_proton.domain.handles import Handle
    from mcp_proton.domain.walk import Stretch
    from tests.contract.worlds import World

WHOLE = Interval()


def letters(*minutes: int) -> list[Mail]:
    return [Mail(letter(f"number {n}", number=n), DAY + timedelta(minutes=n)) for n in minutes]


async def walked(world: World, limit: int, within: Interval = WHOLE) -> tuple[list[Handle], set[str]]:
    """All handles, and the states that were seen."""
    inbox, handles, states = await box(world), [], set()
    for _ in range(1_000):
        part = await world.backend.ids(inbox, within, len(handles), limit)
        handles += part.handles
        states.add(part.state)
        if not part.more:
            return handles, states
    raise AssertionError("the walk does not end")


async def subjects(world: World, handles: list[Handle]) -> list[str]:
    return [row.subject for row in await world.backend.envelopes(handles)]


@pytest.mark.parametrize("limit", [1, 3, 100])
async def test_a_walk_meets_every_message_once_the_oldest_first(world: World, limit: int) -> None:
    await world.put(*letters(4, 0, 8, 2, 6))
    handles, states = await walked(world, limit)
    assert await subjects(world, handles) == [f"number {n}" for n in (0, 2, 4, 6, 8)]
    assert len(states) == 1
    assert set(handles) == {row.handle for row in await newest(world)}


async def _state(world: World, within: Interval = WHOLE) -> Stretch:
    return await world.backend.ids(await box(world), within, 0, 2)


async def test_a_message_that_comes_during_a_walk_changes_its_state(world: World) -> None:
    await world.put(*letters(1, 2, 3))
    before = await _state(world)
    await world.put(*letters(0))
    after = await _state(world)
    assert (before.total, after.total) == (3, 4)
    assert before.state != after.state


async def test_a_message_that_goes_during_a_walk_changes_its_state(world: World) -> None:
    await world.put(*letters(1, 2, 3))
    before = await _state(world)
    await world.backend.move([before.handles[1]], await box(world, Role.TRASH))
    await world.settle()
    after = await _state(world)
    assert (before.total, after.total) == (3, 2)
    assert before.state != after.state


async def test_one_that_goes_while_another_comes_changes_the_state_too(world: World) -> None:
    await world.put(*letters(1, 2, 3))
    before = await _state(world)
    await world.backend.move([before.handles[1]], await box(world, Role.TRASH))
    await world.put(*letters(4))
    await world.settle()
    after = await _state(world)
    assert after.total == before.total
    assert before.state != after.state


async def test_a_walk_begins_at_a_second_and_ends_before_one(world: World) -> None:
    """J-63. The end is looked at half a second off: Cyrus 3.6 takes `before` to include its instant."""
    await world.put(*letters(0, 1, 2, 3))
    within = Interval("2026-03-01T12:01:00Z", "2026-03-01T12:02:59.5Z")
    handles, _ = await walked(world, 10, within)
    assert await subjects(world, handles) == ["number 1", "number 2"]


async def test_nothing_is_an_end_and_so_is_what_lies_behind_it(world: World) -> None:
    sent = await box(world, Role.SENT)
    part = await world.backend.ids(sent, WHOLE, 0, 5)
    assert (list(part.handles), part.total, part.more) == ([], 0, False)
    await world.put(*letters(1))
    part = await world.backend.ids(await box(world), WHOLE, 9, 5)
    assert (list(part.handles), part.total, part.more) == ([], 1, False)


async def test_walking_over_a_mailbox_that_is_not_there_says_so(world: World) -> None:
    with pytest.raises((NotFound, KeyError)):
        await world.backend.ids(Mailbox("me", "Nowhere", "Nowhere", Role.FOLDER), WHOLE, 0, 5)
