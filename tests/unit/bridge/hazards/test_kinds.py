"""INBOX, Sent and Drafts follow the kind of a message, whatever was named."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcp_proton.domain.outcome import Ending, Proof
from mcp_proton.domain.ports import HOME
from tests.unit.bridge.hazards.scene import LATER

if TYPE_CHECKING:
    from tests.unit.bridge.hazards.scene import Scene


@pytest.mark.parametrize(
    ("kind", "source", "named"),
    [
        ("received", "INBOX", "Drafts"),
        ("sent", "Sent", "Drafts"),
        ("draft", "Drafts", "INBOX"),
        ("draft", "Drafts", "Sent"),
    ],
)
async def test_no_message_is_sent_to_the_home_of_another_kind(scene: Scene, kind: str, source: str, named: str) -> None:
    """P-56: such a MOVE orphans, with OK (trap 12)."""
    for key in ("naive", "ours"):
        scene.put(key, source.lower(), kind=kind)
    async with scene.client() as naive:
        await naive(f"SELECT {source}")
        assert (await naive(f"UID MOVE 1 {named}"))[-1].startswith("OK")
    assert scene.truth("naive") == set()
    (fate,) = await scene.backend.move([await scene.handle("ours", source)], await scene.box(named))
    assert (fate.ending, fate.code) == (Ending.FAILED, "unsupported_semantics")
    assert scene.truth("ours") == {"Inbox" if source == "INBOX" else source}


@pytest.mark.parametrize("place", ["trash", "spam", "archive", "Folders/Work"])
@pytest.mark.parametrize(("kind", "home"), [("received", "INBOX"), ("sent", "Sent"), ("draft", "Drafts")])
@pytest.mark.parametrize("named", ["home", "INBOX"])
async def test_what_is_restored_is_found_in_the_home_of_its_kind(
    scene: Scene, place: str, kind: str, home: str, named: str
) -> None:
    """P-56: Bridge puts it there itself, and tells a UID in the mailbox named that is a ghost (trap 13)."""
    scene.put("ours", place, kind=kind)
    path = {"trash": "Trash", "spam": "Spam", "archive": "Archive"}.get(place, place)
    to = HOME if named == "home" else await scene.box(named)
    fates = await scene.backend.move([await scene.handle("ours", path)], to)
    assert fates[0].ending is Ending.DONE
    scene.events()
    assert fates[0].now == await scene.handle("ours", home)
    assert scene.truth("ours") == {"Inbox" if home == "INBOX" else home}
    if named == "INBOX" and home != "INBOX":
        assert home in (fates[0].why or "")
    (proved,) = await scene.backend.prove(fates, to, LATER)
    assert proved.proof is Proof.SEEN


async def test_mail_the_kind_of_which_cannot_be_told_is_found_after_the_event(scene: Scene) -> None:
    """P-61: sent under another address of the account, so that it looks received."""
    scene.bridge.deliver(
        b"Subject: alias\nFrom: other@proton.local\n\nx\n", key="alias", places=("trash",), flags=("sent",)
    )
    scene.events()
    fates = await scene.backend.move([await scene.handle("alias", "Trash")], HOME)
    scene.events()
    (proved,) = await scene.backend.prove(fates, HOME, LATER)
    assert (proved.proof, proved.now) == (Proof.SEEN, await scene.handle("alias", "Sent"))
    assert scene.truth("alias") == {"Sent"}
