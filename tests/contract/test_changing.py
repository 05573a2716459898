"""The contract: what changes mail. The same promises on every kind of account (P-55 to P-58, P-61)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcp_proton.domain.errors import Conflict, Invalid, MailError, Unsupported
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.mail import Role
from mcp_proton.domain.outcome import Ending, Fate, Proof
from mcp_proton.domain.ports import HOME, FlagChange, Page
from mcp_proton.domain.query import All
from tests.contract.letters import letter
from tests.contract.worlds import Mail, box, folder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_proton.domain.mail import Envelope, Mailbox
    from tests.contract.worlds import World

LATER = 120.0
"""seconds after which every event has come"""


async def rows(world: World, mailbox: Mailbox) -> Sequence[Envelope]:
    return (await world.backend.search([mailbox], All(), Page(1_000))).rows


async def subjects(world: World, mailbox: Mailbox) -> list[str]:
    return sorted(row.subject for row in await rows(world, mailbox))


async def arrived(world: World, *names: str, flags: frozenset[str] = frozenset()) -> dict[str, Handle]:
    """Letters of these subjects in INBOX, and their handles."""
    await world.put(*(Mail(letter(name, number=number), flags=flags) for number, name in enumerate(names)))
    return {row.subject: row.handle for row in await rows(world, await box(world))}


# --- moving ----------------------------------------------------------------------------------------------------------


async def test_a_moved_message_has_a_new_handle_and_the_old_one_is_stale(changing: World) -> None:
    """P-55."""
    handles = await arrived(changing, "one", "two")
    archive = await box(changing, Role.ARCHIVE)
    (fate,) = await changing.backend.move([handles["one"]], archive)
    assert (fate.handle, fate.ending) == (handles["one"], Ending.DONE)
    assert fate.now is not None
    assert fate.now.tag == archive.tag
    await changing.settle()
    assert [row.subject for row in await changing.backend.envelopes([fate.now])] == ["one"]
    assert await changing.backend.envelopes([handles["one"]]) == []
    assert await subjects(changing, await box(changing)) == ["two"]
    assert await subjects(changing, archive) == ["one"]


async def test_flags_stay_when_a_message_is_archived(changing: World) -> None:
    handles = await arrived(changing, "one", flags=frozenset({"seen", "flagged"}))
    (fate,) = await changing.backend.move([handles["one"]], await box(changing, Role.ARCHIVE))
    await changing.settle()
    assert fate.now is not None
    (row,) = await changing.backend.envelopes([fate.now])
    assert {"seen", "flagged"} <= row.flags


async def test_every_handle_has_a_fate_in_the_order_asked_and_one_named_twice_is_done_once(changing: World) -> None:
    handles = await arrived(changing, "one", "two", "three")
    asked = [handles["three"], handles["one"], handles["three"]]
    fates = await changing.backend.move(asked, await folder(changing))
    assert [fate.handle for fate in fates] == asked
    assert {fate.ending for fate in fates} == {Ending.DONE}
    assert fates[0] == fates[2]
    await changing.settle()
    assert await subjects(changing, await folder(changing)) == ["one", "three"]
    assert await subjects(changing, await box(changing)) == ["two"]


async def test_a_stale_handle_fails_and_the_others_are_done(changing: World) -> None:
    handles = await arrived(changing, "one", "two")
    await changing.backend.move([handles["one"]], await folder(changing))
    await changing.settle()
    fates = await changing.backend.move([handles["one"], handles["two"]], await box(changing, Role.ARCHIVE))
    assert [(fate.ending, fate.code) for fate in fates] == [(Ending.FAILED, "stale_handle"), (Ending.DONE, None)]
    await changing.settle()
    assert await subjects(changing, await folder(changing)) == ["one"]


async def test_the_same_trash_again_does_nothing(changing: World) -> None:
    """P-56: one of five lost the message for good."""
    handles = await arrived(changing, "one")
    trash = await box(changing, Role.TRASH)
    await changing.backend.move([handles["one"]], trash)
    await changing.settle()
    (again,) = await changing.backend.move([handles["one"]], trash)
    assert (again.ending, again.code) == (Ending.FAILED, "stale_handle")
    assert await subjects(changing, trash) == ["one"]


async def test_what_is_there_already_is_left_alone(changing: World) -> None:
    """P-56: two of five deleted what was in Trash when it was to go there."""
    handles = await arrived(changing, "one")
    trash = await box(changing, Role.TRASH)
    (moved,) = await changing.backend.move([handles["one"]], trash)
    await changing.settle()
    assert moved.now is not None
    (fate,) = await changing.backend.move([moved.now], trash)
    assert (fate.ending, fate.code) == (Ending.SKIPPED, "already_there")
    await changing.settle()
    assert [row.subject for row in await changing.backend.envelopes([moved.now])] == ["one"]


async def test_from_several_mailboxes_at_once(changing: World) -> None:
    handles = await arrived(changing, "one")
    await changing.put_into_folder(Mail(letter("two", number=9)))
    (there,) = await rows(changing, await folder(changing))
    archive = await box(changing, Role.ARCHIVE)
    fates = await changing.backend.move([there.handle, handles["one"]], archive)
    assert [fate.ending for fate in fates] == [Ending.DONE, Ending.DONE]
    await changing.settle()
    assert await subjects(changing, archive) == ["one", "two"]


async def test_what_was_moved_away_goes_home_again(changing: World) -> None:
    """P-56: restore."""
    handles = await arrived(changing, "one")
    (moved,) = await changing.backend.move([handles["one"]], await box(changing, Role.TRASH))
    await changing.settle()
    assert moved.now is not None
    (back,) = await changing.backend.move([moved.now], HOME)
    assert back.ending is Ending.DONE
    await changing.settle()
    assert await subjects(changing, await box(changing)) == ["one"]
    assert await subjects(changing, await box(changing, Role.TRASH)) == []


async def test_what_is_at_home_stays(changing: World) -> None:
    handles = await arrived(changing, "one")
    (fate,) = await changing.backend.move([handles["one"]], HOME)
    assert (fate.ending, fate.code) == (Ending.SKIPPED, "already_there")


async def test_four_hundred_are_moved_with_a_fate_and_a_new_handle_each(changing: World) -> None:
    names = [f"number {number:03}" for number in range(400)]
    handles = await arrived(changing, *names)
    fates = await changing.backend.move(list(handles.values()), await folder(changing))
    assert {fate.ending for fate in fates} == {Ending.DONE}
    assert len({fate.now for fate in fates}) == 400
    await changing.settle()
    envelopes = {row.handle: row.subject for row in await rows(changing, await folder(changing))}
    assert {subject: envelopes[fate.now] for subject, fate in zip(handles, fates, strict=True) if fate.now} == {
        name: name for name in names
    }
    assert await subjects(changing, await box(changing)) == []


async def test_a_handle_into_a_rebuilt_mailbox_moves_nothing(changing: World) -> None:
    """P-90: four of five trashed another message."""
    await changing.put_into_folder(Mail(letter("old", number=1)))
    (old,) = await rows(changing, await folder(changing))
    await changing.rebuild_folder(Mail(letter("new", number=2)))
    (fate,) = await changing.backend.move([old.handle], await box(changing, Role.TRASH))
    assert (fate.ending, fate.code) == (Ending.FAILED, "stale_handle")
    await changing.settle()
    assert await subjects(changing, await box(changing, Role.TRASH)) == []


async def test_a_handle_of_another_account_is_told_apart(changing: World) -> None:
    handles = await arrived(changing, "one")
    foreign = Handle("other", handles["one"].tag, handles["one"].key)
    (fate,) = await changing.backend.move([foreign], await box(changing, Role.ARCHIVE))
    assert (fate.ending, fate.code) == (Ending.FAILED, "invalid_handle")


async def test_a_copy_is_a_second_message_or_refused(changing: World) -> None:
    """P-56: on Bridge a copy into a folder moves, so none is offered."""
    handles = await arrived(changing, "one")
    target = await folder(changing)
    if not changing.copies:
        with pytest.raises(Unsupported):
            await changing.backend.copy([handles["one"]], target)
        await changing.settle()
        assert await subjects(changing, target) == []
    else:
        (fate,) = await changing.backend.copy([handles["one"]], target)
        assert fate.ending is Ending.DONE
        assert fate.now is not None
        assert await subjects(changing, target) == ["one"]
    assert await subjects(changing, await box(changing)) == ["one"]


# --- deleting --------------------------------------------------------------------------------------------------------


async def trashed(world: World, *names: str) -> dict[str, Handle]:
    handles = await arrived(world, *names)
    fates = await world.backend.move(list(handles.values()), await box(world, Role.TRASH))
    await world.settle()
    return {name: fate.now for name, fate in zip(handles, fates, strict=True) if fate.now is not None}


async def test_only_the_named_are_destroyed_and_never_what_others_marked(changing: World) -> None:
    """P-58, P-61, N-16."""
    handles = await trashed(changing, "mine", "marked by another", "kept")
    marked = FlagChange(add=frozenset({"deleted"}))
    await changing.backend.set_flags([handles["marked by another"]], marked)
    (fate,) = await changing.backend.destroy([handles["mine"]])
    assert fate.ending is Ending.DONE
    await changing.settle()
    assert await subjects(changing, await box(changing, Role.TRASH)) == ["kept", "marked by another"]


async def test_what_is_destroyed_is_gone_everywhere(changing: World) -> None:
    handles = await trashed(changing, "one", "two")
    fates = await changing.backend.destroy([handles["one"], handles["two"]])
    await changing.settle()
    assert [fate.proof for fate in await changing.backend.prove(fates, None, LATER)] == [Proof.SEEN, Proof.SEEN]
    for mailbox in await changing.backend.mailboxes(counts=True, fresh=True):
        assert not mailbox.total


async def test_destroying_again_fails_as_stale(changing: World) -> None:
    handles = await trashed(changing, "one")
    await changing.backend.destroy([handles["one"]])
    (again,) = await changing.backend.destroy([handles["one"]])
    assert (again.ending, again.code) == (Ending.FAILED, "stale_handle")


# --- labels ----------------------------------------------------------------------------------------------------------


async def labelled(world: World) -> tuple[Mailbox, Handle]:
    handles = await arrived(world, "one")
    return await _label(world), handles["one"]


async def _label(world: World) -> Mailbox:
    return next(one for one in await world.backend.mailboxes() if one.path == world.label)


async def test_a_label_is_added_and_removed_without_touching_the_place(changing: World) -> None:
    """P-57, P-58."""
    if changing.label is None:
        with pytest.raises(Unsupported):
            await changing.backend.label([], await folder(changing))
        with pytest.raises(Unsupported):
            await changing.backend.unlabel([])
        return
    label, handle = await labelled(changing)
    (fate,) = await changing.backend.label([handle], label)
    assert fate.ending is Ending.DONE
    assert fate.now is not None
    assert fate.now.tag == label.tag
    await changing.settle()
    assert await subjects(changing, label) == ["one"]
    assert [row.handle for row in await rows(changing, await box(changing))] == [handle]
    (again,) = await changing.backend.label([handle], label)
    assert (again.ending, again.code, again.now) == (Ending.SKIPPED, "already_there", fate.now)
    (off,) = await changing.backend.unlabel([fate.now])
    assert off.ending is Ending.DONE
    await changing.settle()
    assert await subjects(changing, label) == []
    assert [row.handle for row in await rows(changing, await box(changing))] == [handle]


async def test_a_label_is_no_place_to_move_to_and_a_folder_is_no_label(changing: World) -> None:
    if changing.label is None:
        assert not [one for one in await changing.backend.mailboxes() if one.role is Role.LABEL]
        return
    label, handle = await labelled(changing)
    with pytest.raises(Unsupported) as no_place:
        await changing.backend.move([handle], label)
    with pytest.raises(Unsupported) as no_label:
        await changing.backend.label([handle], await folder(changing))
    (fate,) = await changing.backend.unlabel([handle])
    assert {no_place.value.code, no_label.value.code, fate.code} == {"unsupported_semantics"}
    await changing.settle()
    assert await subjects(changing, await box(changing)) == ["one"]


# --- proof -----------------------------------------------------------------------------------------------------------


async def test_a_change_is_proved_by_looking_later(changing: World) -> None:
    """P-61."""
    handles = await arrived(changing, "one")
    archive = await box(changing, Role.ARCHIVE)
    fates = await changing.backend.move([handles["one"]], archive)
    assert fates[0].proof in {Proof.COPYUID, Proof.SEEN}
    await changing.settle()
    (proved,) = await changing.backend.prove(fates, archive, LATER)
    assert (proved.ending, proved.proof, proved.now) == (Ending.DONE, Proof.SEEN, fates[0].now)


async def test_what_a_rebuild_made_void_is_not_taken_for_gone(changing: World) -> None:
    """P-61, P-90: an uncertain removal before a rebuild; the old UID is gone, the message is not."""
    mail = Mail(letter("kept", number=1))
    await changing.put_into_folder(mail)
    (there,) = await rows(changing, await folder(changing))
    asked = [there.handle]
    if changing.label is not None:
        (labelled,) = await changing.backend.label(asked, await _label(changing))
        assert labelled.now is not None
        asked.append(labelled.now)
    await changing.settle()
    known = await changing.backend.identify(asked)
    unsure = [Fate(one, Ending.UNCERTAIN, "outcome_unknown", "no answer", identity=known[one]) for one in asked]
    await changing.rebuild_folder(mail)
    proved = [fate for one in unsure for fate in await changing.backend.prove([one], None, LATER)]
    assert {(fate.ending, fate.code) for fate in proved} == {(Ending.FAILED, "not_done")}
    assert {row.subject for fate in proved if fate.now for row in await changing.backend.envelopes([fate.now])} <= {
        "kept"
    }


async def test_a_message_is_known_again_wherever_it_went(changing: World) -> None:
    """N-16: what a stale handle's successor is found by."""
    handles = await arrived(changing, "one", "two")
    before = await changing.backend.identify(list(handles.values()))
    assert len(set(before.values())) == 2
    fates = await changing.backend.move(list(handles.values()), await folder(changing))
    places = [fate.now for fate in fates if fate.now is not None]
    after = await changing.backend.identify(places)
    assert [after[place] for place in places] == [before[handle] for handle in handles.values()]
    assert not [word for word in before.values() if "one" in word or "example.org" in word]
    assert await changing.backend.identify([handles["one"]]) == {}


# --- mailboxes -------------------------------------------------------------------------------------------------------


async def paths(world: World) -> list[str]:
    return [one.path for one in await world.backend.mailboxes(fresh=True)]


async def test_a_folder_is_made_with_its_parents_and_whatever_letters(changing: World) -> None:
    made = await changing.backend.create(f"{changing.folder}/Größe & Maß/2026", Role.FOLDER)
    assert (made.path, made.role) == (f"{changing.folder}/Größe & Maß/2026", Role.FOLDER)
    assert f"{changing.folder}/Größe & Maß" in await paths(changing)
    handles = await arrived(changing, "one")
    await changing.backend.move([handles["one"]], made)
    await changing.settle()
    assert await subjects(changing, made) == ["one"]


async def test_a_name_that_is_taken_is_told(changing: World) -> None:
    with pytest.raises(Conflict) as taken:
        await changing.backend.create(changing.folder, Role.FOLDER)
    assert taken.value.code == "name_taken"


@pytest.mark.parametrize("name", ["", " ", "a//b", "a\r\nb", "a\x00", " x", "x/"])
async def test_a_path_no_mailbox_can_have_is_refused_before_anything_is_sent(changing: World, name: str) -> None:
    before = await paths(changing)
    with pytest.raises(Invalid):
        await changing.backend.create(f"{changing.folder}/{name}", Role.FOLDER)
    assert await paths(changing) == before


async def test_a_folder_is_renamed_with_what_is_below_it(changing: World) -> None:
    below = await changing.backend.create(f"{changing.folder}/Below", Role.FOLDER)
    await changing.put_into_folder(Mail(letter("one")))
    new = changing.folder.replace("Work", "Arbeit für mich")
    renamed = await changing.backend.rename(await folder(changing), new)
    assert renamed.path == new
    assert {new, below.path.replace("Work", "Arbeit für mich")} <= set(await paths(changing))
    assert changing.folder not in await paths(changing)
    assert await subjects(changing, renamed) == ["one"]
    with pytest.raises(Invalid):
        await changing.backend.rename(renamed, f"{new}/Within")
    with pytest.raises(Conflict):
        await changing.backend.rename(next(b for b in await _boxes(changing) if b.name == "Below"), new)


async def _boxes(world: World) -> Sequence[Mailbox]:
    return await world.backend.mailboxes(fresh=True)


async def test_a_folder_that_holds_anything_is_not_deleted(changing: World) -> None:
    """P-58: one of five orphaned the mail in it without a word."""
    made = await changing.backend.create(f"{changing.folder}/Below", Role.FOLDER)
    for held in (await folder(changing), made):
        if held is made:
            handles = await arrived(changing, "one")
            await changing.backend.move([handles["one"]], made)
            await changing.settle()
        with pytest.raises(Conflict) as refusal:
            await changing.backend.remove(held)
        assert refusal.value.code == "not_empty"
    assert await subjects(changing, made) == ["one"]


async def test_an_empty_folder_is_deleted(changing: World) -> None:
    made = await changing.backend.create(f"{changing.folder}/Below", Role.FOLDER)
    await rows(changing, made)
    await changing.backend.remove(made)
    await changing.settle()
    assert made.path not in await paths(changing)
    assert changing.folder in await paths(changing)


async def test_a_label_is_deleted_and_its_mail_stays(changing: World) -> None:
    if changing.label is None:
        with pytest.raises(MailError):
            await changing.backend.create("Red", Role.LABEL)
        return
    label, handle = await labelled(changing)
    await changing.backend.label([handle], label)
    await changing.settle()
    await changing.backend.remove(label)
    await changing.settle()
    assert label.path not in await paths(changing)
    assert await subjects(changing, await box(changing)) == ["one"]


@pytest.mark.parametrize("role", [Role.INBOX, Role.TRASH, Role.ARCHIVE])
async def test_a_mailbox_with_a_role_of_its_own_is_neither_renamed_nor_deleted(changing: World, role: Role) -> None:
    """P-58, B-08."""
    before = await paths(changing)
    mailbox = await box(changing, role)
    with pytest.raises(Unsupported):
        await changing.backend.rename(mailbox, f"{changing.folder}/Elsewhere")
    with pytest.raises(Unsupported):
        await changing.backend.remove(mailbox)
    assert await paths(changing) == before


async def test_a_mailbox_is_shown_and_hidden_as_often_as_one_likes(changing: World) -> None:
    mailbox = await folder(changing)
    for on in (True, True, False, False, True):
        await changing.backend.subscribe(mailbox, on=on)
    assert changing.folder in await paths(changing)


async def test_flags_change_for_hundreds_at_once(changing: World) -> None:
    handles = list((await arrived(changing, *(f"n {number}" for number in range(320)))).values())
    change = FlagChange(add=frozenset({"seen", "flagged"}))
    fates = await changing.backend.set_flags(handles, change)
    assert {fate.ending for fate in fates} == {Ending.DONE}
    await changing.settle()
    assert {frozenset({"seen", "flagged"}) & row.flags for row in await rows(changing, await box(changing))} == {
        frozenset({"seen", "flagged"})
    }
