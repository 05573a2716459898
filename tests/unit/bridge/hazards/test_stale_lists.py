"""A session's list is older than what Bridge knows: the same MOVE then takes mail out of where it was to go."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from mcp_proton.domain.outcome import Ending
from tests.unit.bridge.hazards.scene import LATER

if TYPE_CHECKING:
    from tests.unit.bridge.hazards.scene import Scene


@pytest.mark.parametrize(
    ("place", "path", "left"),
    [
        ("trash", "Trash", None),
        ("archive", "Archive", set()),
        ("spam", "Spam", set()),
        ("Folders/Work", "Folders/Work", set()),
    ],
)
async def test_what_the_phone_filed_already_is_not_lost_by_filing_it_again(
    scene: Scene, place: str, path: str, left: set[str] | None
) -> None:
    """N-16, B-05: a MOVE by an old list deletes from Trash and orphans from any other place, with OK (trap 64)."""
    scene.put("naive")
    scene.put("ours")
    handle = await scene.handle("ours")
    await scene.keep_open()
    async with scene.client() as naive:
        await naive("SELECT INBOX")
        for key in ("naive", "ours"):
            scene.phone("label", key, place)
        scene.events()
        answer = await naive(f"UID MOVE 1 {path}")
    assert answer[-1].startswith("OK")
    assert not [line for line in answer if "COPYUID" in line]
    assert scene.truth("naive") == left
    (fate,) = await scene.backend.move([handle], await scene.box(path))
    assert (fate.ending, fate.code) == (Ending.FAILED, "stale_handle")
    scene.events()
    assert scene.truth("ours") == {path}


async def test_a_label_the_phone_gave_already_is_not_lost_by_giving_it_again(scene: Scene) -> None:
    """P-57: OK, and the label is gone (trap 64)."""
    scene.put("naive")
    scene.put("ours")
    handle = await scene.handle("ours")
    await scene.keep_open()
    async with scene.client() as naive:
        await naive("SELECT Archive")
        scene.phone("label", "naive", "archive")
        scene.events()
        await naive("NOOP")
        for key in ("naive", "ours"):
            scene.phone("label", key, "Labels/Blue")
        scene.phone("label", "naive", "inbox")
        scene.events()
        await naive("UID MOVE 1 Labels/Blue")
    assert scene.truth("naive") == {"Inbox"}
    (fate,) = await scene.backend.label([handle], await scene.box("Labels/Blue"))
    assert (fate.ending, fate.code) == (Ending.SKIPPED, "already_there")
    assert fate.now is not None
    scene.events()
    assert scene.truth("ours") == {"Inbox", "Labels/Blue"}


@pytest.mark.parametrize(("path", "left"), [("Trash", None), ("Archive", set())])
async def test_two_who_do_the_same_at_once_lose_nothing(scene: Scene, path: str, left: set[str] | None) -> None:
    """B-06: two sessions with the same MOVE delete or orphan, both told OK (trap 65)."""
    scene.put("naive")
    scene.put("ours")
    async with scene.client() as one, scene.client() as other:
        await one("SELECT INBOX")
        await other("SELECT INBOX")
        answers = await asyncio.gather(one(f"UID MOVE 1 {path}"), other(f"UID MOVE 1 {path}"))
    assert all(answer[-1].startswith("OK") for answer in answers)
    assert scene.truth("naive") == left
    scene.events()
    handle, target = await scene.handle("ours"), await scene.box(path)
    fates = await asyncio.gather(*(scene.backend.move([handle], target) for _ in range(3)))
    assert sorted(fate.ending for (fate,) in fates) == [Ending.DONE, Ending.FAILED, Ending.FAILED]
    scene.events()
    assert scene.truth("ours") == {path}


async def test_no_ghost_is_made_of_what_was_deleted_elsewhere(scene: Scene) -> None:
    """P-61: a COPY by an old list leaves a ghost that no event removes (trap 70)."""
    scene.put("naive")
    scene.put("ours")
    handle = await scene.handle("ours")
    await scene.keep_open()
    async with scene.client() as naive:
        await naive("SELECT INBOX")
        for key in ("naive", "ours"):
            scene.phone("delete", key)
        scene.events()
        assert "COPYUID" in (await naive("UID COPY 1 Labels/Red"))[-1]
    scene.events()
    assert [row.subject for row in await scene.rows("Labels/Red")] == ["naive"]
    (fate,) = await scene.backend.label([handle], await scene.box("Labels/Blue"))
    assert (fate.ending, fate.code) == (Ending.FAILED, "stale_handle")
    assert await scene.rows("Labels/Blue") == []


async def test_a_folder_deleted_elsewhere_costs_the_place_and_it_is_told_and_mended(scene: Scene) -> None:
    """P-61, B-07: until the event Bridge says OK and nobody can know better; afterwards it is seen (trap 74)."""
    scene.put("ours")
    handle, work = await scene.handle("ours"), await scene.box("Folders/Work")
    scene.phone("drop", "Folders/Work")
    fates = await scene.backend.move([handle], work)
    scene.events()
    (proved,) = await scene.backend.prove(fates, work, LATER)
    if scene.truth("ours") == set():
        assert proved.proof == "orphaned"
        assert proved.now is not None
        (back,) = await scene.backend.reattach([proved.now], await scene.box("INBOX"))
        assert back.ending is Ending.DONE
        scene.events()
    assert scene.truth("ours") == {"Inbox"}
