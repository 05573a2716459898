"""Reading: pages that go on wherever their last message went, octets by ranges, text that servers decode or not."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from mcp_proton.domain.errors import NotFound, Stale
from mcp_proton.domain.ports import Order, Page
from mcp_proton.domain.query import All, Contains, Field, HasFlag, Not, Or, Received
from mcp_proton.jmap.finding import cursors, filters
from mcp_proton.mime.decoding.encoding import decode
from tests.contract.letters import encoded, letter, with_attachment
from tests.servers.jmap.methods import Limits
from tests.unit.jmap.accounts import account, arrive, box, handles

LARGE = with_attachment(bytes(range(256)) * 4_000, body="The text of it.")


@pytest.mark.parametrize("order", [Order.NEWEST, Order.OLDEST])
@pytest.mark.parametrize("spread", [0, 1])
async def test_a_list_goes_on_where_its_last_message_was_moved_away(order: Order, spread: int) -> None:
    """Also among messages of one second: no gap, no double."""
    async with account() as (server, backend):
        inbox = await box(backend)
        for number in range(9):
            at = datetime(2026, 3, 1, 12, tzinfo=UTC) + timedelta(seconds=spread * number)
            server.store.add(letter(f"number {number}", number=number), inbox.id, received=at)
        shown, continuation = [], None
        while True:
            found = await backend.search([inbox], All(), Page(2, order, continuation))
            shown += [row.subject for row in found.rows]
            for row in found.rows:
                server.store.emails[row.handle.key].mailboxes = {server.store.by_role("archive").id}
            server.store.touched()
            continuation = found.continuation
            if continuation is None:
                break
        assert sorted(shown) == [f"number {number}" for number in range(9)]


async def test_a_list_whose_place_cannot_be_found_again_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cursors, "MOST_OF_A_SECOND", 3)
    async with account() as (server, backend):
        arrive(server, 9)
        inbox = await box(backend)
        found = await backend.search([inbox], All(), Page(5))
        for row in found.rows:
            del server.store.emails[row.handle.key]
        with pytest.raises(Stale) as refusal:
            await backend.search([inbox], All(), Page(5, continuation=found.continuation))
        assert refusal.value.code == "stale_cursor"


async def test_an_unread_list_goes_on_after_its_messages_were_read() -> None:
    async with account() as (server, backend):
        arrive(server, 6)
        inbox, unread = await box(backend), Not(HasFlag("seen"))
        first = await backend.search([inbox], unread, Page(3))
        for row in first.rows:
            server.store.emails[row.handle.key].keywords.add("$seen")
        second = await backend.search([inbox], unread, Page(3, continuation=first.continuation))
        shown = {row.subject for row in (*first.rows, *second.rows)}
        assert len(shown) == 6


@pytest.mark.parametrize("ranges", [True, False])
async def test_a_part_of_a_large_message_is_fetched_alone_and_by_ranges(ranges: bool) -> None:
    async with account(ranges=ranges) as (server, backend):
        server.store.add(LARGE, (await box(backend)).id)
        (handle,) = await handles(backend)
        parts = (await backend.structure(handle)).root.walk()
        text = next(one for one in parts if one.media_type == "text/plain")
        assert (text.encoding, text.charset) == ("binary", "utf-8")
        assert b"".join([piece async for piece in backend.fetch(handle, text.path)]).strip() == b"The text of it."
        file = next(one for one in parts if one.media_type == "application/octet-stream")
        octets = b"".join([piece async for piece in backend.fetch(handle, file.path, start=300, limit=1_000)])
        assert octets == (bytes(range(256)) * 4_000)[300:1_300]
        assert decode(octets, file.encoding).octets == octets
        blobs = [headers.get("range") for _, path, headers in server.asked if "/blob/" in path]
        assert blobs[-1] == "bytes=300-1299"
        with pytest.raises(NotFound):
            _ = [piece async for piece in backend.fetch(handle, "9")]
        raw = b"".join([piece async for piece in backend.fetch(handle)])
        assert raw == next(iter(server.store.emails.values())).raw
        header = b"".join([piece async for piece in backend.fetch(handle, "HEADER")])
        assert raw.startswith(header)
        assert header.endswith(b"\r\n\r\n")
        rest = b"".join([piece async for piece in backend.fetch(handle, "TEXT")])
        assert header + rest == raw


async def test_a_body_the_server_cannot_decode_is_read_here() -> None:
    raw = encoded("Größe".encode(), charset="utf-8", encoding="base64")
    async with account() as (server, backend):
        server.store.add(raw, (await box(backend)).id)
        server.lie = lambda name, told: (
            told
            | {
                "list": [
                    one | ({"bodyValues": _broken(one["bodyValues"])} if "bodyValues" in one else {})
                    for one in told["list"]
                ]
            }
            if name == "Email/get"
            else told
        )
        found = await backend.search([await box(backend)], Contains(Field.BODY, "GRÖSSE"), Page(5))
        assert len(found.rows) == 1
        assert found.coverage.complete


def _broken(values: dict[str, dict[str, object]]) -> dict[str, dict[str, object]]:
    return {key: one | {"value": "???", "isEncodingProblem": True} for key, one in values.items()}


async def test_a_search_over_many_messages_is_made_in_windows_and_complete() -> None:
    """N-3: decided here, since servers look for words each in their own way."""
    async with account(Limits(get=50)) as (server, backend):
        arrive(server, 400)
        server.store.add(letter("the needle", number=999), (await box(backend)).id)
        found = await backend.search([await box(backend)], Contains(Field.SUBJECT, "needle"), Page(5))
        assert [row.subject for row in found.rows] == ["the needle"]
        assert found.coverage.complete
        assert found.continuation is None
        assert found.coverage.by_us == ("subject",)
        assert all(len(names) == 3 for names in server.called[1:])


async def test_a_search_that_runs_out_of_time_goes_on_with_its_cursor() -> None:
    async with account(Limits(get=10)) as (server, backend):
        arrive(server, 60)
        server.store.add(
            letter("the needle", number=999), (await box(backend)).id, received=datetime(2026, 1, 1, tzinfo=UTC)
        )
        inbox, query = await box(backend), Contains(Field.SUBJECT, "needle")
        shown, continuation, calls = [], None, 0
        while True:
            found = await backend.search([inbox], query, Page(5, continuation=continuation, budget=0.0))
            shown += [row.subject for row in found.rows]
            continuation, calls = found.continuation, calls + 1
            if continuation is None:
                break
            assert found.coverage.why is not None
        assert shown == ["the needle"]
        assert calls > 3


def test_the_server_is_asked_for_at_least_what_a_query_means() -> None:
    at = datetime(2026, 3, 1, 12, tzinfo=UTC)
    dated = filters.superset(Received(at, at))
    assert dated == {"after": "2026-03-01T11:59:59Z", "before": "2026-03-01T12:00:01Z"}
    text, flag = Contains(Field.SUBJECT, "x"), HasFlag("seen")
    assert filters.superset(text) is None
    assert filters.superset(Or((text, flag))) is None
    assert filters.superset(Not(text)) is None
    assert filters.superset(Not(Received(at))) is None
    assert filters.superset(Not(flag)) == {"operator": "NOT", "conditions": [{"hasKeyword": "$seen"}]}
    assert filters.superset(HasFlag("deleted")) is None


async def test_the_header_block_of_what_was_just_read_is_there_already_and_exact() -> None:
    """Octets that no encoding explains are in it, which a server's own reading loses."""
    async with account() as (server, backend):
        raw = letter("raw", extra="X-Odd: caf?\n").replace(b"caf?", b"caf\xe9")
        server.store.add(raw, server.store.by_role("inbox").id)
        (handle,) = await handles(backend)
        before = len(server.asked)
        assert b"X-Odd" in (await backend.headers([handle]))[handle]
        assert len(server.asked) - before == 1
        await backend.structure(handle)
        before = len(server.asked)
        assert b"X-Odd: caf\xe9\r\n" in (await backend.headers([handle]))[handle]
        assert len(server.asked) == before
