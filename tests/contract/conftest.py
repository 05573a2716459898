"""`world`: the same tests over every backend."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcp_proton.domain.mail import Identity
from tests.contract import outside, worlds
from tests.servers import postfix

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.contract.outside import Outside
    from tests.contract.worlds import World


@pytest.fixture(
    params=[
        "memory",
        "simulator",
        pytest.param("dovecot", marks=pytest.mark.server),
        pytest.param("cyrus", marks=pytest.mark.server),
    ]
)
async def world(request: pytest.FixtureRequest) -> AsyncIterator[World]:
    """An account that holds nothing yet."""
    match request.param:
        case "memory":
            opened = worlds.memory()
        case "simulator":
            opened = worlds.bridge()
        case name:
            opened = worlds.server(request.getfixturevalue(name))
    async with opened as made:
        yield made


WRITER = Identity("writer@example.org", "Writer")


@pytest.fixture(
    params=[
        "memory",
        "simulator",
        "simulator_of_the_fake",
        pytest.param("dovecot", marks=pytest.mark.server),
        pytest.param("cyrus", marks=pytest.mark.server),
    ]
)
async def changing(request: pytest.FixtureRequest) -> AsyncIterator[World]:
    """An account to be changed: Bridge before either model of Proton, that of its API and that of its test server."""
    match request.param:
        case "memory":
            opened = worlds.memory()
        case "simulator":
            opened = worlds.bridge(model="real")
        case "simulator_of_the_fake":
            opened = worlds.bridge(model="fake")
        case name:
            opened = worlds.server(request.getfixturevalue(name), configured=[WRITER])
    async with opened as made:
        yield made


@pytest.fixture(
    params=[
        "memory",
        "simulator",
        pytest.param("dovecot", marks=pytest.mark.server),
        pytest.param("cyrus", marks=pytest.mark.server),
    ]
)
async def sending(request: pytest.FixtureRequest) -> AsyncIterator[Outside]:
    """An account that sends: Dovecot's through Postfix, which delivers into another account of it (where
    we may start one); Cyrus's into a sink."""
    match request.param:
        case "memory":
            opened = outside.memory()
        case "simulator":
            opened = outside.bridge()
        case "dovecot" if postfix.can_run():
            other = request.getfixturevalue("dovecot_server").account()
            opened = outside.through_postfix(
                request.getfixturevalue("dovecot"), other, request.getfixturevalue("postfix")
            )
        case name:
            opened = outside.into_a_sink(request.getfixturevalue(name))
    async with opened as made:
        yield made
