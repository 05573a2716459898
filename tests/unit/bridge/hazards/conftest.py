"""`scene`: a Bridge before each model of Proton (its API as it is known, and its test server)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pytest

from mcp_proton.imap.pool import Habits
from mcp_proton.simulator import GivenLabel, GivenUser, Simulator
from tests.contract import worlds
from tests.unit.bridge.hazards.scene import Scene

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

LABELS = ("Folders/Work", "Folders/Other", "Labels/Blue", "Labels/Red")


@pytest.fixture(params=["real", "fake"])
def model(request: pytest.FixtureRequest) -> Literal["real", "fake"]:
    return request.param  # type: ignore[no-any-return]  # pytest's own


@pytest.fixture
def guarded() -> bool:
    """Whether the owner chose the guard for Trash."""
    return False


@pytest.fixture
async def scene(model: Literal["real", "fake"], guarded: bool, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Scene]:
    user = GivenUser("alice", ["alice@proton.local"], [GivenLabel.from_path(path) for path in LABELS])
    async with Simulator(users=[user], certificate=worlds.CERTIFICATE, model=model) as simulator:
        backend = worlds.bridge_backend(simulator, guarded=guarded, sessions=Habits())
        made = Scene(simulator, backend)
        made.spy(monkeypatch)
        try:
            yield made
        finally:
            await backend.aclose()
        made.check_manners()
