"""The moment that nothing closes, between NOOP and MOVE, and the star that makes it cost the place instead of the mail."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from mcp_proton.domain.outcome import Ending, Proof
from mcp_proton.domain.ports import HOME
from tests.unit.bridge.hazards.scene import LATER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_proton.domain.outcome import Fate
    from tests.unit.bridge.hazards.scene import Scene


async def trashed_in_the_last_moment(scene: Scene) -> Sequence[Fate]:
    """Bridge hears of the phone's trash after our NOOP and before our MOVE."""
    handle, trash = await scene.handle("ours"), await scene.box("Trash")
    scene.bridge.at("before UID MOVE", action="delay", seconds=0.3)
    moving = asyncio.create_task(scene.backend.move([handle], trash))
    for _ in range(200):
        if scene.writes():
            break
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.1)
    scene.phone("label", "ours", "trash")
    scene.events()
    return await moving


async def test_without_the_guard_a_moment_remains_and_a_loss_is_told(scene: Scene) -> None:
    """P-61: never told as done."""
    scene.put("ours")
    fates = await trashed_in_the_last_moment(scene)
    assert fates[0].ending is Ending.UNCERTAIN
    scene.events()
    (proved,) = await scene.backend.prove(fates, await scene.box("Trash"), LATER)
    assert (proved.ending, proved.proof) == (Ending.UNCERTAIN, Proof.LOST)
    assert scene.truth("ours") is None


@pytest.mark.parametrize("guarded", [True])
@pytest.mark.parametrize("model", ["real"])
async def test_a_server_that_takes_stars_off_in_trash_takes_the_guard_off_too_and_the_loss_is_told(
    scene: Scene,
) -> None:
    """P-61: what Proton itself does in this moment is not known; told it is in any case."""
    scene.put("ours")
    fates = await trashed_in_the_last_moment(scene)
    scene.events()
    (proved,) = await scene.backend.prove(fates, await scene.box("Trash"), LATER)
    assert (fates[0].ending, proved.proof) == (Ending.UNCERTAIN, Proof.LOST)


@pytest.mark.parametrize("guarded", [True])
@pytest.mark.parametrize("model", ["fake"])
async def test_with_the_guard_the_mail_is_kept_and_brought_back(scene: Scene) -> None:
    """N-16: starred, in no folder, and repaired from All Mail."""
    scene.put("ours")
    fates = await trashed_in_the_last_moment(scene)
    assert fates[0].ending is Ending.UNCERTAIN
    scene.events()
    assert scene.truth("ours") == {"Starred"}
    (proved,) = await scene.backend.prove(fates, await scene.box("Trash"), LATER)
    assert proved.proof is Proof.ORPHANED
    assert proved.now is not None
    (back,) = await scene.backend.reattach([proved.now], await scene.box("Trash"))
    assert back.ending is Ending.DONE
    scene.events()
    assert scene.truth("ours") == {"Starred", "Trash"}, "the star holds it until it was seen"
    again = replace(proved, ending=Ending.DONE, code="brought_back", now=back.now, proof=back.proof)
    (paid,) = await scene.backend.prove([again], HOME, LATER)
    assert paid.proof is Proof.SEEN
    scene.events()
    assert scene.truth("ours") == {"Trash"}, "and then the debt is paid, wherever it was put"


@pytest.mark.parametrize("guarded", [True])
async def test_spam_that_is_destroyed_by_way_of_trash_is_not_held_by_the_guard(scene: Scene) -> None:
    """N-16."""
    scene.put("ours", "spam")
    (fate,) = await scene.backend.destroy([await scene.handle("ours", "Spam")])
    assert fate.ending is Ending.DONE
    scene.events()
    assert scene.truth("ours") is None


@pytest.mark.parametrize("guarded", [True])
async def test_the_star_of_the_guard_is_taken_off_when_the_mail_was_seen(scene: Scene) -> None:
    """N-16: owed until then, and the owner's own star is left alone."""
    scene.put("ours")
    scene.put("starred", "inbox", "starred")
    trash = await scene.box("Trash")
    fates = await scene.backend.move([await scene.handle("ours"), await scene.handle("starred")], trash)
    assert [fate.code for fate in fates] == ["unstar_owed", None]
    scene.events()
    proved = await scene.backend.prove(fates, trash, LATER)
    assert [(fate.code, fate.proof) for fate in proved] == [(None, Proof.SEEN), (None, Proof.SEEN)]
    scene.events()
    assert scene.truth("ours") == {"Trash"}
    if scene.bridge.model == "fake":
        assert scene.truth("starred") == {"Starred", "Trash"}


@pytest.mark.parametrize("guarded", [True])
async def test_no_star_is_set_for_any_other_place(scene: Scene) -> None:
    """N-16."""
    scene.put("ours")
    (fate,) = await scene.backend.move([await scene.handle("ours")], await scene.box("Folders/Work"))
    assert (fate.ending, fate.code) == (Ending.DONE, None)
    scene.events()
    assert scene.truth("ours") == {"Folders/Work"}
