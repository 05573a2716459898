"""A service over an account on the scripted JMAP server, and how many HTTP requests an operation takes there."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from mcp_proton.jmap.backend import JmapBackend
from mcp_proton.jmap.protocol.endpoint import Credentials, Endpoint
from tests.servers.jmap import JmapServer
from tests.servers.jmap.relay import HttpRelay
from tests.servers.jmap.server import PASSWORD, USER

from .conftest import House

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.servers.jmap.methods import Limits


@asynccontextmanager
async def jmap_house(
    limits: Limits | None = None, *, listed_for: float = 60.0
) -> AsyncIterator[tuple[JmapServer, House]]:
    """A server, and a service whose account `personal` is on it. Everything is allowed.

    `listed_for` is how many seconds a list of mailboxes is good for.
    """
    async with JmapServer(limits=limits) as server, _house(server, server.url, listed_for) as house:
        yield server, house


@asynccontextmanager
async def relayed_house(limits: Limits | None = None) -> AsyncIterator[tuple[JmapServer, HttpRelay, House]]:
    """The same with a relay on the way, where something can happen at any request."""
    async with JmapServer(limits=limits) as server, HttpRelay("127.0.0.1", int(server.url.rpartition(":")[2])) as relay:
        assert isinstance(relay, HttpRelay)
        async with _house(server, f"http://127.0.0.1:{relay.port}", 60.0) as house:
            yield server, relay, house


@asynccontextmanager
async def _house(server: JmapServer, url: str, listed_for: float) -> AsyncIterator[House]:
    async def give() -> str:
        return PASSWORD

    backend = JmapBackend("personal", Endpoint(url), Credentials(USER, give), listed_for=listed_for)
    house = House(personal=backend)  # type: ignore[arg-type]
    house.rules(preset="autonomous")
    server.methods.now = house.clock.now
    try:
        yield house
    finally:
        await house.service.aclose()
        await backend.aclose()
