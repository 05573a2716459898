"""`scene`: a Bridge before each model of Proton (its API as it is known, and its test server), simulated and on its engine."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING

import pytest

from mcp_proton.imap.protocol.pool import Habits
from mcp_proton.simulator import GivenLabel
from tests.contract import worlds
from tests.servers import bridges
from tests.unit.bridge.hazards.scene import Scene

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from contextlib import AbstractAsyncContextManager

    from mcp_proton.simulator.proton.account import Model
    from tests.servers.bridges import AnyBridge

LABELS = [GivenLabel.from_path(path) for path in ("Folders/Work", "Folders/Other", "Labels/Blue", "Labels/Red")]
# The first run builds the program, which takes minutes.
ENGINE = pytest.param("engine", marks=[pytest.mark.server, pytest.mark.engine, pytest.mark.timeout(900)])


@pytest.fixture(params=["real", "fake"])
def model(request: pytest.FixtureRequest) -> Model:
    return request.param  # type: ignore[no-any-return]  # pytest's own


@pytest.fixture
def guarded() -> bool:
    """Whether the owner chose the guard for Trash."""
    return False


@pytest.fixture
def sessions() -> Habits:
    """How our backend keeps its sessions: as it does by default."""
    return Habits()


@pytest.fixture(params=["simulator", ENGINE])
async def scene(
    request: pytest.FixtureRequest, model: Model, guarded: bool, sessions: Habits, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Scene]:
    opened: AbstractAsyncContextManager[AnyBridge] = (
        bridges.simulated(model, LABELS)
        if request.param == "simulator"
        else bridges.on_engine(request.getfixturevalue("gluon_server"), model, LABELS, relayed=True)
    )
    async with opened as bridge:
        async with aclosing(worlds.bridge_backend(bridge.door, guarded=guarded, sessions=sessions)) as backend:
            made = Scene(bridge, backend)
            made.spy(monkeypatch)
            yield made
        made.check_manners()
