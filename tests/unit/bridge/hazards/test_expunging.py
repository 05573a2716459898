"""EXPUNGE deletes in Trash and Drafts alone, unlabels in a label, and takes a message out of its place elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcp_proton.domain.outcome import Ending, Proof
from mcp_proton.domain.ports import FlagChange
from tests.unit.bridge.hazards.scene import LATER

if TYPE_CHECKING:
    from tests.unit.bridge.hazards.scene import Scene

DELETED = FlagChange(add=frozenset({"deleted"}))


@pytest.mark.parametrize("place", ["inbox", "sent", "archive", "Folders/Work"])
async def test_nothing_is_expunged_where_that_would_orphan(scene: Scene, place: str) -> None:
    """P-58, N-16: not in Trash, not deleted, in no mailbox (trap 2)."""
    path = {"inbox": "INBOX", "sent": "Sent", "archive": "Archive"}.get(place, place)
    for key in ("naive", "ours"):
        scene.put(key, place, kind="sent" if place == "sent" else "received")
    async with scene.client() as naive:
        await naive(f"SELECT {path}")
        await naive("UID STORE 1 +FLAGS (\\Deleted)")
        await naive("UID EXPUNGE 1")
    assert scene.truth("naive") == set()
    (fate,) = await scene.backend.destroy([await scene.handle("ours", path)])
    assert (fate.ending, fate.code) == (Ending.FAILED, "unsupported_semantics")
    assert scene.truth("ours") == {"Inbox" if path == "INBOX" else path}


@pytest.mark.parametrize("last", ["EXPUNGE", "CLOSE"])
async def test_what_others_marked_is_not_taken_along(scene: Scene, last: str) -> None:
    """N-16: plain EXPUNGE and CLOSE take every marked message (trap 3)."""
    for key in ("mine", "others", "mine too", "others too"):
        scene.put(key, "trash")
    others = [await scene.handle(key, "Trash") for key in ("others", "others too")]
    await scene.backend.set_flags(others, DELETED)
    (fate,) = await scene.backend.destroy([await scene.handle("mine", "Trash")])
    assert fate.ending is Ending.DONE
    assert scene.truth("mine") is None
    assert scene.truth("others") == scene.truth("others too") == {"Trash"}
    async with scene.client() as naive:
        await naive("SELECT Trash")
        await naive("UID STORE 3 +FLAGS (\\Deleted)")
        await naive(last)
    assert scene.truth("others") is None


@pytest.mark.parametrize(("holder", "named"), [("Labels/Blue", "Labels/Blue"), ("starred", "star")])
async def test_what_a_label_or_a_star_holds_stays_in_trash_and_is_told(scene: Scene, holder: str, named: str) -> None:
    """P-58: expunged it would be in no mailbox, and not deleted (trap 4)."""
    for key in ("naive", "ours"):
        scene.put(key, "trash", holder)
    async with scene.client() as naive:
        await naive("SELECT Trash")
        await naive("UID STORE 1 +FLAGS (\\Deleted)")
        assert (await naive("UID EXPUNGE 1"))[-1].startswith("OK")
    label = "Starred" if holder == "starred" else holder
    assert scene.truth("naive") == {label}
    handle = await scene.handle("ours", "Trash")
    (fate,) = await scene.backend.destroy([handle])
    assert (fate.ending, fate.code) == (Ending.FAILED, "held")
    assert named in (fate.why or "")
    assert scene.truth("ours") == {"Trash", label}
    if holder == "starred":
        await scene.backend.set_flags([handle], FlagChange(remove=frozenset({"flagged"})))
    else:
        await scene.backend.unlabel([await scene.handle("ours", holder)])
    scene.events()
    fates = await scene.backend.destroy([await scene.handle("ours", "Trash")])
    scene.events()
    assert [one.proof for one in await scene.backend.prove(fates, None, LATER)] == [Proof.SEEN]
    assert scene.truth("ours") is None


async def test_a_deletion_that_failed_half_way_is_told_and_can_be_finished(scene: Scene) -> None:
    """P-61: neither in Trash nor deleted, and EXPUNGE again cannot help (a 13, trap 71)."""
    scene.put("naive", "trash")
    scene.put("ours", "trash")
    handle = await scene.handle("ours", "Trash")
    scene.bridge.refuse_calls("/delete$", count=2)
    async with scene.client() as naive:
        await naive("SELECT Trash")
        await naive("UID STORE 1 +FLAGS (\\Deleted)")
        assert (await naive("UID EXPUNGE 1"))[-1].startswith("NO")
    assert scene.truth("naive") == set()
    fates = await scene.backend.destroy([handle])
    assert fates[0].ending is Ending.UNCERTAIN
    scene.events()
    (proved,) = await scene.backend.prove(fates, None, LATER)
    assert (proved.ending, proved.code, proved.proof) == (Ending.FAILED, "survived", Proof.ORPHANED)
    assert proved.now is not None
    (back,) = await scene.backend.reattach([proved.now], await scene.box("Trash"))
    assert back.now is not None
    scene.events()
    (again,) = await scene.backend.destroy([back.now])
    assert again.ending is Ending.DONE
    scene.events()
    assert scene.truth("ours") is None


async def test_spam_is_deleted_by_way_of_trash(scene: Scene) -> None:
    """P-93: EXPUNGE in Spam orphans."""
    scene.put("naive", "spam")
    scene.put("ours", "spam")
    scene.put("other", "trash")
    async with scene.client() as naive:
        await naive("SELECT Spam")
        await naive("UID STORE 1 +FLAGS (\\Deleted)")
        await naive("UID EXPUNGE 1")
    assert scene.truth("naive") == set()
    fates = await scene.backend.destroy([await scene.handle("ours", "Spam")])
    assert [(fate.ending, fate.now) for fate in fates] == [(Ending.DONE, None)]
    scene.events()
    assert scene.truth("ours") is None
    assert scene.truth("other") == {"Trash"}
    assert [one.proof for one in await scene.backend.prove(fates, None, LATER)] == [Proof.SEEN]


async def test_a_draft_is_deleted_in_drafts_or_moved_to_trash(scene: Scene) -> None:
    """P-58."""
    scene.put("for good", "drafts", kind="draft")
    scene.put("recoverable", "drafts", kind="draft")
    (gone,) = await scene.backend.destroy([await scene.handle("for good", "Drafts")])
    (moved,) = await scene.backend.move([await scene.handle("recoverable", "Drafts")], await scene.box("Trash"))
    assert gone.ending is moved.ending is Ending.DONE
    scene.events()
    assert (scene.truth("for good"), scene.truth("recoverable")) == (None, {"Trash"})


async def test_a_label_is_taken_off_in_its_own_mailbox_only(scene: Scene) -> None:
    """P-57: the same command in INBOX orphans."""
    scene.put("ours", "inbox", "Labels/Blue", "Labels/Red", "starred")
    (refused,) = await scene.backend.unlabel([await scene.handle("ours")])
    assert (refused.ending, refused.code) == (Ending.FAILED, "unsupported_semantics")
    fates = await scene.backend.unlabel([await scene.handle("ours", "Labels/Blue")])
    scene.events()
    assert [one.proof for one in await scene.backend.prove(fates, None, LATER)] == [Proof.SEEN]
    assert scene.truth("ours") == {"Inbox", "Labels/Red", "Starred"}


async def test_a_refused_expunge_leaves_no_mark_behind(scene: Scene) -> None:
    """N-16: a mark that stays would be taken by any program's EXPUNGE."""
    scene.put("ours", "trash")
    handle = await scene.handle("ours", "Trash")
    scene.bridge.at("before UID EXPUNGE", action="refuse")
    fates = await scene.backend.destroy([handle])
    assert fates[0].ending is Ending.UNCERTAIN
    (row,) = await scene.backend.envelopes([handle])
    assert "deleted" not in row.flags
    (proved,) = await scene.backend.prove(fates, None, LATER)
    assert (proved.ending, proved.code) == (Ending.FAILED, "not_done")
