"""Searching accounts too large to be looked through: by the server's index, looked at again here, told as what it is (J-08)."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_proton.domain.ports import Order, Page
from mcp_proton.domain.query import And, Contains, Field, HasFlag, HeaderContains, MessageId, Not, Or, Query
from mcp_proton.jmap.finding import words
from mcp_proton.mime.excerpt import AROUND, excerpt
from tests.contract.letters import letter
from tests.servers.jmap.methods import Limits
from tests.unit.jmap.accounts import account, arrive, box

NEEDLE = letter("The quarterly harvest", body="We agreed on the harvest plan at noon.", number=9_999)


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "SCANNED", 60)


def of_queries(called: list[list[str]]) -> int:
    return sum("Email/query" in names for names in called)


async def test_a_large_mailbox_is_searched_by_the_server_s_index_in_few_requests() -> None:
    async with account() as (server, backend):
        arrive(server, 400)
        server.store.add(NEEDLE, server.store.by_role("inbox").id)
        inbox = await box(backend)
        server.called.clear()
        found = await backend.search([inbox], Contains(Field.BODY, "harvest plan"), Page(25))
        assert [row.subject for row in found.rows] == ["The quarterly harvest"]
        assert of_queries(server.called) == 2
        assert not found.coverage.complete
        assert found.coverage.why is not None
        assert "whole words" in found.coverage.why
        assert found.coverage.by_server == ("body",)
        assert found.coverage.mailboxes[0].looked_at < found.coverage.mailboxes[0].of  # type: ignore[operator]
        assert list(found.excerpts.values()) == ["We agreed on the harvest plan at noon."]


async def test_a_small_one_is_looked_through_and_nothing_is_missed() -> None:
    """Also what no index of words finds: a piece of one."""
    async with account() as (server, backend):
        arrive(server, 40)
        server.store.add(NEEDLE, server.store.by_role("inbox").id)
        found = await backend.search([await box(backend)], Contains(Field.TEXT, "arvest pla"), Page(25))
        assert [row.subject for row in found.rows] == ["The quarterly harvest"]
        assert found.coverage.complete


async def test_what_the_index_finds_and_we_do_not_see_is_left_out() -> None:
    """An index finds words in any order; a person asked for these words in this one."""
    async with account() as (server, backend):
        arrive(server, 100)
        server.store.add(NEEDLE, server.store.by_role("inbox").id)
        found = await backend.search([await box(backend)], Contains(Field.SUBJECT, "harvest quarterly"), Page(25))
        assert found.rows == []


@pytest.mark.parametrize("text", ["arvest pla", "quarterly plan"])
async def test_where_nothing_comes_of_an_index_all_messages_are_looked_through(text: str) -> None:
    """It finds no piece of a word, and of words that stand apart it finds what was not meant: neither proves anything."""
    async with account() as (server, backend):
        arrive(server, 300)
        server.store.add(NEEDLE, server.store.by_role("inbox").id)
        found = await backend.search([await box(backend)], Contains(Field.BODY, text), Page(25))
        assert [row.subject for row in found.rows] == (["The quarterly harvest"] if text in "harvest plan" else [])
        assert found.continuation is None
        assert found.coverage.complete
        assert found.coverage.by_server == ()
        assert found.coverage.mailboxes[0].looked_at == 301


async def test_looking_through_all_goes_on_with_the_cursor_and_says_why() -> None:
    async with account() as (server, backend):
        arrive(server, 300)
        server.store.add(NEEDLE, server.store.by_role("inbox").id)
        inbox = await box(backend)
        rows, pages = [], 0
        after: str | None = None
        while not pages or after is not None:
            page = Page(25, Order.OLDEST, continuation=after, budget=0.0)
            found = await backend.search([inbox], Contains(Field.BODY, "arvest pla"), page)
            rows += [row.subject for row in found.rows]
            pages, after = pages + 1, found.continuation
            if pages == 1:
                assert not found.coverage.complete
                assert "index found nothing" in (found.coverage.why or "")
        assert rows == ["The quarterly harvest"]
        assert pages > 1


@pytest.mark.parametrize("kind", ["unsupportedFilter", "serverFail", "unknownMethod"])
async def test_a_server_without_an_index_is_asked_once(kind: str) -> None:
    """Cyrus without Xapian says serverFail."""
    async with account(Limits(index=kind)) as (server, backend):
        arrive(server, 200)
        server.store.add(NEEDLE, server.store.by_role("inbox").id)
        inbox = await box(backend)
        asked = []
        for _ in range(2):
            server.called.clear()
            found = await backend.search([inbox], Contains(Field.SUBJECT, "harvest"), Page(25))
            assert [row.subject for row in found.rows] == ["The quarterly harvest"]
            assert found.coverage.complete
            asked.append(of_queries(server.called))
        assert asked[1] == asked[0] - 1


async def test_an_index_that_finds_everything_is_no_index() -> None:
    """Cyrus answers a header condition with the whole mailbox."""
    async with account() as (server, backend):
        arrive(server, 150)
        wanted = HeaderContains("X-Nothing", "")
        server.methods.ignores.add("header")
        found = await backend.search([await box(backend)], wanted, Page(25))
        assert found.rows == []
        assert found.coverage.complete


async def test_pages_of_an_index_fit_together() -> None:
    async with account() as (server, backend):
        arrive(server, 300)
        inbox = await box(backend)
        for number in range(30):
            raw = letter(f"harvest {number}", number=5_000 + number)
            server.store.add(raw, inbox.id)
        shown: list[str] = []
        after = None
        while True:
            found = await backend.search([inbox], Contains(Field.SUBJECT, "harvest"), Page(7, continuation=after))
            shown += [row.subject for row in found.rows]
            after = found.continuation
            if after is None:
                break
            assert not found.coverage.complete
        assert sorted(shown) == sorted(f"harvest {number}" for number in range(30))


LEAVES: list[tuple[Query, object]] = [
    (Contains(Field.FROM, "anna"), {"from": "anna"}),
    (Contains(Field.TO, "anna"), {"to": "anna"}),
    (Contains(Field.SUBJECT, 'q3 "plan*'), {"subject": "q3  plan"}),
    (HeaderContains("List-Id", "team"), {"header": ["List-Id", "team"]}),
    (HeaderContains("List-Id", ""), {"header": ["List-Id"]}),
    (And((Contains(Field.BODY, "a"), HasFlag("seen"))), {"body": "a"}),
    (Or((Contains(Field.BODY, "a"), HasFlag("seen"))), None),
    (Not(Contains(Field.BODY, "a")), None),
    (MessageId("<a@b>"), None),
    (Contains(Field.TEXT, '"*"'), None),
]


@pytest.mark.parametrize(("query", "condition"), LEAVES)
def test_only_what_cannot_lose_a_match_by_logic_is_left_to_an_index(query: Query, condition: object) -> None:
    """Never the complement of a guess, never one half of an Or, never a Message-ID."""
    assert words.condition(query) == condition


def test_an_excerpt_is_one_short_line_around_what_was_found() -> None:
    told = excerpt("x" * 500 + "\n\n Harvest\tPLAN \n" + "y" * 500, ["harvest plan"])
    assert "Harvest PLAN" in told
    assert told.startswith("… x")
    assert told.endswith("y …")
    assert len(told) <= 2 * AROUND + 20
    assert excerpt("nothing here", ["harvest"]) == ""
    assert excerpt("anything", [" "]) == ""


@given(st.text(), st.lists(st.text(), max_size=3))
def test_an_excerpt_never_fails_and_is_one_line(text: str, wanted: list[str]) -> None:
    told = excerpt(text, wanted)
    assert told == " ".join(told.split())
    assert len(told) <= len(unicodedata.normalize("NFKC", text)) + 4
