"""How many connections a JMAP account has, as the metrics tell (J-132)."""

from __future__ import annotations

from tests.servers.jmap import JmapServer

from .accounts import account, arrive, connected, handles


async def test_connections_are_counted_from_the_first_request_to_the_close() -> None:
    async with account() as (_, backend):
        assert backend.connections == (0, 0)
        await backend.mailboxes()
        assert backend.connections == (1, 0)
        await backend.aclose()
        assert backend.connections == (0, 0)


async def test_a_connection_is_used_while_a_message_comes_over_it() -> None:
    async with account() as (server, backend):
        arrive(server, 1)
        (handle,) = await handles(backend)
        octets = backend.fetch(handle)
        await anext(octets)
        assert backend.connections[1] == 1
        assert [piece async for piece in octets] == []
        assert backend.connections[1] == 0


async def test_a_connection_that_the_server_ended_is_not_counted() -> None:
    async with JmapServer() as server:
        backend = connected(server.url)
        await backend.mailboxes()
        assert backend.connections == (1, 0)
    assert backend.connections == (0, 0)
    await backend.aclose()
