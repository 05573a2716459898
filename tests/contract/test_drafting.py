"""Drafts on every backend, through the whole service: written, read back, changed, discarded (P-59, A-13, A-14)."""

from __future__ import annotations

from email import message_from_bytes, policy
from typing import TYPE_CHECKING, Any

import pytest

from mcp_proton.domain.handles import Handle
from mcp_proton.domain.mail import Role
from tests.contract.test_transfer import AGENT, Door, everything

if TYPE_CHECKING:
    from pathlib import Path

    from tests.contract.worlds import World

LETTER = {"to": ["Anna Berg <anna@example.org>"], "bcc": ["boss@example.net"], "subject": "Plän", "text": "At noon?"}


@pytest.fixture
def door(changing: World, tmp_path: Path) -> Door:
    return Door(changing, tmp_path)


async def written(door: Door, **more: Any) -> dict[str, Any]:
    async with door.service.world.artifacts.create(AGENT, "menu.bin", "application/octet-stream") as writer:
        await writer.write(bytes(range(256)) * 300)
        kept = await writer.done()
    told = await door.ask("drafts_create", **{**LETTER, "attach": [kept.id], **more})
    assert told["status"] == "ok", told
    return told


async def whole(world: World, handle: str) -> Any:
    raw = b"".join([piece async for piece in world.backend.fetch(Handle.parse(handle))])
    return message_from_bytes(raw, policy=policy.default)


async def test_a_draft_keeps_what_it_is_made_of_through_every_change(changing: World, door: Door) -> None:
    """P-59: one version is left, with text, file and hidden recipient."""
    told = await written(door, html="<p>At <b>noon</b>?</p>")
    await changing.settle()
    read = await door.ask("drafts_get", draft=told["draft"])
    assert (read["digest"], read["subject"], read["bcc"]) == (told["digest"], "Plän", ["boss@example.net"])
    assert read["text"].strip() == "At noon?"
    changed = await door.ask("drafts_update", draft=told["draft"], digest=told["digest"], subject="Later")
    assert changed["status"] == "ok", changed
    await changing.settle()
    (row,) = await everything(changing, Role.DRAFTS)
    assert (str(row.handle), row.subject) == (changed["draft"], "Later")
    draft = await whole(changing, changed["draft"])
    assert draft["Bcc"] == "boss@example.net"
    assert "<b>noon</b>" in draft.get_body(("html",)).get_content()
    (attached,) = draft.iter_attachments()
    # pymap tells a disposition as one text (RFC 9051 §7.5.2 wants a list), so the file's name is not known there.
    name = "menu.bin" if getattr(changing, "names_files", True) else "attachment.bin"
    assert (attached.get_filename(), attached.get_payload(decode=True)) == (name, bytes(range(256)) * 300)
    kept = draft.get_body(("plain",)) is not None
    assert kept is changing.copies, "Bridge (where nothing is in two mailboxes) keeps one text"
    assert (await door.ask("drafts_get", draft=changed["draft"]))["text"].strip() == "At noon?"
    assert await everything(changing, Role.TRASH) == []


async def test_the_old_version_can_no_longer_be_changed_and_nothing_is_doubled(changing: World, door: Door) -> None:
    """A-14."""
    told = await written(door)
    changed = await door.ask("drafts_update", draft=told["draft"], digest=told["digest"], text="Later.")
    again = await door.ask("drafts_update", draft=told["draft"], digest=told["digest"], text="Never.")
    assert (again["status"], again["code"]) == ("conflict", "changed_elsewhere")
    await changing.settle()
    assert [str(row.handle) for row in await everything(changing, Role.DRAFTS)] == [changed["draft"]]


async def test_a_discarded_draft_is_gone_and_the_others_are_not(changing: World, door: Door) -> None:
    first, second = await written(door), await written(door, subject="Other")
    await changing.settle()
    told = await door.ask("drafts_discard", messages=[first["draft"]])
    assert (told["status"], told["done"]) == ("ok", 1), told
    assert [row.subject for row in await everything(changing, Role.DRAFTS)] == ["Other"]
    assert second["draft"] == str((await everything(changing, Role.DRAFTS))[0].handle)
