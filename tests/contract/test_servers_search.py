"""Mailboxes that are too large to read: the server decides on body text, and the answer says what that is worth (N-3)."""

from __future__ import annotations

import re
from array import array
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from mcp_proton.domain.ports import Page
from mcp_proton.domain.query import And, Contains, Field, HasFlag, Received
from mcp_proton.imap.finding.search import Habits
from mcp_proton.imap.protocol.box import Box
from mcp_proton.imap.protocol.writer import Atom
from tests.contract import worlds
from tests.contract.letters import encoded, letter
from tests.contract.test_bridge_scenarios import spied
from tests.contract.worlds import DAY, Mail, Server, box

if TYPE_CHECKING:
    from mcp_proton.imap.protocol.writer import Argument
    from tests.servers.account import Account

pytestmark = pytest.mark.server
MORE_THAN_READ = Habits().most_bodies + 20


def plain(count: int) -> list[Mail]:
    return [Mail(letter(f"number {n}", number=n)) for n in range(count)]


WORDS = "Die Straße nach Zürich ist gesperrt"
HIDDEN = Mail(encoded(WORDS.encode(), charset="utf-8", encoding="base64"))


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


def words_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the server one with an index of words (Gmail, Dovecot with full-text search): pieces of words are not found."""
    search = Box.search
    known = {word.casefold() for word in WORDS.split()}

    async def by_words(self: Box, *key: Argument) -> array[int]:
        pieces = any(isinstance(one, str) and not isinstance(one, Atom) and one.casefold() not in known for one in key)
        return array("I") if Atom("BODY") in key and pieces else await search(self, *key)

    monkeypatch.setattr(Box, "search", by_words)


async def test_a_piece_of_a_word_that_an_index_of_words_does_not_find_is_looked_for_here(
    dovecot: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    """N-3: an index that finds nothing is no proof that nothing is there."""
    async with worlds.server(dovecot) as world:
        await world.put(*plain(MORE_THAN_READ), HIDDEN)
        words_only(monkeypatch)
        inbox = await box(world)
        piece = await world.backend.search([inbox], Contains(Field.BODY, "esperr"), Page(5))
        assert [row.subject for row in piece.rows] == ["Encoded"]
        assert piece.coverage.complete
        assert piece.coverage.by_server == ()
        word = await world.backend.search([inbox], Contains(Field.BODY, "gesperrt"), Page(5))
        assert [row.subject for row in word.rows] == ["Encoded"]
        assert not word.coverage.complete


async def test_looking_for_what_an_index_does_not_find_goes_on_with_the_cursor(
    dovecot: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the time does not do for all messages, the answer says so, and no later page asks the index again."""
    async with worlds.server(dovecot) as world:
        await world.put(HIDDEN, *plain(MORE_THAN_READ))
        words_only(monkeypatch)
        inbox = await box(world)
        found, pages = [], 0
        after: str | None = None
        while not pages or after is not None:
            page = await world.backend.search(
                [inbox], Contains(Field.BODY, "esperr"), Page(5, continuation=after, budget=0.0)
            )
            found += [row.subject for row in page.rows]
            pages, after = pages + 1, page.continuation
            if pages == 1:
                assert not page.coverage.complete
                assert "cursor" in (page.coverage.why or "")
                assert page.coverage.by_server == ()
        assert found == ["Encoded"]
        assert pages > 1


async def test_narrowed_by_date_every_message_is_looked_at(dovecot: Account) -> None:
    """The way that an answer names which is not complete."""
    async with worlds.server(dovecot) as world:
        await world.put(*plain(MORE_THAN_READ), *(Mail(one.raw, received=DAY + timedelta(days=9)) for one in plain(3)))
        query = Contains(Field.BODY, "good day")
        inbox = await box(world)
        whole = await world.backend.search([inbox], query, Page(5))
        assert "narrow it by date" in (whole.coverage.why or "")
        narrow = await world.backend.search([inbox], And((query, Received(since=DAY + timedelta(days=5)))), Page(5))
        assert len(narrow.rows) == 3
        assert narrow.coverage.complete
        assert "body" not in narrow.coverage.by_server


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
