"""Being told of new mail over HTTP and through the connector: by the official client, in both eras (P-64)."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from fastmcp import Client
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from mcp.client.subscriptions import SubscriptionLost, listen

from mcp_proton.services.door import watching
from tests.surfaces.cli.lab import Bridge
from tests.surfaces.http.inside import Inside
from tests.surfaces.http.process import ROOT, Service
from tests.surfaces.mcp.test_subscriptions import INBOX, Told
from tests.surfaces.mcp.world import ERAS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from fastmcp.client.transports import ClientTransport

    from tests.surfaces.cli.lab import Owner

pytestmark = pytest.mark.process
PATIENCE = 60.0


@pytest.fixture(scope="module")
def bridge() -> Iterator[Bridge]:
    """A Bridge that mail comes to."""
    with Bridge() as running:
        yield running


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, seconds in (("SETTLING", 0.05), ("APART", 0.1), ("JUDGED", 0.2)):
        monkeypatch.setattr(watching, name, seconds)


@asynccontextmanager
async def following(transport: ClientTransport, era: str, *uris: str) -> AsyncIterator[Told]:
    told = Told()
    async with Client(transport, mode=era, message_handler=told.handle) as client:
        if era == "legacy":
            for uri in uris:
                await client.session.subscribe_resource(uri)
            yield told
            return
        async with listen(client.session, resource_subscriptions=uris) as stream:

            async def hear() -> None:
                try:
                    async for event in stream:
                        told.hear(event.uri)
                except SubscriptionLost:
                    pass
                told.over = True

            hearing = asyncio.create_task(hear())
            try:
                yield told
            finally:
                hearing.cancel()
                await asyncio.gather(hearing, return_exceptions=True)


async def until(true: Any) -> None:
    async with asyncio.timeout(PATIENCE):
        while not true():
            await asyncio.sleep(0.02)


def token(owner: Owner) -> str:
    return owner.json("clients", "rotate", "hermes")["token"]


def connected(url: str, shown: str) -> StdioTransport:
    environment = {"MCP_PROTON_URL": url, "MCP_PROTON_TOKEN": shown, "PYTHONPATH": str(ROOT / "src")}
    return StdioTransport(
        sys.executable, ["-m", "mcp_proton", "connect"], env=environment, keep_alive=False, log_file=Path(os.devnull)
    )


@pytest.mark.parametrize("way", ["http", "connector"])
@pytest.mark.parametrize("era", ERAS)
async def test_new_mail_is_told_to_who_follows_and_the_watch_ends_when_they_go(
    owner: Owner, bridge: Bridge, era: str, way: str
) -> None:
    shown = token(owner)
    with Inside(owner.home) as service:
        by = StreamableHttpTransport(service.url, auth=shown) if way == "http" else connected(service.url, shown)
        watch = service._app._servers._running.service.watching
        async with following(by, era, INBOX) as told:
            assert (watch.followers, watch.accounts) == (1, 1)
            await asyncio.to_thread(bridge.deliver, "CANARY of a subject")
            async with asyncio.timeout(PATIENCE):
                await told.until(INBOX)
        await until(lambda: (watch.followers, watch.accounts) == (0, 0))
        assert "CANARY" not in service.output
        assert "method=messages_list" in service.output


@pytest.mark.parametrize("era", ERAS)
async def test_who_loses_the_token_meanwhile_is_told_nothing_more(owner: Owner, bridge: Bridge, era: str) -> None:
    """P-97."""
    shown = token(owner)
    with Inside(owner.home) as service:
        watch = service._app._servers._running.service.watching
        async with following(StreamableHttpTransport(service.url, auth=shown), era, INBOX) as told:
            token(owner)
            await until(lambda: (watch.followers, watch.accounts) == (0, 0))
            heard = list(told.uris)
            await asyncio.to_thread(bridge.deliver, "too late")
            await asyncio.sleep(1.0)
            assert told.uris == heard


async def test_a_rule_that_denies_it_meanwhile_ends_it(owner: Owner, bridge: Bridge) -> None:
    shown = token(owner)
    with Inside(owner.home) as service:
        watch = service._app._servers._running.service.watching
        async with following(StreamableHttpTransport(service.url, auth=shown), "2026-07-28", INBOX) as told:
            owner.write_policy('preset = "assistant"\n[[rules]]\neffect = "list"\nverdict = "deny"\n')
            await until(lambda: watch.followers == 0)
            await until(lambda: told.over)


@pytest.mark.parametrize("era", ERAS)
async def test_through_the_connector_what_is_followed_outlives_a_restart_of_the_service(
    owner: Owner, bridge: Bridge, era: str
) -> None:
    """It is followed again, and told once, since nobody knows what was missed."""
    shown = token(owner)
    with Service("--listen", "127.0.0.1:0", home=owner.home) as first:
        place = f"127.0.0.1:{first.port}"
        async with following(connected(first.url, shown), era, INBOX) as told:
            assert await asyncio.to_thread(first.end) == 0
            with Service("--listen", place, home=owner.home):
                async with asyncio.timeout(PATIENCE):
                    await told.until(INBOX)
                told.uris.clear()
                await asyncio.to_thread(bridge.deliver, "after the restart")
                async with asyncio.timeout(PATIENCE):
                    await told.until(INBOX)
