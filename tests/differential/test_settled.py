"""Each disagreement that was found between Proton's engine and the simulator, as a session of a few steps."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from mcp_proton.simulator import Certificate, make_certificate
from tests.differential.comparison import compare, said
from tests.differential.left_out import without_recent
from tests.differential.naming import Naming
from tests.differential.script import Session
from tests.differential.sides import simulated

if TYPE_CHECKING:
    from tests.servers.gluon_server import GluonServer

SETTLED: dict[str, Any] = yaml.safe_load((Path(__file__).parent / "settled.yaml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def certificate() -> Certificate:
    return make_certificate()


def _session(name: str) -> Session:
    return Session(name, "real", tuple(SETTLED[name]["given"]), tuple(SETTLED[name]["steps"]))


# The first run builds the program, which takes minutes.
@pytest.mark.server
@pytest.mark.process
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", SETTLED)
async def test_the_engine_does_it_and_the_simulator_with_it(
    name: str, gluon_server: GluonServer, certificate: Certificate
) -> None:
    """N-3: settled for the engine, which Bridge is built on."""
    played = await compare(_session(name), gluon_server, certificate)
    assert played.disagreement is None, str(played.disagreement)
    assert played.answers[-1] == SETTLED[name]["answers"]


@pytest.mark.parametrize("name", SETTLED)
async def test_the_simulator_does_it_where_there_is_no_engine(name: str, certificate: Certificate) -> None:
    session = _session(name)
    naming = Naming()
    async with simulated(session, certificate) as side:
        answers = [without_recent(naming.named(await said(side, step))) for step in session.steps]
    assert answers[-1] == SETTLED[name]["answers"]
