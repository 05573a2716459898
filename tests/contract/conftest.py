"""`world`: the same tests over every backend."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.contract import worlds

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.contract.worlds import World


@pytest.fixture(
    params=[
        "memory",
        "simulator",
        pytest.param("dovecot", marks=pytest.mark.server),
        pytest.param("cyrus", marks=pytest.mark.server),
        pytest.param("cyrus_jmap", marks=pytest.mark.server),
        "scripted_jmap",
        "scripted_jmap_of_small_limits",
    ]
)
async def world(request: pytest.FixtureRequest) -> AsyncIterator[World]:
    """An account that holds nothing yet."""
    match request.param:
        case "memory":
            opened = worlds.memory()
        case "simulator":
            opened = worlds.bridge()
        case "scripted_jmap":
            opened = worlds.scripted_jmap()
        case "scripted_jmap_of_small_limits":
            opened = worlds.scripted_jmap(worlds.SMALL)
        case "cyrus_jmap":
            opened = worlds.jmap(request.getfixturevalue("cyrus"))
        case name:
            opened = worlds.server(request.getfixturevalue(name))
    async with opened as made:
        yield made


@pytest.fixture(
    params=[
        "memory",
        "simulator",
        "simulator_of_the_fake",
        pytest.param("dovecot", marks=pytest.mark.server),
        pytest.param("cyrus", marks=pytest.mark.server),
        pytest.param("cyrus_jmap", marks=pytest.mark.server),
        "scripted_jmap",
        "scripted_jmap_of_small_limits",
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
        case "scripted_jmap":
            opened = worlds.scripted_jmap()
        case "scripted_jmap_of_small_limits":
            opened = worlds.scripted_jmap(worlds.SMALL)
        case "cyrus_jmap":
            opened = worlds.jmap(request.getfixturevalue("cyrus"))
        case name:
            opened = worlds.server(request.getfixturevalue(name))
    async with opened as made:
        yield made
