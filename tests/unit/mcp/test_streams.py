"""What is kept of event streams: enough to take one up again, and no more."""

from __future__ import annotations

import asyncio

import pytest
from mcp_types import JSONRPCNotification

from mcp_proton.mcp.http import streams as subject
from mcp_proton.mcp.http.streams import Streams

from .test_rates import Clock


def event(text: str) -> JSONRPCNotification:
    return JSONRPCNotification(jsonrpc="2.0", method="notifications/message", params={"data": text})


async def replayed(streams: Streams, after: str) -> tuple[str | None, list[str]]:
    heard: list[str] = []

    async def hear(one):
        heard.append(one.message.params["data"])

    return await streams.replay_events_after(after, hear), heard


async def test_what_came_after_an_event_on_its_own_stream_is_sent_again():
    streams = Streams(Clock())
    first = await streams.store_event("a", None)
    await streams.store_event("b", event("other"))
    second = await streams.store_event("a", event("one"))
    await streams.store_event("a", event("two"))
    assert await replayed(streams, first) == ("a", ["one", "two"])
    assert await replayed(streams, second) == ("a", ["two"])
    assert await replayed(streams, "4711") == (None, [])


async def test_mail_stays_for_two_minutes_and_in_bounded_memory():
    clock = Clock()
    streams = Streams(clock)
    first = await streams.store_event("a", event("one"))
    clock.at = subject.SECONDS + 1
    assert await replayed(streams, first) == (None, [])
    for _ in range(20):
        await streams.store_event("a", event("x" * (1 << 20)))
    assert streams._octets <= subject.OCTETS


async def test_an_idle_clients_events_are_dropped_as_well(monkeypatch: pytest.MonkeyPatch):
    """P-98: mail is kept no longer because nothing more comes; a second event is waited for as well as the first."""
    monkeypatch.setattr(subject, "SECONDS", 0.05)
    streams = Streams()
    for text in ("one", "two"):
        await streams.store_event("a", event(text))
        assert streams._events
        while streams._events:
            await asyncio.sleep(0.01)
