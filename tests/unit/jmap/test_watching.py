"""What changes in an account: told as it happens, or asked for now and then; nothing is missed between the two."""

from __future__ import annotations

import asyncio
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_proton.domain.errors import AuthFailed
from mcp_proton.domain.ports import Standing
from mcp_proton.jmap.errors import LimitExceeded
from mcp_proton.jmap.protocol.eventsource import LARGEST, Events
from mcp_proton.jmap.watching import Changed, Habits, Kind, Watch
from tests.unit.jmap.accounts import account, arrive

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from mcp_proton.jmap.backend import JmapBackend
    from tests.servers.jmap import JmapServer

QUICK = Habits(poll=0.01, first=0.01, longest=0.02)
BOTH = Changed(frozenset(Kind))
PATIENCE = 30.0


@asynccontextmanager
async def watched(*, pushes: bool = True) -> AsyncIterator[tuple[JmapServer, JmapBackend, Watch]]:
    """A server, a backend, and a watch that has begun."""
    async with account() as (server, backend):
        server.pushes = pushes
        async with aclosing(Watch(backend._client, QUICK)) as watch:
            yield server, backend, watch


async def until(true: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not true():
            await asyncio.sleep(0.005)


async def change(watch: Watch, happens: Callable[[], object], *, when: Callable[[], object]) -> Changed:
    """What is told of something that happens once the watch waits."""
    waiting = asyncio.ensure_future(anext(watch))
    await until(when)
    await asyncio.sleep(0.05)
    happens()
    async with asyncio.timeout(PATIENCE):
        return await waiting


async def test_the_server_tells_what_changes_as_it_happens() -> None:
    async with watched() as (server, backend, watch):

        def arrives() -> None:
            arrive(server, 1)
            server.tell("Email", "Mailbox", "Thread")

        assert await change(watch, arrives, when=lambda: server.streams) == BOTH
        assert watch.pushed
        asked = len(server.called)
        assert await change(watch, arrives, when=lambda: True) == BOTH
        assert len(server.called) == asked
        assert backend.features()["idle"] is Standing.AVAILABLE


async def test_what_is_told_twice_of_another_account_or_of_nothing_is_no_change() -> None:
    async with watched() as (server, _, watch):

        def happens() -> None:
            server.say(b": a comment\n\nevent: ping\ndata: {}\n\n\r\n\r")
            server.tell("Email")
            server.tell("Email", account="another")
            arrive(server, 1)
            server.tell("Email", account="another")
            server.tell("Email")

        listening = await change(watch, happens, when=lambda: server.streams and len(server.called) > 1)
        assert listening == Changed(frozenset({Kind.MAIL}))


async def test_an_event_that_cannot_be_read_makes_it_look() -> None:
    async with watched() as (server, _, watch):

        def happens() -> None:
            arrive(server, 1)
            server.say(b"event: state\ndata: no json\n\n")

        assert await change(watch, happens, when=lambda: server.streams) == BOTH


async def test_what_happened_while_nobody_listened_is_told_after_connecting_again() -> None:
    """Also where the server keeps no events to go on from."""
    async with watched() as (server, _, watch):
        waiting = asyncio.ensure_future(anext(watch))
        await until(lambda: server.streams)
        await asyncio.sleep(0.05)
        server.pushes = True
        arrive(server, 1)
        server.say(None)
        async with asyncio.timeout(PATIENCE):
            assert await waiting == BOTH


async def test_it_goes_on_from_the_last_event() -> None:
    """Last-Event-ID (WHATWG HTML §9.2.4)."""
    async with watched() as (server, _, watch):

        def tells() -> None:
            arrive(server, 1)
            server.tell("Email", event_id="e-7")

        await change(watch, tells, when=lambda: server.streams)
        waiting = asyncio.ensure_future(anext(watch))
        await asyncio.sleep(0.05)
        server.say(None)
        connected = [headers for _, path, headers in server.asked if path.startswith("/jmap/events")]
        assert "last-event-id" not in connected[0]
        await until(lambda: len([1 for _, path, _ in server.asked if path.startswith("/jmap/events")]) > 1)
        connected = [headers for _, path, headers in server.asked if path.startswith("/jmap/events")]
        assert connected[-1]["last-event-id"] == "e-7"
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)


async def test_where_the_server_tells_nothing_it_is_asked() -> None:
    """Cyrus names a place for events and answers 204 there: it is asked there once."""
    async with watched(pushes=False) as (server, backend, watch):
        calls = len(server.called)
        told = await change(watch, lambda: arrive(server, 1), when=lambda: len(server.called) > calls + 2)
        assert told == BOTH
        assert not watch.pushed
        assert len([1 for _, path, _ in server.asked if path.startswith("/jmap/events")]) == 1
        assert backend.features()["idle"] is Standing.UNAVAILABLE


async def test_a_server_that_is_away_for_a_while_is_waited_for() -> None:
    async with watched() as (server, _, watch):
        waiting = asyncio.ensure_future(anext(watch))
        await until(lambda: server.streams)
        await asyncio.sleep(0.05)
        server.answers = [(503, {}, b""), (500, {}, b""), (200, {}, b"<html>")]
        server.pushes = False
        arrive(server, 1)
        server.say(None)
        async with asyncio.timeout(PATIENCE):
            assert await waiting == BOTH
        assert not server.answers


async def test_a_login_that_is_refused_ends_it() -> None:
    async with watched() as (server, _, watch):
        waiting = asyncio.ensure_future(anext(watch))
        await until(lambda: server.streams)
        server.token = "another"
        server.say(None)
        with pytest.raises(AuthFailed):
            await asyncio.wait_for(waiting, PATIENCE)


async def test_a_stream_in_silence_is_taken_for_dead() -> None:
    async with account() as (server, backend):
        server.pushes = True
        async with aclosing(Watch(backend._client, Habits(silence=0.2, first=0.01, longest=0.02))) as watch:
            waiting = asyncio.ensure_future(anext(watch))
            await until(lambda: len([1 for _, path, _ in server.asked if path.startswith("/jmap/events")]) > 1)
            arrive(server, 1)
            async with asyncio.timeout(PATIENCE):
                assert await waiting == BOTH


async def test_an_event_without_end_is_given_up_and_the_states_are_asked_for() -> None:
    async with watched() as (server, _, watch):

        def floods() -> None:
            arrive(server, 1)
            server.say(b"data: " + b"x" * (LARGEST + 10))

        assert await change(watch, floods, when=lambda: server.streams) == BOTH


def read(octets: bytes, cuts: int = 10**9) -> list[tuple[str, str, str]]:
    stream = Events()
    pieces = [octets[start : start + cuts] for start in range(0, len(octets), cuts)]
    return [(one.kind, one.data, one.id) for piece in pieces for one in stream.feed(piece)]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("cuts", [1, 2, 3, 1_000])
def test_events_are_read_whatever_their_line_ends_and_wherever_they_are_cut(end: bytes, cuts: int) -> None:
    lines = [
        b"id: 1",
        b"event:state",
        b"data: a",
        b"data:b",
        b"",
        b": c",
        b"retry: 5",
        b"data",
        b"",
        b"",
        b"data: x",
        b"",
        b"data: z",
    ]
    expected = [("state", "a\nb", "1"), ("message", "", "1"), ("message", "x", "1")]
    assert read(end.join(lines) + end, cuts) == expected


@given(st.binary(max_size=300), st.integers(1, 7))
def test_whatever_comes_is_read_the_same_in_pieces(octets: bytes, cuts: int) -> None:
    whole, pieces = read(octets + b"\n"), read(octets + b"\n", cuts)
    assert pieces == whole


def test_an_event_out_of_proportion_is_refused() -> None:
    with pytest.raises(LimitExceeded):
        read(b"data: " + b"x" * (LARGEST + 10))
    with pytest.raises(LimitExceeded):
        read((b"data: " + b"x" * 1_000 + b"\n") * 300)
