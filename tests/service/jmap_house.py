"""A service over an account on the scripted JMAP server, and how many HTTP requests an operation takes there."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from mcp_proton.jmap.backend import JmapBackend
from mcp_proton.jmap.endpoint import Credentials, Endpoint
from tests.servers.jmap import JmapServer
from tests.servers.jmap.server import PASSWORD, USER

from .conftest import House

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.servers.jmap.methods import Limits


@asynccontextmanager
async def jmap_house(limits: Limits | None = None) -> AsyncIterator[tuple[JmapServer, House]]:
    """A server, and a service whose account `personal` is on it. Everything is allowed."""

    async def give() -> str:
        return PASSWORD

    async with JmapServer(limits=limits) as server:
        backend = JmapBackend("personal", Endpoint(server.url), Credentials(USER, give))
        house = House(personal=backend)  # type: ignore[arg-type]
        house.rules(preset="autonomous")
        try:
            yield server, house
        finally:
            await house.service.aclose()
            await backend.aclose()
