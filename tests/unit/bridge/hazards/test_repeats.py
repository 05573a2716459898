"""A failed or unanswered command may have been done: sent again it undoes itself, or deletes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcp_proton.domain.outcome import Ending, Proof
from tests.unit.bridge.hazards.scene import LATER

if TYPE_CHECKING:
    from tests.unit.bridge.hazards.scene import Scene


@pytest.mark.parametrize(("path", "left"), [("Archive", set()), ("Trash", None)])
async def test_a_move_that_was_refused_half_way_is_looked_for_and_never_repeated(
    scene: Scene, path: str, left: set[str] | None
) -> None:
    """B-05, P-61: NO from the second call, and the same command again orphans or deletes all (traps 66, 69)."""
    scene.put("naive")
    scene.put("ours")
    handle, target = await scene.handle("ours"), await scene.box(path)
    scene.bridge.refuse_calls("unlabel", count=-1)
    async with scene.client() as naive:
        await naive("SELECT INBOX")
        assert (await naive(f"UID MOVE 1 {path}"))[-1].startswith("NO")
        fates = await scene.backend.move([handle], target)
        scene.bridge.mend()
        scene.events()
        await naive(f"UID MOVE 1 {path}")
    assert scene.truth("naive") == left
    assert (fates[0].ending, fates[0].code) == (Ending.UNCERTAIN, "outcome_unknown")
    again = await scene.backend.move([handle], target)
    assert (again[0].ending, again[0].code) == (Ending.FAILED, "stale_handle")
    (proved,) = await scene.backend.prove(fates, target, LATER)
    assert (proved.ending, proved.proof) == (Ending.DONE, Proof.SEEN)
    assert proved.now is not None
    assert scene.truth("ours") == {path}
    assert len(scene.writes()) == 1


async def test_a_copy_to_trash_sent_twice_deletes_and_we_send_none(scene: Scene) -> None:
    """B-05: INBOX shows the message until the event, so a repeat after a lost answer deletes it (a 5)."""
    scene.put("naive")
    scene.put("ours")
    async with scene.client() as naive:
        await naive("SELECT INBOX")
        for _ in range(2):
            assert "COPYUID" in (await naive("UID COPY 1 Trash"))[-1]
    assert scene.truth("naive") is None
    handle, trash = await scene.handle("ours"), await scene.box("Trash")
    for _ in range(2):
        await scene.backend.move([handle], trash)
    scene.events()
    assert scene.truth("ours") == {"Trash"}


@pytest.mark.parametrize("path", ["Trash", "Archive", "Folders/Work"])
async def test_a_move_whose_answer_was_lost_is_found_done(scene: Scene, path: str) -> None:
    """P-61: a connection that ends after the command was sent."""
    scene.put("ours")
    handle, target = await scene.handle("ours"), await scene.box(path)
    scene.bridge.at("after UID MOVE", action="drop")
    fates = await scene.backend.move([handle], target)
    assert (fates[0].ending, fates[0].code) == (Ending.UNCERTAIN, "outcome_unknown")
    assert fates[0].identity is not None
    scene.events()
    (proved,) = await scene.backend.prove(fates, target, LATER)
    assert (proved.ending, proved.proof) == (Ending.DONE, Proof.SEEN)
    assert proved.now == await scene.handle("ours", path)
    assert scene.truth("ours") == {path}


async def test_a_move_that_never_arrived_is_found_not_done(scene: Scene) -> None:
    """P-61."""
    scene.put("ours")
    handle, target = await scene.handle("ours"), await scene.box("Trash")
    scene.bridge.at("before UID MOVE", action="drop")
    fates = await scene.backend.move([handle], target)
    assert fates[0].ending is Ending.UNCERTAIN
    scene.events()
    (proved,) = await scene.backend.prove(fates, target, LATER)
    assert (proved.ending, proved.code) == (Ending.FAILED, "not_done")
    (fate,) = await scene.backend.move([handle], target)
    scene.planned_anew = 1
    assert fate.ending is Ending.DONE
    assert scene.truth("ours") == {"Trash"}


@pytest.mark.parametrize("status", [400, 422, 500])
async def test_a_refusal_in_the_middle_stops_and_tells_of_each_what_is_known(scene: Scene, status: int) -> None:
    """P-55, B-09: pages of 150, the earlier ones done, the later ones not tried (a 23, trap 76)."""
    for number in range(310):
        scene.bridge.deliver(f"Subject: n{number}\nFrom: a@example.org\n\nx\n".encode(), key=f"n{number}")
    scene.events()
    handles = [row.handle for row in await scene.rows("INBOX")]
    archive = await scene.box("Archive")
    scene.bridge.refuse_calls("/label$", count=1, skip=1, status=status)
    fates = await scene.backend.move(handles, archive)
    kinds = [(fate.ending, fate.code) for fate in fates]
    assert kinds.count((Ending.DONE, None)) == 150
    assert kinds.count((Ending.UNCERTAIN, "outcome_unknown")) == 150
    assert kinds.count((Ending.FAILED, "not_attempted")) == 10
    scene.events()
    proved = await scene.backend.prove(fates, archive, LATER)
    codes = [(fate.ending, fate.proof, fate.code) for fate in proved]
    assert codes.count((Ending.DONE, Proof.SEEN, None)) == 150
    assert codes.count((Ending.FAILED, None, "not_done")) == 150
    again = [fate.handle for fate in proved if fate.ending is Ending.FAILED]
    assert {fate.ending for fate in await scene.backend.move(again, archive)} == {Ending.DONE}
    scene.planned_anew = 1
    scene.events()
    assert {frozenset(scene.truth(f"n{number}") or ()) for number in range(310)} == {frozenset({"Archive"})}


async def test_labels_of_a_bulk_are_looked_for_after_a_failure_too(scene: Scene) -> None:
    """P-57."""
    scene.put("ours")
    handle, blue = await scene.handle("ours"), await scene.box("Labels/Blue")
    scene.bridge.at("after UID COPY", action="drop")
    fates = await scene.backend.label([handle], blue)
    assert fates[0].ending is Ending.UNCERTAIN
    scene.events()
    (proved,) = await scene.backend.prove(fates, blue, LATER)
    assert (proved.ending, proved.proof, proved.now) == (
        Ending.DONE,
        Proof.SEEN,
        await scene.handle("ours", "Labels/Blue"),
    )
    assert scene.truth("ours") == {"Inbox", "Labels/Blue"}
