"""What six mail servers for agents were seen to do to a real Bridge when they trash, archive, move, label, flag and do many
at once, asked of ours: nothing is lost, orphaned or told as it is not (scenarios 3 and 4; 1, 2, 7 and 8 are in the contract).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcp_proton.domain.errors import MailError
from mcp_proton.domain.outcome import Ending
from mcp_proton.domain.ports import FlagChange
from tests.unit.bridge.hazards.scene import LATER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_proton.domain.handles import Handle
    from mcp_proton.domain.outcome import Fate
    from tests.unit.bridge.hazards.scene import Scene

MANY = 400
SEEN, STARRED = frozenset({"seen"}), frozenset({"flagged"})


def ends(fates: Sequence[Fate]) -> list[tuple[str, str | None]]:
    return [(fate.ending.value, fate.code) for fate in fates]


# --- scenario 3: trash, archive, move --------------------------------------------------------------------------------


async def test_the_same_trash_again_is_told_and_deletes_nothing(scene: Scene) -> None:
    """P-61, N-16: of a peer the second call took UID 1 out of Trash for good."""
    scene.put("ours")
    scene.put("another")
    handle, trash = await scene.handle("ours"), await scene.box("Trash")
    assert ends(await scene.backend.move([handle], trash)) == [("done", None)]
    for told in (False, True):
        if told:
            scene.events()
        assert ends(await scene.backend.move([handle], trash)) == [("failed", "stale_handle")]
    scene.events()
    assert (scene.truth("ours"), scene.truth("another")) == ({"Trash"}, {"Inbox"})


@pytest.mark.parametrize(("place", "path"), [("trash", "Trash"), ("archive", "Archive")])
async def test_what_the_phone_filed_and_bridge_does_not_know_yet_is_where_both_put_it(
    scene: Scene, place: str, path: str
) -> None:
    """N-16: harmless, and told as done."""
    scene.put("ours")
    handle = await scene.handle("ours")
    await scene.keep_open()
    scene.phone("label", "ours", place)
    fates = await scene.backend.move([handle], await scene.box(path))
    assert ends(fates) == [("done", None)]
    scene.events()
    assert scene.truth("ours") == {path}


@pytest.mark.parametrize("listed_again", [False, True])
async def test_a_list_older_than_the_phone_s_trash_deletes_nothing(scene: Scene, listed_again: bool) -> None:
    """N-16: two peers deleted the mail for good, also after a list of their own, and said that it was moved."""
    scene.put("ours")
    handle, trash = await scene.handle("ours"), await scene.box("Trash")
    await scene.keep_open()
    scene.phone("label", "ours", "trash")
    scene.events()
    if listed_again:
        await scene.rows("INBOX")
    assert ends(await scene.backend.move([handle], trash)) == [("failed", "stale_handle")]
    scene.events()
    assert scene.truth("ours") == {"Trash"}


@pytest.mark.parametrize(
    ("place", "path"), [("trash", "Trash"), ("archive", "Archive"), ("Folders/Work", "Folders/Work")]
)
async def test_filing_what_is_there_already_leaves_it_there(scene: Scene, place: str, path: str) -> None:
    """P-61: trash named on a mail in Trash deleted it for good."""
    scene.put("ours", place)
    fates = await scene.backend.move([await scene.handle("ours", path)], await scene.box(path))
    assert ends(fates) == [("skipped", "already_there")]
    scene.events()
    assert scene.truth("ours") == {path}


async def test_archiving_out_of_all_mail_what_is_in_archive_orphans_nothing(scene: Scene) -> None:
    """P-20: three peers orphaned it, two said that it failed."""
    scene.put("ours", "archive")
    fates = await scene.backend.move([await scene.handle("ours", "All Mail")], await scene.box("Archive"))
    assert ends(fates) == [("skipped", "already_there")]
    assert fates[0].now == await scene.handle("ours", "Archive")
    scene.events()
    assert scene.truth("ours") == {"Archive"}


async def test_a_move_to_a_folder_and_back_is_both_done(scene: Scene) -> None:
    """P-56: of a peer the way back was told and not done."""
    scene.put("ours")
    fates = await scene.backend.move([await scene.handle("ours")], await scene.box("Folders/Work"))
    assert fates[0].now is not None
    back = await scene.backend.move([fates[0].now], await scene.box("INBOX"))
    assert ends(back) == [("done", None)]
    scene.events()
    assert scene.truth("ours") == {"Inbox"}


async def test_a_handle_of_one_mailbox_never_means_the_mail_of_that_number_in_another(scene: Scene) -> None:
    """P-90: bare numbers looked up in folder after folder trashed INBOX's 1 for Archive's."""
    scene.put("in INBOX")
    scene.put("in Archive", "archive")
    handle = await scene.handle("in Archive", "Archive")
    assert ends(await scene.backend.move([handle], await scene.box("Trash"))) == [("done", None)]
    scene.events()
    assert (scene.truth("in INBOX"), scene.truth("in Archive")) == ({"Inbox"}, {"Trash"})


@pytest.mark.parametrize("place", ["inbox", "archive", "Folders/Work"])
async def test_deleting_for_good_outside_trash_is_refused(scene: Scene, place: str) -> None:
    """P-61: everybody else orphaned it and told that it was deleted."""
    scene.put("ours", place)
    path = "INBOX" if place == "inbox" else "Archive" if place == "archive" else place
    fates = await scene.backend.destroy([await scene.handle("ours", path)])
    assert ends(fates) == [("failed", "unsupported_semantics")]
    scene.events()
    assert scene.truth("ours") == ({"Inbox"} if place == "inbox" else {path})


async def test_deleting_for_good_in_trash_takes_that_mail_and_no_other(scene: Scene) -> None:
    """P-61, P-93: of one peer INBOX's mail of that number was orphaned."""
    for key, place in (("ours", "trash"), ("beside", "trash"), ("in INBOX", "inbox")):
        scene.put(key, place)
    fates = await scene.backend.destroy([await scene.handle("ours", "Trash")])
    assert [fate.ending for fate in fates] == [Ending.DONE]
    scene.events()
    assert [scene.truth(key) for key in ("ours", "beside", "in INBOX")] == [None, {"Trash"}, {"Inbox"}]


# --- scenario 4: labels, flags, bulk ---------------------------------------------------------------------------------


async def test_a_label_is_given_once_and_taken_off_alone(scene: Scene) -> None:
    """P-57: by any handle, idempotent, and folder and other label stay."""
    scene.put("ours", "Folders/Work", "Labels/Red")
    handle, blue = await scene.handle("ours", "Folders/Work"), await scene.box("Labels/Blue")
    assert ends(await scene.backend.label([handle], blue)) == [("done", None)]
    scene.events()
    assert ends(await scene.backend.label([handle], blue)) == [("skipped", "already_there")]
    there = await scene.handle("ours", "Labels/Blue")
    assert [fate.ending for fate in await scene.backend.unlabel([there])] == [Ending.DONE]
    assert ends(await scene.backend.unlabel([there])) == [("failed", "stale_handle")], "taking it off again is told"
    scene.events()
    assert scene.truth("ours") == {"Folders/Work", "Labels/Red"}


async def test_a_label_by_a_handle_of_another_mailbox_is_not_taken_off_and_that_is_told(scene: Scene) -> None:
    """P-57: a peer said done, and the label stayed."""
    scene.put("ours", "inbox", "Labels/Blue")
    assert ends(await scene.backend.unlabel([await scene.handle("ours")])) == [("failed", "unsupported_semantics")]
    scene.events()
    assert scene.truth("ours") == {"Inbox", "Labels/Blue"}


async def test_read_unread_star_and_unstar_reach_the_account_and_change_nothing_else(scene: Scene) -> None:
    """P-55."""
    scene.put("ours", "inbox", "Labels/Red")
    handle = await scene.handle("ours")
    for change, unread, places in (
        (FlagChange(add=SEEN), False, {"Inbox", "Labels/Red"}),
        (FlagChange(add=STARRED), False, {"Inbox", "Labels/Red", "Starred"}),
        (FlagChange(remove=SEEN), True, {"Inbox", "Labels/Red", "Starred"}),
        (FlagChange(remove=STARRED), True, {"Inbox", "Labels/Red"}),
    ):
        assert [fate.ending for fate in await scene.backend.set_flags([handle], change)] == [Ending.DONE]
        scene.events()
        assert scene.bridge.state()["ours"]["unread"] is unread
        assert scene.truth("ours") == places


@pytest.mark.parametrize("path", ["Trash", "Archive"])
@pytest.mark.parametrize("call", ["/messages/label$", "/messages/unlabel$"])
async def test_four_hundred_with_a_failing_call_and_all_again_lose_nothing(scene: Scene, path: str, call: str) -> None:
    """P-55, P-62, N-16: repeated, it cost peers 100 orphans, 100 and 199 deleted for good, told as succeeded."""
    keys = await filled(scene)
    handles, target = list(keys), await scene.box(path)
    scene.bridge.refuse_calls(call, count=1, skip=1, status=500, mode="after" if "unlabel" in call else "")
    fates = await scene.backend.move(handles, target)
    assert len(fates) == MANY
    again = await scene.backend.move(handles, target)
    scene.events()
    told = await scene.backend.prove(fates, target, LATER)
    state = scene.bridge.state()
    for fate, second in zip(told, again, strict=True):
        assert fate.ending in (Ending.DONE, Ending.FAILED), "looking settles it"
        done = Ending.DONE in (fate.ending, second.ending)
        places = set(state[keys[fate.handle]]["in"]) - {"All Mail"}  # type: ignore[call-overload]
        assert places == ({path} if done else {"Inbox"})
    scene.planned_anew = len(scene.writes()) - len(set(scene._told_apart()))


async def filled(scene: Scene) -> dict[Handle, str]:
    """INBOX holds many; the key of each by its handle."""
    for number in range(MANY):
        raw = f"Subject: n{number}\nFrom: a@example.org\nMessage-ID: <{number}@x>\n\nx\n"
        scene.bridge.deliver(raw.encode(), key=f"n{number}")
    scene.events()
    return {row.handle: row.subject for row in await scene.rows("INBOX")}


async def test_nothing_is_deleted_with_a_folder_that_holds_mail(scene: Scene) -> None:
    """P-58: two peers orphaned the mail, without a word."""
    scene.put("ours", "Folders/Work")
    with pytest.raises(MailError) as refusal:
        await scene.backend.remove(await scene.box("Folders/Work"))
    assert refusal.value.code == "not_empty"
    scene.events()
    assert scene.truth("ours") == {"Folders/Work"}
