"""The contract: flags changed on condition that nobody changed them since they were read (A-15, RFC 7162)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from mcp_proton.domain.outcome import Ending
from mcp_proton.domain.ports import FlagChange, Standing
from tests.contract.letters import letter
from tests.contract.worlds import Mail, newest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_proton.domain.handles import Handle
    from mcp_proton.domain.outcome import Fate
    from tests.contract.worlds import World

STAR, READ = frozenset({"flagged"}), frozenset({"seen"})


async def put(world: World, count: int) -> list[Handle]:
    await world.put(*[Mail(letter(f"number {n}", number=n)) for n in range(count)])
    return [row.handle for row in await newest(world, count)]


async def flags(world: World, handles: Sequence[Handle]) -> list[frozenset[str]]:
    return [one.flags & (STAR | READ) for one in await world.backend.envelopes(handles)]


async def version(world: World, handle: Handle) -> int:
    (shown,) = await world.backend.envelopes([handle])
    assert shown.version == (await world.backend.structure(handle)).envelope.version
    return shown.version or 1


async def is_guarded(world: World) -> bool:
    await world.backend.health()
    return world.backend.features().get("guarded_flags") is not Standing.UNAVAILABLE


def told(fates: Sequence[Fate]) -> list[tuple[Ending, str | None]]:
    return [(fate.ending, fate.code) for fate in fates]


async def test_a_read_tells_the_version_of_a_message_where_the_server_counts_changes(world: World) -> None:
    """A-15, A-86: and it grows with every change, so that what was read before is known to be old."""
    (handle,) = await put(world, 1)
    (before,) = await world.backend.envelopes([handle])
    await world.backend.set_flags([handle], FlagChange(add=READ))
    (after,) = await world.backend.envelopes([handle])
    if await is_guarded(world):
        assert before.version is not None
        assert after.version is not None
        assert after.version > before.version
    else:
        assert (before.version, after.version) == (None, None)


async def test_flags_of_a_message_that_nobody_changed_are_changed(world: World) -> None:
    """A-15: where the server cannot guard it, each fate says so."""
    handles = await put(world, 3)
    least = min([await version(world, one) for one in handles])
    most = max([await version(world, one) for one in handles])
    done = (Ending.DONE, None if await is_guarded(world) else "unguarded")
    fates = await world.backend.set_flags(handles, FlagChange(add=STAR, unchanged_since=most))
    assert told(fates) == [done] * 3
    assert await flags(world, handles) == [STAR] * 3
    assert least <= most


async def test_what_was_changed_since_it_was_read_keeps_its_flags_and_the_others_are_changed(world: World) -> None:
    """A-15: a flag that somebody changed elsewhere is never overwritten."""
    handles = await put(world, 3)
    read = max([await version(world, one) for one in handles])
    await world.backend.set_flags(handles[1:2], FlagChange(add=STAR))
    fates = await world.backend.set_flags(handles, FlagChange(add=READ, unchanged_since=read))
    if not await is_guarded(world):
        assert told(fates) == [(Ending.DONE, "unguarded")] * 3
        return
    assert told(fates) == [(Ending.DONE, None), (Ending.FAILED, "changed"), (Ending.DONE, None)]
    assert await flags(world, handles) == [READ, STAR, READ]
    again = await world.backend.set_flags(
        handles[1:2], FlagChange(remove=STAR, unchanged_since=await version(world, handles[1]))
    )
    assert told(again) == [(Ending.DONE, None)]
    assert await flags(world, handles[1:2]) == [frozenset()]


async def test_of_two_that_change_what_they_both_read_one_is_told_that_it_came_too_late(world: World) -> None:
    """A-15: the server compares and stores in one step. Where it cannot, both are told that nothing was compared."""
    for handle in await put(world, 5):
        read = await version(world, handle)
        both = [FlagChange(add=STAR, unchanged_since=read), FlagChange(add=READ, unchanged_since=read)]
        fates = await asyncio.gather(*(world.backend.set_flags([handle], change) for change in both))
        codes = sorted(code or "" for one in fates for _, code in told(one))
        if not await is_guarded(world):
            assert codes == ["unguarded", "unguarded"]
            continue
        assert codes == ["", "changed"]
        winner = next(change for change, one in zip(both, fates, strict=True) if one[0].ending is Ending.DONE)
        assert await flags(world, [handle]) == [winner.add]


async def test_hundreds_are_changed_but_for_those_that_were_changed_elsewhere(world: World) -> None:
    """A-15: after a guarded change the server tells each change, which is no news to anybody."""
    handles = await put(world, 300)
    read = max(one.version or 1 for one in await world.backend.envelopes(handles))
    others = handles[::7]
    await world.backend.set_flags(others, FlagChange(add=STAR))
    fates = await world.backend.set_flags(handles, FlagChange(add=READ, unchanged_since=read))
    if not await is_guarded(world):
        assert {fate.code for fate in fates} == {"unguarded"}
        return
    late = set(others)
    assert {(one.handle in late, one.ending, one.code) for one in fates} == {
        (True, Ending.FAILED, "changed"),
        (False, Ending.DONE, None),
    }
    assert await flags(world, handles) == [STAR if one in late else READ for one in handles]
    await world.backend.set_flags(handles, FlagChange(remove=READ))
    assert await flags(world, handles) == [STAR if one in late else frozenset() for one in handles]
