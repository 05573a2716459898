"""Whom the owner wrote to, and who wrote to the owner, asked of the server's index in one request (N-7)."""

from __future__ import annotations

import pytest

from mcp_proton.domain.errors import Unsupported
from tests.contract.letters import letter
from tests.servers.jmap import JmapServer
from tests.servers.jmap.methods import Limits
from tests.servers.jmap.server import USER
from tests.unit.jmap.accounts import account, warm


def exchange(server: JmapServer) -> None:
    """One mail to Bob, one from Carol."""
    store = server.store
    store.add(letter("to bob", sender=USER, to="bob@example.net"), store.by_role("sent").id)
    store.add(letter("from carol", sender="carol@example.net", to=USER), store.by_role("inbox").id)


async def test_what_was_exchanged_with_some_people_is_found_in_one_request() -> None:
    async with account() as (server, backend):
        exchange(server)
        await backend.mailboxes()
        before = len(server.asked)
        told = await backend.powers.correspondence(["bob@example.net", "carol@example.net", "eve@example.net"])
        assert len(server.asked) - before == 1
        assert [[one.email for one in row.to] for row in told.sent] == [["bob@example.net"]]
        assert [[one.email for one in row.sender] for row in told.received] == [["carol@example.net"]]
        assert not told.more


async def test_more_than_is_looked_at_is_told() -> None:
    async with account() as (server, backend):
        for number in range(120):
            raw = letter(f"{number}", number=number, sender=USER, to="bob@example.net")
            server.store.add(raw, server.store.by_role("sent").id)
        assert (await backend.powers.correspondence(["bob@example.net"])).more


@pytest.mark.parametrize("kind", ["unsupportedFilter", "serverFail"])
async def test_a_server_without_an_index_is_asked_once(kind: str) -> None:
    async with account(Limits(index=kind)) as (server, backend):
        exchange(server)
        for _ in range(2):
            with pytest.raises(Unsupported):
                await backend.powers.correspondence(["bob@example.net"])
        assert sum("Email/query" in names for names in server.called) == 1


async def test_mailboxes_that_changed_meanwhile_are_asked_anew() -> None:
    async with warm(listed_for=0.0) as (server, backend):
        exchange(server)
        old = server.store.by_role("sent")
        old.role, server.store.folder("Sent too", role="sent").role = None, "sent"
        told = await backend.powers.correspondence(["bob@example.net"])
        assert told.sent == []
        assert len(server.called) == 2


async def test_a_server_that_takes_few_calls_at_once_is_looked_through_instead() -> None:
    async with account(Limits(calls=3)) as (_, backend):
        with pytest.raises(Unsupported):
            await backend.powers.correspondence(["bob@example.net"])
