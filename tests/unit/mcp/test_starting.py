"""Garbage is left alone while a server starts, and collected as ever once it serves, however the start came out."""

from __future__ import annotations

import asyncio
import gc
from typing import TYPE_CHECKING

import pytest

from mcp_proton.domain.errors import Unavailable
from mcp_proton.mcp import command, starting
from mcp_proton.mcp.http import running

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def begun() -> Iterator[None]:
    starting.begins()
    assert not gc.isenabled()
    yield
    gc.enable()
    gc.unfreeze()


def test_what_was_made_until_then_is_looked_at_no_more() -> None:
    starting.is_over()
    assert gc.isenabled()
    assert gc.get_freeze_count() > 1_000


async def test_it_is_over_when_the_service_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    async def serve(*_: object) -> None:
        assert gc.isenabled()

    monkeypatch.setattr(running.Server, "serve", serve)
    await running.serve([(None, None)], lambda: None)
    assert gc.isenabled()


async def test_over_a_pipe_it_is_over_when_the_owners_world_is_open_or_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    opening = asyncio.get_running_loop().create_future()

    async def never(*_: object) -> None:
        raise Unavailable("the store is busy")

    async def serve(_: object) -> None:
        with pytest.raises(Unavailable):
            await opening.result()()

    monkeypatch.setattr(command, "build", lambda open_it, *_, **__: opening.set_result(open_it))
    monkeypatch.setattr(command, "serve_stdio", serve)
    monkeypatch.setattr(command.bootstrap, "demonstration", never)
    monkeypatch.setattr(command.AsyncExitStack, "enter_async_context", lambda _, opened: opened)
    await command._serve(None, None, demo=True)
    assert gc.isenabled()
