"""All Mail, Starred and labels show mail whose place is another one: what is sent there acts on that place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcp_proton.domain.errors import Unsupported
from mcp_proton.domain.outcome import Ending
from mcp_proton.domain.ports import HOME, FlagChange

if TYPE_CHECKING:
    from tests.unit.bridge.hazards.scene import Scene


@pytest.mark.parametrize(
    ("place", "path", "left"),
    [("archive", "Archive", set()), ("trash", "Trash", None), ("Folders/Work", "Folders/Work", set())],
)
async def test_a_handle_of_all_mail_is_filed_from_the_messages_own_place(
    scene: Scene, place: str, path: str, left: set[str] | None
) -> None:
    """P-56: All Mail refuses MOVE after it took the message out of its destination (a 9, trap 6)."""
    scene.put("naive", place)
    scene.put("there", place)
    scene.put("elsewhere")
    async with scene.client() as naive:
        await naive('SELECT "All Mail"')
        assert (await naive(f"UID MOVE 1 {path}"))[-1] == "NO operation not allowed"
    assert scene.truth("naive") == left
    scene.events()
    handles = [await scene.handle(key, "All Mail") for key in ("there", "elsewhere")]
    fates = await scene.backend.move(handles, await scene.box(path))
    assert [(fate.ending, fate.code) for fate in fates] == [(Ending.SKIPPED, "already_there"), (Ending.DONE, None)]
    scene.events()
    assert scene.truth("there") == scene.truth("elsewhere") == {path}
    for key, fate in zip(("there", "elsewhere"), fates, strict=True):
        assert fate.now == await scene.handle(key, path)


@pytest.mark.parametrize(
    ("key", "places", "source"),
    [("starred", ("inbox", "starred"), "Starred"), ("blue", ("inbox", "Labels/Blue"), "Labels/Blue")],
)
async def test_filing_from_a_view_costs_neither_star_nor_label(
    scene: Scene, key: str, places: tuple[str, ...], source: str
) -> None:
    """P-57: MOVE out of Starred or a label takes the star or the label off (traps 8, 10)."""
    scene.put("naive", *places)
    scene.put(key, *places)
    async with scene.client() as naive:
        await naive(f"SELECT {source}")
        await naive("UID MOVE 1 Archive")
    assert scene.truth("naive") == {"Archive"}
    scene.events()
    (fate,) = await scene.backend.move([await scene.handle(key, source)], await scene.box("Archive"))
    assert fate.ending is Ending.DONE
    scene.events()
    assert scene.truth(key) == {"Archive", source}


async def test_starring_is_a_flag_and_never_a_move(scene: Scene) -> None:
    """P-56: MOVE to Starred orphans (trap 7)."""
    scene.put("naive")
    scene.put("ours")
    handle = await scene.handle("ours")
    async with scene.client() as naive:
        await naive("SELECT INBOX")
        await naive("UID MOVE 1 Starred")
    assert scene.truth("naive") == {"Starred"}
    with pytest.raises(Unsupported) as refusal:
        await scene.backend.move([handle], await scene.box("Starred"))
    assert "star it" in (refusal.value.next or "")
    await scene.backend.set_flags([handle], FlagChange(add=frozenset({"flagged"})))
    assert scene.truth("ours") == {"Inbox", "Starred"}


async def test_a_label_is_given_by_a_copy_and_a_move_to_it_is_refused(scene: Scene) -> None:
    """P-57: MOVE to a label leaves the message where it is, with COPYUID (trap 9)."""
    scene.put("naive")
    scene.put("ours")
    async with scene.client() as naive:
        await naive("SELECT INBOX")
        assert [line for line in await naive("UID MOVE 1 Labels/Blue") if "COPYUID" in line]
    assert scene.truth("naive") == {"Inbox", "Labels/Blue"}
    with pytest.raises(Unsupported):
        await scene.backend.move([await scene.handle("ours")], await scene.box("Labels/Blue"))
    assert scene.truth("ours") == {"Inbox"}


@pytest.mark.parametrize("node", ["Labels", "Folders"])
async def test_nothing_is_ever_written_to_a_node(scene: Scene, node: str) -> None:
    """B-08: a MOVE from a label to the node loses the label (a 3, trap 17)."""
    scene.put("naive", "inbox", "Labels/Blue")
    scene.put("ours", "inbox", "Labels/Blue")
    async with scene.client() as naive:
        await naive("SELECT Labels/Blue")
        assert (await naive(f"UID MOVE 1 {node}"))[-1].startswith("OK")
    assert scene.truth("naive") == {"Inbox"}
    handle = await scene.handle("ours", "Labels/Blue")
    for change in (scene.backend.move, scene.backend.label):
        with pytest.raises(Unsupported):
            await change([handle], await scene.box(node))
    assert scene.truth("ours") == {"Inbox", "Labels/Blue"}


async def test_a_copy_out_of_all_mail_repairs_orphans_only(scene: Scene) -> None:
    """P-56, N-16: COPY All Mail to Trash deletes what is there already (a 1, trap 5); it is the only repair (5.2)."""
    scene.put("naive", "trash")
    scene.put("ours", "trash")
    scene.put("orphan", "Labels/Blue")
    async with scene.client() as naive:
        await naive('SELECT "All Mail"')
        assert "COPYUID" in (await naive("UID COPY 1 Trash"))[-1]
    assert scene.truth("naive") is None
    scene.events()
    handles = [await scene.handle(key, "All Mail") for key in ("ours", "orphan")]
    fates = await scene.backend.reattach(handles, await scene.box("Trash"))
    assert (fates[0].ending, fates[0].code) == (Ending.SKIPPED, "has_a_place")
    assert fates[1].ending is Ending.DONE
    scene.events()
    assert scene.truth("ours") == {"Trash"}
    assert "Trash" in (scene.truth("orphan") or ())


@pytest.mark.parametrize(("kind", "home"), [("received", "INBOX"), ("sent", "Sent")])
async def test_an_orphan_goes_home_by_its_kind(scene: Scene, kind: str, home: str) -> None:
    """P-56: restore, also of orphans in All Mail."""
    scene.bridge.deliver(
        f"Subject: lost\nFrom: {'alice@proton.local' if kind == 'sent' else 'a@example.org'}\n\nx\n".encode(),
        key="lost",
        places=(),
        flags=(kind,),
    )
    scene.events()
    all_mail = await scene.handle("lost", "All Mail")
    (refused,) = await scene.backend.move([all_mail], await scene.box("Archive"))
    assert (refused.ending, refused.code) == (Ending.FAILED, "orphaned")
    (fate,) = await scene.backend.reattach([all_mail], HOME)
    assert fate.ending is Ending.DONE
    scene.events()
    assert fate.now == await scene.handle("lost", home)
    assert scene.truth("lost") == {home.title() if home == "INBOX" else home}
    (only_all_mail,) = await scene.backend.reattach([await scene.handle("lost", home)], HOME)
    assert only_all_mail.code == "unsupported_semantics"
