"""Opening: the handshake does not wait for the owner's world, and a world that cannot be opened says why."""

from __future__ import annotations

import asyncio

import pytest
from fastmcp import Client
from mcp.shared.exceptions import MCPError

from mcp_proton.domain.errors import Unavailable
from mcp_proton.mcp.identity import agent
from mcp_proton.mcp.server import build

from .world import CLIENT, ERAS, Lab


class Opener:
    """Opens a lab's service when told to, and counts how often it was asked."""

    def __init__(self, trouble: Exception | None = None) -> None:
        self.lab = Lab()
        self.asked = 0
        self.gate = asyncio.Event()
        self.cancelled = False
        self.trouble = trouble

    async def __call__(self):
        self.asked += 1
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        if self.trouble is not None:
            raise self.trouble
        return self.lab.service

    def server(self):
        return build(self, agent(CLIENT))


@pytest.mark.parametrize("era", ERAS)
async def test_the_handshake_is_answered_before_anything_is_opened(era):
    opener = Opener()
    async with Client(opener.server(), mode=era) as client:
        listing = asyncio.create_task(client.list_tools())
        await asyncio.sleep(0.05)
        assert not listing.done()
        opener.gate.set()
        assert await listing
        assert (await client.call_tool("messages_list", {})).structured_content["status"] == "ok"
    assert opener.asked == 1


async def test_nothing_is_opened_for_a_client_that_never_asks():
    opener = Opener()
    async with Client(opener.server(), mode="2026-07-28"):
        await asyncio.sleep(0.05)
    assert opener.asked == 0


async def test_opening_begins_in_the_background_once_the_handshake_is_over():
    opener = Opener()
    async with Client(opener.server(), mode="legacy"):
        await asyncio.sleep(0.05)
        assert opener.asked == 1


async def test_an_opening_under_way_is_stopped_when_the_server_ends():
    opener = Opener()
    async with Client(opener.server(), mode="legacy"):
        await asyncio.sleep(0.05)
    assert opener.cancelled


async def test_a_caller_that_gives_up_does_not_stop_the_opening():
    opener = Opener()
    async with Client(opener.server(), mode="legacy") as client:
        first = asyncio.create_task(client.list_tools())
        await asyncio.sleep(0.05)
        first.cancel()
        await asyncio.sleep(0.05)
        assert not opener.cancelled
        opener.gate.set()
        assert await client.list_tools()
    assert opener.asked == 1


async def test_trouble_with_opening_is_told_and_the_next_call_tries_again():
    opener = Opener(Unavailable("the store is locked", next="close the other program"))
    opener.gate.set()
    server = opener.server()
    async with Client(server, mode="legacy") as client:
        with pytest.raises(MCPError, match="the store is locked; close the other program"):
            await client.list_tools()
        told = await server.call_tool("messages_list", {})  # past this client, which lists before it believes an answer
        assert not told.is_error
        assert told.structured_content["status"] == "unavailable"
        assert told.structured_content["next"] == "close the other program"
        with pytest.raises(MCPError, match="the store is locked"):
            await client.read_resource("mail://personal/mailboxes")
        opener.trouble = None
        assert await client.list_tools()


async def test_a_fault_in_opening_says_nothing_of_its_words(caplog):
    opener = Opener(ValueError("SECRETVALUE"))
    opener.gate.set()
    server = opener.server()
    async with Client(server, mode="legacy") as client:
        with pytest.raises(MCPError, match="fault of ours") as raised:
            await client.list_tools()
        told = await server.call_tool("messages_list", {})  # past this client, which lists before it believes an answer
    assert told.is_error
    assert "SECRETVALUE" not in caplog.text + str(raised.value) + str(told.content)
