"""`world` and `changing`: the same tests over every backend."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mcp_proton.domain.mail import Identity
from tests.contract import outside, worlds
from tests.servers import postfix
from tests.servers.jmap.methods import Limits

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from contextlib import AbstractAsyncContextManager

    from tests.contract.outside import Outside
    from tests.contract.worlds import World

_SERVERS = [pytest.param(name, marks=pytest.mark.server) for name in ("dovecot", "cyrus")]
_SERVERS.append(pytest.param("pymap", marks=[pytest.mark.server, pytest.mark.pymap]))
_JMAP = [pytest.param("cyrus_jmap", marks=pytest.mark.server), "scripted_jmap", "scripted_jmap_of_small_limits"]


def _on_engine(name: str) -> object:
    # The first run builds the program, which takes minutes.
    return pytest.param(name, marks=[pytest.mark.server, pytest.mark.engine, pytest.mark.timeout(900)])


def _opened(name: str, request: pytest.FixtureRequest) -> AbstractAsyncContextManager[World]:
    match name:
        case "memory":
            return worlds.memory()
        case "simulator":
            return worlds.bridge(model="real")
        case "simulator_of_the_fake":
            return worlds.bridge(model="fake")
        case "scripted_jmap":
            return worlds.scripted_jmap()
        case "scripted_jmap_of_small_limits":
            return worlds.scripted_jmap(worlds.SMALL)
        case "cyrus_jmap":
            return worlds.jmap(request.getfixturevalue("cyrus"), [WRITER])
        case "engine":
            return worlds.engine(request.getfixturevalue("gluon_server"), model="real")
        case "engine_of_the_fake":
            return worlds.engine(request.getfixturevalue("gluon_server"), model="fake")
        case _:
            return worlds.server(request.getfixturevalue(name), configured=[WRITER])


@pytest.fixture(params=["memory", "simulator", _on_engine("engine"), *_SERVERS, *_JMAP])
async def world(request: pytest.FixtureRequest) -> AsyncIterator[World]:
    """An account that holds nothing yet."""
    async with _opened(request.param, request) as made:
        yield made


WRITER = Identity("writer@example.org", "Writer")


@pytest.fixture(
    params=[
        "memory",
        "simulator",
        "simulator_of_the_fake",
        _on_engine("engine"),
        _on_engine("engine_of_the_fake"),
        *_SERVERS,
        *_JMAP,
    ]
)
async def changing(request: pytest.FixtureRequest) -> AsyncIterator[World]:
    """An account to be changed: Bridge before either model of Proton, that of its API and that of its test server."""
    async with _opened(request.param, request) as made:
        yield made


@pytest.fixture(
    params=[
        "memory",
        "simulator",
        pytest.param("dovecot", marks=pytest.mark.server),
        pytest.param("cyrus", marks=pytest.mark.server),
        "scripted_jmap",
        "scripted_jmap_that_takes_octets_along",
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
        case "scripted_jmap":
            opened = outside.scripted_jmap()
        case "scripted_jmap_that_takes_octets_along":
            opened = outside.scripted_jmap(Limits(blob=1 << 20))
        case "dovecot" if postfix.can_run():
            other = request.getfixturevalue("dovecot_server").account()
            opened = outside.through_postfix(
                request.getfixturevalue("dovecot"), other, request.getfixturevalue("postfix")
            )
        case name:
            opened = outside.into_a_sink(request.getfixturevalue(name))
    async with opened as made:
        yield made


@pytest.fixture(params=["scripted_jmap", pytest.param("cyrus_jmap", marks=pytest.mark.server)])
async def jmap_world(request: pytest.FixtureRequest) -> AsyncIterator[World]:
    """A JMAP account, for what no other kind has."""
    if request.param == "scripted_jmap":
        async with worlds.scripted_jmap() as made:
            yield made
    else:
        async with worlds.jmap(request.getfixturevalue("cyrus")) as made:
            yield made
