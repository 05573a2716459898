"""Watching a JMAP account: mail that arrives is told, by whatever the server has for that."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from mcp_proton.jmap.backend import JmapBackend
from mcp_proton.jmap.watching import Habits, Kind
from tests.contract.letters import letter
from tests.contract.worlds import Mail

if TYPE_CHECKING:
    from tests.contract.worlds import World


async def test_mail_that_arrives_is_told(jmap_world: World) -> None:
    """Cyrus answers 204 at the place it names for events, so it is asked now and then."""
    backend = jmap_world.backend
    assert isinstance(backend, JmapBackend)
    async with backend.watching(Habits(poll=0.05, first=0.05)) as watch:
        waiting = asyncio.ensure_future(anext(watch))
        await asyncio.sleep(0.5)
        assert not waiting.done()
        await jmap_world.put(Mail(letter("news", number=77)))
        async with asyncio.timeout(30):
            assert Kind.MAIL in (await waiting).kinds
