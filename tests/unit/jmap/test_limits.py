"""A server's own limits are kept to, however much is asked at once (RFC 8620 §2): in as few requests as they allow."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_proton.domain.outcome import Ending
from mcp_proton.domain.ports import FlagChange, Page
from mcp_proton.domain.query import All
from tests.servers.jmap.methods import Limits
from tests.unit.jmap.accounts import account, arrive, box, handles

MANY = 620


async def test_more_messages_than_a_server_takes_at_once_are_looked_at_and_changed_in_portions() -> None:
    """500 a call, as most servers have it; a session that promises more is taken at its word up to 500."""
    for promised in (500, 4_096):
        async with account(Limits(get=promised, set=promised)) as (server, backend):
            arrive(server, MANY)
            several = await handles(backend)
            assert len(several) == MANY
            sizes: list[int] = []
            call = server.methods.call

            def spied(name: str, asked: dict[str, Any], call: Any = call, sizes: list[int] = sizes) -> Any:
                sizes.append(max(len(asked.get("ids") or ()), len(asked.get("update") or ())))
                return call(name, asked)

            server.methods.call = spied  # type: ignore[method-assign]
            assert len(await backend.envelopes(several)) == MANY
            fates = await backend.set_flags(several, FlagChange(add=frozenset({"seen"})))
            assert {fate.ending for fate in fates} == {Ending.DONE}
            assert max(sizes) == 500


async def test_a_page_larger_than_a_server_gives_at_once_is_put_together() -> None:
    async with account(Limits(get=500)) as (server, backend):
        arrive(server, MANY)
        found = await backend.search([await box(backend)], All(), Page(610))
        assert len({row.handle for row in found.rows}) == 610
        assert found.continuation is not None


@pytest.mark.parametrize("limits", [Limits(get=1, set=1, calls=3), Limits(size=6_000), Limits(query=7, get=7)])
async def test_the_smallest_limits_only_cost_requests(limits: Limits) -> None:
    async with account(limits) as (server, backend):
        arrive(server, 12)
        several = await handles(backend)
        assert len(several) == 12
        fates = await backend.set_flags(several, FlagChange(add=frozenset({"flagged"})))
        assert {fate.ending for fate in fates} == {Ending.DONE}
        assert all("$flagged" in one.keywords for one in server.store.emails.values())
