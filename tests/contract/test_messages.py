"""The contract: single messages (P-52, P-54, P-55, P-90)."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from mcp_proton.domain.errors import Invalid, MailError, NotFound, Stale
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.mail import Role
from mcp_proton.domain.outcome import Ending
from mcp_proton.domain.ports import FlagChange, Page
from mcp_proton.domain.query import All
from mcp_proton.mime.decoding.encoding import decode
from mcp_proton.mime.structure import selecting
from tests.contract.letters import letter, with_attachment
from tests.contract.worlds import Mail, box, folder, newest

if TYPE_CHECKING:
    from tests.contract.worlds import World

OCTETS = bytes(range(256)) * 6_000


async def put(world: World, raw: bytes) -> Handle:
    await world.put(Mail(raw))
    return (await newest(world, 1))[0].handle


async def read(world: World, handle: Handle, part: str = "", *, start: int = 0, limit: int | None = None) -> bytes:
    return b"".join([piece async for piece in world.backend.fetch(handle, part, start=start, limit=limit)])


async def test_a_handle_is_text_that_comes_back(world: World) -> None:
    handle = await put(world, letter())
    assert Handle.parse(str(handle)) == handle
    assert (await world.backend.envelopes([handle]))[0].handle == handle


async def test_many_are_read_whole_small_and_large_alike(world: World) -> None:
    """P-63: what each is made of is what reading it alone gives; what is gone is left out."""
    big = with_attachment(OCTETS, name="big.bin")
    await world.put(*[Mail(letter(f"number {n}", number=n)) for n in range(3)], Mail(big))
    rows = await newest(world)
    expected = {row.handle: await read(world, row.handle) for row in rows}
    found = {}
    async for one in world.backend.whole([row.handle for row in rows]):
        found[one.envelope.handle] = (one.envelope.subject, b"".join([piece async for piece in one.octets]))
    assert {handle: octets for handle, (_, octets) in found.items()} == expected
    assert {handle: subject for handle, (subject, _) in found.items()} == {row.handle: row.subject for row in rows}
    await world.empty_inbox()
    assert [one async for one in world.backend.whole([row.handle for row in rows])] == []


async def test_envelopes_come_in_the_order_asked(world: World) -> None:
    await world.put(*[Mail(letter(f"number {n}", number=n)) for n in range(4)])
    handles = [row.handle for row in await newest(world)]
    for order in (handles, handles[::-1], handles[1:] + handles[:1]):
        assert [row.handle for row in await world.backend.envelopes(order)] == order


async def test_the_structure_names_parts_that_can_be_fetched(world: World) -> None:
    handle = await put(world, with_attachment(b"payload of the file", name="r\u00e9sum\u00e9.bin"))
    structure = await world.backend.structure(handle)
    assert structure.envelope.has_attachments is not False
    assert selecting.has_attachments(structure.root)
    attachment = next(part for part in structure.root.walk() if part.media_type == "application/octet-stream")
    assert attachment.encoding == "base64"
    assert b"cGF5bG9hZCBvZiB0aGUgZmlsZQ==" in await read(world, handle, attachment.path)


async def test_the_header_of_a_message_is_raw(world: World) -> None:
    handle = await put(world, letter("a subject", extra="X-Own: kept\n"))
    headers = await world.backend.headers([handle])
    assert b"X-Own: kept" in headers[handle]
    assert b"Good day." not in headers[handle]
    assert headers[handle].strip() == (await read(world, handle, "HEADER")).strip()


async def test_a_big_part_is_the_same_by_ranges_and_as_a_whole(world: World) -> None:
    handle = await put(world, with_attachment(OCTETS))
    whole = await read(world, handle)
    part = next(one for one in (await world.backend.structure(handle)).root.walk() if "octet" in one.media_type)
    content = await read(world, handle, part.path)
    assert decode(content, part.encoding).octets == OCTETS
    assert base64.encodebytes(OCTETS[:570]).replace(b"\n", b"\r\n") in whole.replace(b"\r\n", b"\n").replace(
        b"\n", b"\r\n"
    )
    step = 700_001
    pieces = [await read(world, handle, part.path, start=at, limit=step) for at in range(0, len(content), step)]
    assert b"".join(pieces) == content
    assert await read(world, handle, part.path, start=len(content) + 5) == b""
    assert await read(world, handle, part.path, start=10, limit=0) == b""


async def test_reading_can_be_left_at_any_moment(world: World) -> None:
    handle = await put(world, with_attachment(OCTETS))
    stream = world.backend.fetch(handle)
    assert await anext(stream)
    await stream.aclose()  # type: ignore[attr-defined]  # every backend's is a generator
    assert (await world.backend.envelopes([handle]))[0].subject == "With a file"


@pytest.mark.parametrize("part", ["7", "2.9"])
async def test_a_part_that_is_not_there_is_not_found(world: World, part: str) -> None:
    handle = await put(world, with_attachment(b"x"))
    with pytest.raises(NotFound):
        await read(world, handle, part)


async def test_looking_marks_nothing_read(world: World) -> None:
    handle = await put(world, with_attachment(b"x"))
    await read(world, handle)
    await world.backend.headers([handle])
    await world.backend.structure(handle)
    assert "seen" not in (await world.backend.envelopes([handle]))[0].flags


async def test_flags_are_added_and_removed(world: World) -> None:
    handle = await put(world, letter())
    (fate,) = await world.backend.set_flags([handle], FlagChange(add=frozenset({"seen", "flagged"})))
    assert (fate.handle, fate.ending) == (handle, Ending.DONE)
    assert (await world.backend.envelopes([handle]))[0].flags >= {"seen", "flagged"}
    await world.backend.set_flags([handle], FlagChange(remove=frozenset({"flagged"})))
    flags = (await world.backend.envelopes([handle]))[0].flags
    assert "seen" in flags
    assert "flagged" not in flags


async def test_every_handle_of_a_batch_has_its_own_fate(world: World) -> None:
    handle = await put(world, letter())
    gone = replace(handle, key=handle.key + "9")
    fates = await world.backend.set_flags([gone, handle], FlagChange(add=frozenset({"seen"})))
    assert [(fate.handle, fate.ending, fate.code) for fate in fates] == [
        (gone, Ending.FAILED, "stale_handle"),
        (handle, Ending.DONE, None),
    ]


async def _all_verbs_refuse(world: World, handle: Handle, *kinds: type[MailError]) -> None:
    with pytest.raises(kinds):
        await world.backend.structure(handle)
    with pytest.raises(kinds):
        await read(world, handle)


async def test_a_handle_from_a_rebuilt_mailbox_is_stale(world: World) -> None:
    """Scenario 8 of trouble: elsewhere, the old id hits another message."""
    await world.put_into_folder(Mail(letter("before")))
    (row,) = (await world.backend.search([await folder(world)], All(), Page(1))).rows
    await world.rebuild_folder(Mail(letter("another")))
    await _all_verbs_refuse(world, row.handle, Stale)
    assert list(await world.backend.envelopes([row.handle])) == []
    assert dict(await world.backend.headers([row.handle])) == {}
    (fate,) = await world.backend.set_flags([row.handle], FlagChange(add=frozenset({"seen"})))
    assert (fate.ending, fate.code) == (Ending.FAILED, "stale_handle")
    (fresh,) = (await world.backend.search([await folder(world)], All(), Page(1))).rows
    assert "seen" not in fresh.flags


async def test_a_handle_of_a_destroyed_message_is_stale(world: World) -> None:
    handle = await put(world, letter())
    await world.empty_inbox()
    await _all_verbs_refuse(world, handle, Stale)
    assert list(await world.backend.envelopes([handle])) == []


async def test_a_handle_cannot_be_forged_into_another_mailbox(world: World) -> None:
    """P-90: the mailbox a handle names is where its message is, or the handle is refused."""
    handle = await put(world, letter("secret"))
    for target in (await box(world, Role.SENT), await folder(world)):
        forged = replace(handle, tag=target.tag)
        await _all_verbs_refuse(world, forged, Stale)
        assert list(await world.backend.envelopes([forged])) == []


@pytest.mark.parametrize("key", ["1", "-", "zzzzzzzzz-1", "1-zzzzzzzzz", "A-B", "0-0"])
async def test_a_malformed_key_is_refused(world: World, key: str) -> None:
    inbox = await box(world)
    await _all_verbs_refuse(world, Handle("me", inbox.tag, key), Invalid, Stale)


async def test_a_handle_into_a_mailbox_that_is_gone_is_stale(world: World) -> None:
    handle = await put(world, letter())
    await _all_verbs_refuse(world, replace(handle, tag="aaaaaa"), Stale)
