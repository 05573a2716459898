"""Sets, flags and names that Bridge takes amiss."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcp_proton.domain.errors import Conflict, Invalid, Unsupported
from mcp_proton.domain.mail import Role
from mcp_proton.domain.outcome import Ending
from mcp_proton.domain.ports import FlagChange

if TYPE_CHECKING:
    from tests.unit.bridge.hazards.scene import Scene


async def test_a_message_named_twice_is_sent_once(scene: Scene) -> None:
    """P-55: NO with an error of the database, and done all the same (a 20, trap 68)."""
    scene.put("naive")
    scene.put("ours")
    async with scene.client() as naive:
        await naive("SELECT INBOX")
        assert (await naive("UID MOVE 1,1 Archive"))[-1].startswith("NO UNIQUE constraint")
    assert scene.truth("naive") == {"Archive"}
    scene.events()
    handle = await scene.handle("ours")
    all_mail = await scene.handle("ours", "All Mail")
    fates = await scene.backend.move([handle, handle, all_mail], await scene.box("Archive"))
    assert [fate.ending for fate in fates] == [Ending.DONE, Ending.DONE, Ending.SKIPPED]
    scene.events()
    assert scene.truth("ours") == {"Archive"}


async def test_what_is_not_there_is_told_and_not_taken_for_done(scene: Scene) -> None:
    """P-55: OK without COPYUID is the only sign (a 19, trap 67)."""
    scene.put("ours")
    scene.put("other")
    handle, archive = await scene.handle("ours"), await scene.box("Archive")
    async with scene.client() as naive:
        await naive("SELECT INBOX")
        assert (await naive("UID MOVE 77 Archive"))[-1].startswith("OK")
    await scene.backend.move([handle], archive)
    fates = await scene.backend.move([handle, await scene.handle("other")], archive)
    assert [(fate.ending, fate.code) for fate in fates] == [(Ending.FAILED, "stale_handle"), (Ending.DONE, None)]


async def test_flags_not_named_stay(scene: Scene) -> None:
    """P-16, B-09: a replacing STORE changes what it does not name, and hides it (a 10, trap 73)."""
    for key in ("naive", "ours"):
        scene.put(key, "inbox", "starred")
    async with scene.client() as naive:
        await naive("SELECT INBOX")
        await naive("UID STORE 1 FLAGS (\\Seen)")
    assert scene.truth("naive") == {"Inbox"}
    (fate,) = await scene.backend.set_flags([await scene.handle("ours")], FlagChange(add=frozenset({"seen"})))
    assert fate.ending is Ending.DONE
    assert scene.truth("ours") == {"Inbox", "Starred"}
    assert scene.bridge.state()["ours"]["unread"] is False


async def test_a_flag_that_the_next_event_takes_is_refused(scene: Scene) -> None:
    """P-17: keywords and the answered mark stay on this computer, and not for long (trap 18)."""
    scene.put("ours")
    handle = await scene.handle("ours")
    for flag in ("answered", "todo", "draft"):
        (fate,) = await scene.backend.set_flags([handle], FlagChange(add=frozenset({flag})))
        assert (fate.ending, fate.code) == (Ending.FAILED, "flag_not_kept")


async def test_inbox_is_never_renamed(scene: Scene) -> None:
    """B-08: RENAME INBOX moves every message of it (a 15, trap 48)."""
    scene.put("naive")
    with pytest.raises(Unsupported):
        await scene.backend.rename(await scene.role(Role.INBOX), "Folders/Everything")
    assert scene.truth("naive") == {"Inbox"}
    async with scene.client() as naive:
        await naive("RENAME INBOX Folders/Everything")
    assert scene.truth("naive") == {"Folders/Everything"}


@pytest.mark.parametrize("path", ["Labels/a/b", "a/b"])
async def test_a_label_in_a_label_is_refused_before_half_of_it_is_made(scene: Scene, path: str) -> None:
    """P-58: Bridge refuses it after it made the parent (a 16, trap 47)."""
    with pytest.raises(Invalid):
        await scene.backend.create(path, Role.LABEL)
    scene.events()
    assert not [one for one in await scene.backend.mailboxes(fresh=True) if one.name == "a"]
    async with scene.client() as naive:
        assert (await naive("CREATE Labels/a/b"))[-1].startswith("NO")
    scene.events()
    assert [one.path for one in await scene.backend.mailboxes(fresh=True) if one.name == "a"] == ["Labels/a"]


async def test_neither_folder_becomes_a_label_nor_label_a_folder(scene: Scene) -> None:
    """P-58."""
    for box, path in (
        ("Labels/Blue", "Folders/Blue"),
        ("Folders/Work", "Labels/Work"),
        ("Folders/Work", "Folders/Work/x"),
    ):
        with pytest.raises(Invalid):
            await scene.backend.rename(await scene.box(box), path)
    for name, role in (("Blue", Role.FOLDER), ("Work", Role.LABEL), ("Archive", Role.FOLDER), ("inbox/x", Role.FOLDER)):
        with pytest.raises((Conflict, Invalid)):
            await scene.backend.create(name, role)
    scene.events()
    paths = {one.path for one in await scene.backend.mailboxes(fresh=True)}
    assert {"Labels/Blue", "Labels/Red", "Folders/Work", "Folders/Other"} <= paths
    assert not [path for path in paths if path.endswith(("/x", "Folders/Blue", "Labels/Work", "Folders/Archive"))]


@pytest.mark.parametrize("role", [Role.TRASH, Role.SENT, Role.ALL, Role.NODE, Role.STARRED])
async def test_a_mailbox_of_protons_own_is_never_deleted(scene: Scene, role: Role) -> None:
    """B-08: Bridge asks Proton to, without a look of its own (a 18)."""
    with pytest.raises(Unsupported):
        await scene.backend.remove(await scene.role(role))
    assert not [line for _, line in scene.said if line.startswith(b"DELETE")]


async def test_a_folder_with_mail_is_not_deleted_and_a_label_with_mail_is(scene: Scene) -> None:
    """P-58: mail of a deleted folder is in no mailbox any more (trap 49)."""
    scene.put("naive", "Folders/Other")
    scene.put("filed", "Folders/Work")
    scene.put("labelled", "inbox", "Labels/Blue")
    async with scene.client() as naive:
        await naive("DELETE Folders/Other")
    assert scene.truth("naive") == set()
    with pytest.raises(Conflict) as refusal:
        await scene.backend.remove(await scene.box("Folders/Work"))
    assert refusal.value.code == "not_empty"
    await scene.backend.remove(await scene.box("Labels/Blue"))
    scene.events()
    assert scene.truth("filed") == {"Folders/Work"}
    assert scene.truth("labelled") == {"Inbox"}


async def test_a_refusal_shows_nothing_of_bridges_insides(scene: Scene) -> None:
    """B-09: texts carry the address of Proton's API (a 14, trap 79)."""
    scene.bridge.refuse_calls("/core/v4/labels", count=-1, status=422, message="https://api.example/ /home/me")
    with pytest.raises(Invalid) as refusal:
        await scene.backend.create("New", Role.FOLDER)
    assert "example" not in f"{refusal.value.message} {refusal.value.next}"


async def test_a_trash_costs_the_same_few_commands_whatever_the_mailboxes_hold(scene: Scene) -> None:
    """B-09: no list of Trash or All Mail is read for it: the source is the message's own place."""
    scene.put("first")
    scene.put("second")
    trash = await scene.box("Trash")
    handles = [await scene.handle(key) for key in ("first", "second")]
    await scene.backend.move(handles[:1], trash)
    for number in range(120):
        scene.bridge.deliver(f"Subject: n{number}\nFrom: a@example.org\n\nx\n".encode(), places=("trash",))
    scene.events()
    before = len(scene.said)
    (fate,) = await scene.backend.move(handles[1:], trash)
    assert fate.ending is Ending.DONE
    words = [line.split(b" ") for _, line in scene.said[before:]]
    assert [b" ".join(word[:2]) for word in words] == [b"NOOP", b"UID FETCH", b"NOOP", b"UID MOVE"]
    assert sum(len(line) for _, line in scene.said[before:]) < 200
