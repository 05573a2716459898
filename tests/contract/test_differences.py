"""What the documents say of each server is what it says of itself (A-01)."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from tests.contract import differences

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.contract.worlds import World


async def test_the_table_of_servers_is_what_they_say_now(world: World, request: pytest.FixtureRequest) -> None:
    name = request.node.callspec.params["world"]
    told = differences.column(differences.PAGE.read_text(), name)
    if not told:  # the same server in other clothes
        assert name in {"engine", "scripted_jmap_of_small_limits"}
        return

    @asynccontextmanager
    async def opened() -> AsyncIterator[World]:
        yield world

    found = await differences.features(opened())
    assert told == {word: found.get(word, "") for word in told}
