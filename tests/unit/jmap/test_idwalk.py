"""Walking over ids on JMAP: one Email/query a page, and what the server may not say (J-60 to J-76)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from mcp_proton.domain.walk import Interval
from mcp_proton.jmap.finding.windows import InvalidUpstream
from tests.servers.jmap.methods import Limits
from tests.unit.jmap.accounts import account, arrive, box

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_proton.domain.walk import Stretch
    from mcp_proton.jmap.backend import JmapBackend

Answer = dict[str, Any]
WITHIN = Interval("2026-03-01T12:00:00Z", "2026-03-01T12:00:00.25Z")


async def ids(backend: JmapBackend, position: int = 0, limit: int = 2) -> Stretch:
    return await backend.ids(await box(backend), WITHIN, position, limit)


async def test_a_page_is_one_query_and_nothing_else_with_the_dates_as_they_were_written() -> None:
    """J-60, J-62, J-64."""
    async with account() as (server, backend):
        arrive(server, 3)
        inbox = await box(backend)
        asked: list[Answer] = []
        call = server.methods.email_query
        server.methods.email_query = lambda told: asked.append(told) or call(told)  # type: ignore[method-assign,func-returns-value]
        before = len(server.called)
        await backend.ids(inbox, WITHIN, 0, 2)
        await backend.ids(inbox, WITHIN, 2, 2)
        assert server.called[before:] == [["Email/query"], ["Email/query"]]
        first, second = asked
        assert first["filter"] == {"inMailbox": inbox.id, "after": WITHIN.after, "before": WITHIN.before}
        assert first["sort"] == [{"property": "receivedAt", "isAscending": True}]
        assert (first["collapseThreads"], first["calculateTotal"], first["limit"]) == (False, True, 2)
        assert {key for key in first if first[key] != second[key]} == {"position"}


async def test_where_the_server_gives_less_than_asked_the_walk_goes_on_from_there() -> None:
    """J-66."""
    async with account(Limits(query=2)) as (server, backend):
        arrive(server, 5)
        part = await ids(backend, limit=4)
        assert (len(part.handles), part.total, part.more) == (2, 5, True)


def lying(change: Callable[[Answer], Answer]) -> Callable[[str, Answer], Answer]:
    return lambda name, told: change(told) if name == "Email/query" else told


async def test_without_a_total_only_an_empty_page_ends_the_walk() -> None:
    """J-67."""
    async with account() as (server, backend):
        arrive(server, 3)
        server.lie = lying(lambda told: told | {"total": None})
        assert [(len(part.handles), part.more) for part in [await ids(backend, at) for at in (0, 2, 3)]] == [
            (2, True),
            (1, True),
            (0, False),
        ]


@pytest.mark.parametrize(
    ("change", "position"),
    [
        ({"ids": [], "total": None, "position": 9}, 4),  # nothing, for something that was not asked
        ({"ids": [], "total": 30, "position": 30}, 4),  # shifted, where the total shows results
        ({"ids": [], "total": 30}, 4),
        ({"ids": [], "limit": 0, "total": None}, 4),
        ({"position": 1}, 0),  # another page: a gap or a double
    ],
)
async def test_a_page_that_would_leave_a_gap_is_refused(change: Answer, position: int) -> None:
    """J-73, J-75."""
    async with account() as (server, backend):
        arrive(server, 3)
        server.lie = lying(lambda told: told | change)
        with pytest.raises(InvalidUpstream):
            await ids(backend, position)


@pytest.mark.parametrize("clamped", [0, 3])
async def test_an_empty_page_behind_a_known_end_may_say_another_position(clamped: int) -> None:
    """J-74: a server that clamps."""
    async with account() as (server, backend):
        arrive(server, 3)
        server.lie = lying(lambda told: told | {"position": clamped})
        part = await ids(backend, 7)
        assert (list(part.handles), part.more) == ([], False)
