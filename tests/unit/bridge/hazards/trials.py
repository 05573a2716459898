"""What a row of the effect table promises, tried: our backend does it to a message, and the account shows what came of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcp_proton.domain.consequences import End
from mcp_proton.domain.errors import Conflict, Stale
from mcp_proton.domain.mail import Role
from mcp_proton.domain.outcome import Ending, Fate, Proof
from mcp_proton.domain.ports import HOME, FlagChange, Page
from mcp_proton.domain.query import All
from tests.unit.bridge.hazards.places import HOMES, KINDS, PATHS, TARGETS, Placed, held_by, name, place_of, put
from tests.unit.bridge.hazards.scene import LATER

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcp_proton.domain.consequences import Consequence
    from tests.unit.bridge.hazards.scene import Scene


async def look(scene: Scene, row: Consequence) -> None:
    """Looking in every way there is leaves no trace."""
    placed = put(scene, Role.INBOX, "Labels/Blue")
    before = scene.bridge.state()
    backend, handle, inbox = scene.backend, await placed.handle(), await scene.box("INBOX")
    match row.verb:
        case "mailboxes":
            assert {one.path for one in await backend.mailboxes(counts=True, fresh=True)} >= {"INBOX", "Labels/Blue"}
        case "search":
            assert [one.handle for one in (await backend.search([inbox], All(), Page(9))).rows] == [handle]
        case "envelopes":
            assert [one.subject for one in await backend.envelopes([handle])] == [placed.key]
        case "structure":
            assert (await backend.structure(handle)) is not None
        case "headers":
            assert b"X-Pm-Internal-Id" in (await backend.headers([handle]))[handle]
        case "fetch":
            assert placed.key.encode() in b"".join([chunk async for chunk in backend.fetch(handle)])
        case "identify":
            assert set(await backend.identify([handle])) == {handle}
        case "prove":
            (fate,) = await backend.prove([Fate.done(handle, handle, proof=Proof.COPYUID)], inbox, LATER)
            assert fate.handle == handle
        case verb:
            raise AssertionError(f"nobody knows how to try {verb}")
    scene.events()
    assert scene.bridge.state() == before


async def set_flags(scene: Scene, row: Consequence) -> None:
    """Read mark and star change in all its mailboxes, and nothing else does."""
    placed = put(scene, _role(row.source))
    before = placed.truth()
    change = FlagChange(add=frozenset({"seen", "flagged"}))
    (fate,) = await scene.backend.set_flags([await placed.handle()], change)
    assert fate.ending is Ending.DONE
    scene.events()
    assert placed.truth() == {*(before or ()), *(() if strips(scene, row.source) else ("Starred",))}
    assert not placed.is_unread()
    (row_in_all_mail,) = [one for one in await scene.rows("All Mail") if one.subject == placed.key]
    assert {"seen"} <= row_in_all_mail.flags
    assert ("flagged" in row_in_all_mail.flags) is not strips(scene, row.source)
    placed.leave()


async def move(scene: Scene, row: Consequence) -> None:
    """The message ends where the row says; labels, star and read mark stay, but for what the real API's Trash and Spam take."""
    source, target = _role(row.source), _role(row.target)
    for kind in _kinds(row):
        placed = put(scene, source, "Labels/Red", "starred", kind=kind, place=_away_from(row))
        before, was_unread = placed.truth() or set(), placed.is_unread()
        path = PATHS[source] if source is target and row.end is End.KEPT else TARGETS[target]
        (fate,) = await scene.backend.move([await placed.handle()], await scene.box(path))
        scene.events()
        if row.end is End.KEPT:
            assert (fate.ending, fate.code) == (Ending.SKIPPED, "already_there")
            assert placed.truth() == before
        else:
            assert fate.ending is Ending.DONE, fate
            end = HOMES[kind] if row.end is End.HOME else path
            assert place_of(placed.truth()) == {name(end)}, (kind, placed.truth())
            assert held_by(placed.truth()) == (set() if strips(scene, target) else held_by(before))
            assert placed.is_unread() == (was_unread and not (target is Role.TRASH and strips(scene, target)))
        placed.leave()


def _kinds(row: Consequence) -> list[str]:
    """The kinds of message it says something of: all of them where the home decides."""
    if row.end is End.HOME:
        return list(HOMES)
    return [KINDS.get(_role(row.source), "received")]


def _away_from(row: Consequence) -> str:
    """A place that is not the row's destination, for what only shows in its source."""
    return "archive" if row.end is End.HOME else "inbox"


async def reattach(scene: Scene, row: Consequence) -> None:
    """An orphan has a place again."""
    for kind in HOMES:
        key = f"orphan {kind} {row.target}"
        scene.bridge.deliver(_letter(key, kind), key=key, places=(), flags=() if kind == "draft" else (kind,))
        scene.events()
        placed = Placed(scene, key, "All Mail")
        to = HOME if row.end is End.HOME else await scene.box(TARGETS[_role(row.target)])
        (fate,) = await scene.backend.reattach([await placed.handle()], to)
        assert fate.ending is Ending.DONE, fate
        scene.events()
        assert placed.truth() == {name(HOMES[kind] if row.end is End.HOME else TARGETS[_role(row.target)])}
        placed.leave()


def _letter(key: str, kind: str) -> bytes:
    sender = "anna@example.org" if kind == "received" else "alice@proton.local"
    return f"From: {sender}\nSubject: {key}\n\nx\n".encode()


async def label(scene: Scene, row: Consequence) -> None:
    """The label is added, or it is there and nothing is done; place, star and other labels stay."""
    placed = put(scene, _role(row.source), *(["Labels/Red"] if row.there else []))
    before = placed.truth() or set()
    (fate,) = await scene.backend.label([await placed.handle()], await scene.box("Labels/Red"))
    assert fate.ending is (Ending.SKIPPED if row.there else Ending.DONE)
    scene.events()
    kept = {*before, "Labels/Red"}
    assert placed.truth() == (place_of(before) if strips(scene, row.source) and not row.there else kept)
    placed.leave()


async def unlabel(scene: Scene, row: Consequence) -> None:
    """The label is off; place, star and other labels stay."""
    placed = put(scene, _role(row.source), "Labels/Red", "starred")
    (fate,) = await scene.backend.unlabel([await placed.handle()])
    assert fate.ending is Ending.DONE
    scene.events()
    assert placed.truth() == {"Inbox", "Labels/Red", "Starred"}
    placed.leave()


async def unmark_deleted(scene: Scene, row: Consequence) -> None:
    """The mark is taken off in this mailbox."""
    placed = put(scene, _role(row.source))
    async with scene.client() as naive:
        await naive(f'SELECT "{placed.path}"')
        await naive("STORE 1:* +FLAGS (\\Deleted)")
        (fate,) = await scene.backend.set_flags([await placed.handle()], FlagChange(remove=frozenset({"deleted"})))
        assert fate.ending is Ending.DONE, fate
        await naive(f'SELECT "{placed.path}"')
        assert (await naive("SEARCH DELETED"))[0] == "* SEARCH"
    placed.leave()


async def destroy(scene: Scene, row: Consequence) -> None:
    """Gone for good; what a label or the star holds stays where it is, and is told."""
    source = _role(row.source)
    for kind in HOMES if source is Role.TRASH else [KINDS.get(source, "received")]:
        for holder in ("Labels/Red", "starred") if row.held else ((),):
            placed = put(scene, source, *([holder] if isinstance(holder, str) else []), kind=kind)
            before = placed.truth()
            (fate,) = await scene.backend.destroy([await placed.handle()])
            scene.events()
            assert (fate.ending, fate.code) == ((Ending.FAILED, "held") if row.held else (Ending.DONE, None))
            assert placed.truth() == (before if row.held else None)
            placed.leave()


# -- mailboxes


async def create(scene: Scene, row: Consequence) -> None:
    """It is made, with the parents it lacks, and the account has it."""
    role = _role(row.source)
    path = "Folders/New/Below" if role is Role.FOLDER else "Labels/Fresh"
    await scene.backend.create(path, role)
    scene.events()
    assert {path, path.removesuffix("/Below")} <= set(await listed(scene))
    scene.put("in it", path)
    assert "in it" in [one.subject for one in await scene.rows(path)]


async def rename(scene: Scene, row: Consequence) -> None:
    """It has another path, what is in it and below it too; handles into it go stale."""
    placed = put(scene, _role(row.source))
    handle, new = await placed.handle(), placed.path + " new"
    below = []
    if row.source is Role.FOLDER:
        below = [f"{new}/Below"]
        await scene.backend.create(f"{placed.path}/Below", Role.FOLDER)
    await scene.backend.rename(await scene.box(placed.path), new)
    scene.events()
    assert {new, *below} <= set(await listed(scene))
    assert placed.path not in await listed(scene)
    assert new in (placed.truth() or ())
    with pytest.raises(Stale):
        await scene.backend.structure(handle)


async def remove(scene: Scene, row: Consequence) -> None:
    """A label is gone and its mail stays; an empty folder is gone, and one that holds mail is refused."""
    placed = put(scene, _role(row.source))
    before, gone = placed.truth() or set(), placed.path
    if row.source is Role.FOLDER:
        with pytest.raises(Conflict):
            await scene.backend.remove(await scene.box(placed.path))
        gone = "Folders/Other"
    await scene.backend.remove(await scene.box(gone))
    scene.events()
    assert gone not in await listed(scene)
    assert placed.truth() == before - {gone}


async def subscribe(scene: Scene, _row: Consequence) -> None:
    """Other programs show it or hide it."""
    box = await scene.box("Folders/Work")
    for on in (False, True):
        await scene.backend.subscribe(box, on=on)
        async with scene.client() as naive:
            assert any("Folders/Work" in line for line in (await naive('LSUB "" *'))[:-1]) is on


async def listed(scene: Scene) -> list[str]:
    """What any program is shown."""
    async with scene.client() as naive:
        lines = (await naive('LIST "" *'))[:-1]
    return [line.partition(' "/" ')[2].strip('"') for line in lines]


def strips(scene: Scene, role: Role | None) -> bool:
    """Whether this model of Proton takes star and labels off what is in a mailbox of this role."""
    return scene.bridge.model == "real" and role in {Role.TRASH, Role.SPAM}


def _role(role: Role | None) -> Role:
    assert role is not None
    return role


TRIALS: dict[str, Callable[[Scene, Consequence], Awaitable[None]]] = {
    **dict.fromkeys(
        ("mailboxes", "search", "envelopes", "structure", "headers", "fetch", "identify", "prove"), look
    ),
    "set_flags": set_flags, "move": move, "reattach": reattach, "label": label, "unlabel": unlabel,
    "unmark_deleted": unmark_deleted, "destroy": destroy, "create": create, "rename": rename, "remove": remove,
    "subscribe": subscribe,
}  # fmt: skip
"""How a row that is done is tried, by its verb."""
