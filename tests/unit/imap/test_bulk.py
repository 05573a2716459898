"""Many whole messages: each once, whatever the order of the answers, and nothing for what is gone."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from mcp_proton.domain.mail import Mailbox, Role
from mcp_proton.imap import bulk, keys
from mcp_proton.imap.bulk import Bulk
from mcp_proton.imap.errors import Rebuilt
from mcp_proton.imap.groups import Group
from tests.unit.imap.scripted import OK, Reply, ScriptedServer, Talk, mailbox, pool_for, serving

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

INBOX = Mailbox("me", "INBOX", "INBOX", Role.INBOX)


def named(command: bytes) -> list[int]:
    """The UIDs a command names."""
    found: list[int] = []
    for part in command.split()[2].split(b","):
        first, _, last = part.partition(b":")
        found += range(int(first), int(last or first) + 1)
    return found


def body(uid: int, size: int) -> bytes:
    return b"Subject: %d\r\n\r\n" % uid + b"x" * size


class Shop:
    """A server with messages of some sizes; `gone` are in its list and cannot be had."""

    def __init__(self, sizes: dict[int, int], gone: frozenset[int] = frozenset()) -> None:
        self.sizes, self.gone = sizes, gone
        self.put_off: list[tuple[Talk, bytes, bytes]] = []
        self.late = False
        """summaries asked for ahead come after the bodies that were asked for behind them"""

    async def answer(self, talk: Talk, tag: bytes, command: bytes) -> None:
        if b"BODY.PEEK" not in command:
            rows = [
                b"* %d FETCH (UID %d RFC822.SIZE %d)\r\n" % (n, n, len(body(n, self.sizes[n]))) for n in named(command)
            ]
            words = b"".join(rows).replace(b" RFC822", b' FLAGS () INTERNALDATE "01-Jan-2024 10:00:00 +0000" RFC822')
            words = words.replace(b")\r\n", b" ENVELOPE (NIL NIL NIL NIL NIL NIL NIL NIL NIL NIL))\r\n")
            if self.late and 1 not in named(command):
                self.put_off.append((talk, words + OK, tag))
            else:
                await talk.say(words + OK, tag)
            return
        for uid in named(command):
            if uid not in self.gone:
                octets = body(uid, self.sizes[uid])
                await talk.say(b"* %d FETCH (UID %d BODY[] {%d}\r\n" % (uid, uid, len(octets)) + octets + b")\r\n")
        await talk.say(OK, tag)
        for other, words, its_tag in self.put_off:
            await other.say(words, its_tag)
        self.put_off.clear()


async def told(walk: Bulk) -> dict[int, bytes]:
    found: dict[int, bytes] = {}
    async for one in walk.messages():
        uid = keys.read(one.envelope.handle.key)[1]
        assert uid not in found
        found[uid] = b"".join([piece async for piece in one.octets])
    return found


@asynccontextmanager
async def walking(
    shop: Shop, uids: list[int], examined: Reply | None = None
) -> AsyncIterator[tuple[Bulk, ScriptedServer]]:
    replies: dict[bytes, Reply] = {b"UID FETCH": shop.answer, b"EXAMINE": examined or mailbox(exists=900)}
    async with serving(replies) as server, pool_for(server) as pool, pool.reading("INBOX") as box:
        yield Bulk(box, Group(INBOX, 1, tuple(uids)), step=None), server


@pytest.mark.parametrize("count", [1, bulk.FIRST, bulk.FIRST + 1, bulk.FIRST + bulk.PAGE + 3])
@pytest.mark.parametrize("late", [False, True])
async def test_each_comes_once_and_whole(count: int, late: bool) -> None:
    """P-63. `late`: a server that works side by side answers in another order than it was asked."""
    shop = Shop({uid: uid * 7 for uid in range(1, count + 1)})
    shop.late = late
    async with walking(shop, list(shop.sizes)) as (walk, _):
        assert await told(walk) == {uid: body(uid, size) for uid, size in shop.sizes.items()}


async def test_more_than_is_held_comes_before_the_summaries_that_were_asked_for_first() -> None:
    """Only what is read holds the connection: else this waits for ever."""
    shop = Shop(dict.fromkeys(range(1, bulk.FIRST + 20), 100_000))
    shop.late = True
    async with walking(shop, list(shop.sizes)) as (walk, _):
        assert len(await told(walk)) == bulk.FIRST + 19


async def test_the_next_is_asked_for_before_the_last_is_read() -> None:
    shop = Shop(dict.fromkeys(range(1, 200), 10))
    async with walking(shop, list(shop.sizes)) as (walk, server):
        async for one in walk.messages():
            assert one.envelope.handle.key.endswith("-1")
            break
        asked = [b"BODY.PEEK" in command for command in server.commands(b"UID FETCH")]
    assert asked[:2] == [False, False]
    assert asked[2]


async def test_what_is_gone_is_left_out_and_the_mailbox_is_looked_at_again() -> None:
    shop = Shop(dict.fromkeys(range(1, 100), 10), gone=frozenset({7, 70}))
    async with walking(shop, list(shop.sizes)) as (walk, server):
        assert (await told(walk)).keys() == shop.sizes.keys() - {7, 70}
        assert len(server.commands(b"EXAMINE")) == 2


async def test_a_mailbox_that_was_rebuilt_meanwhile_is_told() -> None:
    shop, count = Shop({1: 10, 2: 10}, gone=frozenset({2})), 0

    async def examined(talk: Talk, tag: bytes, command: bytes) -> None:
        nonlocal count
        count += 1
        await talk.say(mailbox(uidvalidity=count), tag)

    async with walking(shop, [1, 2], examined) as (walk, _):
        with pytest.raises(Rebuilt):
            await told(walk)


async def test_large_ones_are_streamed_after_the_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "LARGE", 200_000)
    shop = Shop({1: 10, 2: 300_000, 3: 20, 4: 900_000})
    async with walking(shop, [1, 2, 3, 4]) as (walk, _):
        found = await told(walk)
    assert list(found) == [1, 3, 2, 4]
    assert found == {uid: body(uid, size) for uid, size in shop.sizes.items()}
