"""Mailboxes that are too large to read: the server decides on body text, and the answer says what that is worth (N-3)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from mcp_proton.domain.ports import Page
from mcp_proton.domain.query import And, Contains, Field, HasFlag
from mcp_proton.imap.finding.search import Habits
from tests.contract import worlds
from tests.contract.letters import encoded, letter
from tests.contract.test_bridge_scenarios import spied
from tests.contract.worlds import Mail, Server, box

if TYPE_CHECKING:
    from tests.servers.account import Account

pytestmark = pytest.mark.server
MORE_THAN_READ = Habits().most_bodies + 20


def plain(count: int) -> list[Mail]:
    return [Mail(letter(f"number {n}", number=n)) for n in range(count)]


HIDDEN = Mail(encoded("Die Straße nach Zürich ist gesperrt".encode(), charset="utf-8", encoding="base64"))


async def test_a_server_that_reads_bodies_as_people_do_is_relied_upon(
    dovecot: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with worlds.server(dovecot) as world:
        await world.put(*plain(MORE_THAN_READ), HIDDEN)
        commands = spied(world.backend, monkeypatch)  # type: ignore[arg-type]
        found = await world.backend.search([await box(world)], Contains(Field.BODY, "ZÜRICH ist"), Page(5))
        assert [row.subject for row in found.rows] == ["Encoded"]
        assert found.coverage.complete
        assert found.coverage.by_server == ("body",)
        assert [line for line in commands if re.match(rb"UID SEARCH .*BODY", line)]


async def test_where_nothing_shows_what_a_server_reads_the_answer_is_not_called_complete(dovecot: Account) -> None:
    async with worlds.server(dovecot) as world:
        await world.put(*plain(MORE_THAN_READ))
        found = await world.backend.search([await box(world)], Contains(Field.BODY, "good day"), Page(5))
        assert len(found.rows) == 5
        assert not found.coverage.complete
        assert "server decided" in (found.coverage.why or "")


async def test_words_with_a_sharp_s_are_found_either_way(dovecot: Account) -> None:
    async with worlds.server(dovecot) as world:
        await world.put(*plain(MORE_THAN_READ), HIDDEN)
        found = await world.backend.search([await box(world)], Contains(Field.BODY, "STRASSE"), Page(5))
        assert [row.subject for row in found.rows] == ["Encoded"]


async def test_a_server_that_searches_raw_octets_is_not_relied_upon() -> None:
    """Bridge's search, met without knowing that it is Bridge."""
    messages = [worlds.given(raw.raw, number) for number, raw in enumerate([*plain(MORE_THAN_READ), HIDDEN])]
    async with worlds.bridge(messages) as world:
        backend = worlds.unknowing(world.simulator)
        try:
            inbox = next(one for one in await backend.mailboxes() if one.path == "INBOX")
            found = await backend.search([inbox], Contains(Field.BODY, "zürich ist"), Page(5))
            assert [row.subject for row in found.rows] == ["Encoded"]
            assert found.coverage.by_server == ()
            assert found.coverage.complete
        finally:
            await backend.aclose()


async def test_the_same_search_again_asks_the_server_for_new_mail_only(
    dovecot: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with worlds.server(dovecot) as world:
        assert isinstance(world, Server)
        await world.put(*plain(MORE_THAN_READ), HIDDEN)
        query = And((Contains(Field.BODY, "gesperrt"), HasFlag("flagged")))
        inbox = await box(world)
        assert (await world.backend.search([inbox], query, Page(5))).rows == []
        await world.put(Mail(HIDDEN.raw, flags=frozenset({"flagged"})))
        commands = spied(world.backend, monkeypatch)  # type: ignore[arg-type]
        assert len((await world.backend.search([inbox], query, Page(5))).rows) == 1
        (asked,) = [line for line in commands if b"BODY" in line and b"SEARCH" in line]
        assert b"UID %d " % (MORE_THAN_READ + 2) in asked
