"""Holding a response: it ends properly once it is not good any more, or the service ends, and else by itself (P-97)."""

from __future__ import annotations

import asyncio

import pytest

from mcp_proton.mcp.http import holding
from mcp_proton.mcp.http.holding import held


@pytest.fixture(autouse=True)
def looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holding, "LOOK_SECONDS", 0.01)


class Client:
    """Whoever asked: what it was sent."""

    def __init__(self) -> None:
        self.messages = []

    async def __call__(self, message):
        self.messages.append(message)

    @property
    def ended(self) -> bool:
        last = self.messages[-1]
        return last["type"] == "http.response.body" and not last.get("more_body", False)


START = {"type": "http.response.start", "status": 200, "headers": []}
PIECE = {"type": "http.response.body", "body": b"piece", "more_body": True}
LAST = {"type": "http.response.body", "body": b"last", "more_body": False}


async def nothing():
    raise AssertionError("nobody reads here")


async def good():
    return True


async def endless(scope, receive, send):
    await send(START)
    await send(PIECE)
    await asyncio.Event().wait()


async def hold(app, *, still_good=good, over=None) -> Client:
    client = Client()
    async with asyncio.timeout(30):
        await held(app, {}, nothing, client, still_good=still_good, over=over)
    return client


async def test_a_response_that_ends_by_itself_is_passed_on_as_it_is():
    async def app(scope, receive, send):
        await send(START)
        await send(LAST)

    for over in (None, asyncio.Event()):
        assert (await hold(app, over=over)).messages == [START, LAST]
    assert len(asyncio.all_tasks()) == 1


async def test_a_response_ends_once_it_is_not_good_any_more():
    looks = []

    async def three_times():
        looks.append(1)
        return len(looks) < 3

    client = await hold(endless, still_good=three_times)
    assert client.messages[:2] == [START, PIECE]
    assert client.ended
    assert len(looks) == 3


async def test_a_response_of_which_nobody_can_say_whether_it_is_good_ends(caplog):
    async def broken():
        raise LookupError("no word of this is told")

    assert (await hold(endless, still_good=broken)).ended


async def test_a_stream_ends_when_the_service_does_and_a_call_goes_on():
    over = asyncio.Event()
    over.set()
    assert (await hold(endless, over=over)).ended


async def test_a_response_that_had_not_begun_is_not_begun_for_its_end():
    async def no():
        return False

    async def silent(scope, receive, send):
        await asyncio.Event().wait()

    assert (await hold(silent, still_good=no)).messages == []


async def test_a_fault_and_a_timeout_of_the_application_are_its_own():
    for fault in (TimeoutError, LookupError):

        async def app(scope, receive, send, fault=fault):
            raise fault

        with pytest.raises(fault):
            await hold(app)


async def test_who_is_cancelled_from_outside_stays_cancelled():
    work = asyncio.create_task(hold(endless))
    await asyncio.sleep(0)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
