"""Large messages in small memory: ranges asked for ahead, or one literal passed on."""

from __future__ import annotations

import asyncio
import re
import tracemalloc

import pytest

from mcp_proton.domain.errors import NotFound
from mcp_proton.imap.errors import ConnectionLost, ProtocolViolation, Rebuilt, Rejected
from mcp_proton.imap.protocol.commands import Noop
from mcp_proton.imap.protocol.fetching import Items
from mcp_proton.imap.protocol.pool import Habits
from tests.unit.imap.scripted import OK, Reply, Talk, mailbox, pool_for, serving

BODY = bytes(range(256)) * 12_000  # 3 MB
_RANGE = re.compile(rb"BODY\.PEEK\[(.*)\](?:<(\d+)\.(\d+)>)?\)\Z")


def keeper(body: bytes, *, uid_last: bool = True) -> Reply:
    """A server that holds one message, UID 1; Bridge names the UID after the body."""

    async def answer(talk: Talk, tag: bytes, command: bytes) -> None:
        if command.split()[2] != b"1":
            await talk.say(OK, tag)
            return
        asked = _RANGE.search(command)
        assert asked is not None
        start = int(asked[2] or 0)
        piece = body[start : start + int(asked[3])] if asked[3] else body
        origin = b"<%d>" % start if asked[2] else b""
        name = b"BODY[" + asked[1] + b"]" + origin
        before, after = (b"", b" UID 1") if uid_last else (b"UID 1 ", b"")
        await talk.say(b"* 1 FETCH (" + before + name + b" {%d}\r\n" % len(piece))
        await talk.say(piece + after + b")\r\n" + OK, tag)

    return answer


@pytest.mark.parametrize("step", [None, 64 * 1024, 1_000_000, 3_072_000, 10_000_000])
@pytest.mark.parametrize(
    ("start", "length"), [(0, None), (1_000, 500_000), (3_071_990, None), (5, 10), (9_999_999, None)]
)
async def test_a_section_arrives_whole_and_in_order(step: int | None, start: int, length: int | None) -> None:
    async with serving({b"UID FETCH": keeper(BODY)}) as server, pool_for(server) as pool, pool.reading("INBOX") as box:
        pieces = [piece async for piece in box.stream(1, "TEXT", start, length, step=step)]
        assert b"".join(pieces) == BODY[start : None if length is None else start + length]
        assert all(pieces)
        await box.run(Noop())


async def test_ranges_are_asked_for_two_ahead() -> None:
    async with serving({b"UID FETCH": keeper(BODY)}) as server, pool_for(server) as pool, pool.reading("INBOX") as box:
        stream = box.stream(1, step=100_000)
        await anext(stream)
        await anext(stream)
        await asyncio.sleep(0.05)
        assert 4 <= len(server.commands(b"UID FETCH")) <= 5


async def test_a_small_section_costs_one_command() -> None:
    async with (
        serving({b"UID FETCH": keeper(b"small")}) as server,
        pool_for(server) as pool,
        pool.reading("INBOX") as box,
    ):
        assert [piece async for piece in box.stream(1)] == [b"small"]
        assert len(server.commands(b"UID FETCH")) == 1


@pytest.mark.parametrize("step", [None, 512 * 1024])
async def test_a_slow_reader_of_25_mb_needs_little_memory(step: int | None) -> None:
    body = bytes(25_000_000)
    async with serving({b"UID FETCH": keeper(body)}) as server, pool_for(server) as pool, pool.reading("INBOX") as box:
        total = peak = 0
        tracemalloc.start()
        async for piece in box.stream(1, step=step):
            total += len(piece)
            if total == len(piece):
                await asyncio.sleep(0.2)
                # asyncio's own writer in this test's server holds what it could not send yet; count only ours
                snapshot = tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(True, "*/mcp_proton/imap/*")])
                peak = sum(trace.size for trace in snapshot.traces)
        tracemalloc.stop()
    assert total == 25_000_000
    assert peak < 3 << 20


@pytest.mark.parametrize("step", [None, 100_000])
async def test_leaving_a_stream_early_leaves_the_pool_usable(step: int | None) -> None:
    habits = Habits(sessions=1)
    async with serving({b"UID FETCH": keeper(BODY)}) as server, pool_for(server, habits=habits) as pool:
        for _ in range(3):
            async with pool.reading("INBOX") as box:
                async for _piece in box.stream(1, step=step):
                    break
        async with pool.reading("INBOX") as box:
            assert len(b"".join([piece async for piece in box.stream(1, step=step)])) == len(BODY)


@pytest.mark.parametrize("step", [None, 100_000])
async def test_a_message_that_is_gone_is_not_found_or_its_mailbox_rebuilt(step: int | None) -> None:
    async with serving({b"UID FETCH": keeper(BODY)}) as server, pool_for(server) as pool, pool.reading("INBOX") as box:
        with pytest.raises(NotFound):
            await anext(box.stream(2, step=step))
        server.replies[b"EXAMINE"] = mailbox(uidvalidity=5)
        with pytest.raises(Rebuilt):
            await anext(box.stream(2, step=step))


async def test_a_part_that_is_not_there_is_the_servers_no() -> None:
    no = b"@TAG@ NO no such parts exists\r\n"
    async with serving({b"UID FETCH": no}) as server, pool_for(server) as pool, pool.reading("INBOX") as box:
        with pytest.raises(Rejected):
            await anext(box.stream(1, "7"))
        await box.run(Noop())


async def test_more_than_was_asked_for_is_a_violation() -> None:
    reply = b"* 1 FETCH (UID 1 BODY[]<0> {20}\r\n" + b"x" * 20 + b")\r\n" + OK
    async with serving({b"UID FETCH": reply}) as server, pool_for(server) as pool, pool.reading("INBOX") as box:
        with pytest.raises(ProtocolViolation):
            await anext(box.stream(1, step=10))


async def test_another_messages_body_is_a_violation() -> None:
    reply = b"* 1 FETCH (BODY[] {100000}\r\n" + b"x" * 100_000 + b" UID 2)\r\n" + OK
    async with serving({b"UID FETCH": reply}) as server, pool_for(server) as pool, pool.reading("INBOX") as box:
        with pytest.raises(ProtocolViolation):
            [piece async for piece in box.stream(1, step=None)]


async def test_the_end_in_the_middle_of_a_stream_is_our_error() -> None:
    async def cut(talk: Talk, tag: bytes, command: bytes) -> None:
        await talk.say(b"* 1 FETCH (UID 1 BODY[] {500000}\r\n" + b"x" * 200_000)
        await talk.hang_up()

    async with serving({b"UID FETCH": cut}) as server, pool_for(server) as pool, pool.reading("INBOX") as box:
        with pytest.raises(ConnectionLost):
            [piece async for piece in box.stream(1, step=None)]


async def test_rows_with_large_sections_hold_the_server_back() -> None:
    sent = 0

    async def many(talk: Talk, tag: bytes, command: bytes) -> None:
        nonlocal sent
        for uid in range(1, 101):
            await talk.say(b"* 1 FETCH (UID %d BODY[] {200000}\r\n%b)\r\n" % (uid, bytes(200_000)))
            sent += 1
        await talk.say(OK, tag)

    async with serving({b"UID FETCH": many}) as server, pool_for(server) as pool, pool.reading("INBOX") as box:
        rows = box.fetch(range(1, 101), Items(sections=("",)))
        await anext(rows)
        await asyncio.sleep(0.3)
        assert sent < 80  # the sockets' own buffers hold a few megabytes
        assert len([row async for row in rows]) == 99
