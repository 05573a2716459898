"""The always-on service with real processes and the official client: eras, progress, cancellation, endings."""

from __future__ import annotations

import asyncio
import json
import signal
from typing import TYPE_CHECKING

import pytest
from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport

from mcp_proton import __version__
from tests.surfaces.mcp.world import ERAS

from .process import Service
from .speaking import Raw, session

if TYPE_CHECKING:
    from pathlib import Path

    from tests.surfaces.cli.lab import Bridge, Owner

pytestmark = pytest.mark.process


@pytest.mark.parametrize("era", ERAS)
async def test_a_client_lists_and_calls_in_both_eras(demo: Service, era: str) -> None:
    """P-05, P-80."""
    async with Client(StreamableHttpTransport(demo.url, auth=demo.demo_token), mode=era) as client:
        assert "messages_list" in {tool.name for tool in await client.list_tools()}
        told = await client.call_tool("messages_list", {"limit": 2})
        read = await client.read_resource("mail://demo/mailboxes")
    assert len(told.structured_content["messages"]) == 2
    assert "INBOX" in read[0].text


async def test_the_official_client_hears_of_progress(demo: Service) -> None:
    heard: list[tuple[float, float | None, str | None]] = []

    async def listen(done: float, total: float | None, message: str | None) -> None:
        heard.append((done, total, message))

    async with session(demo.url, demo.demo_token) as client:
        told = await client.call_tool("accounts_health", {}, progress_callback=listen)
    assert told.structured_content["accounts"]
    assert heard == [(0.0, 1.0, "looking at demo")]


async def test_each_client_is_served_as_the_owner_said(owner: Owner, serving: Service) -> None:
    """P-13: its own profile, rules and accounts, and a change of them holds without a restart."""
    tokens = {
        "hermes": owner.json("clients", "rotate", "hermes")["token"],
        "look": owner.json("clients", "add", "look", "--profile", "reader", "--token")["token"],
    }
    owner.write_policy('preset = "assistant"\n[clients.look]\npreset = "reader"\n')
    seen = {}
    for name, token in tokens.items():
        async with session(serving.url, token) as client:
            seen[name] = {tool.name for tool in (await client.list_tools()).tools}
    assert "messages_move" in seen["hermes"]
    assert "messages_move" not in seen["look"]
    owner.run("clients", "add", "look", "--profile", "full")
    async with session(serving.url, tokens["look"]) as client:
        handle = (await client.call_tool("messages_list", {"limit": 1})).structured_content["messages"][0]["handle"]
        told = await client.call_tool("messages_flag", {"messages": [handle], "add": ["flagged"]})
    assert told.structured_content["status"] == "refused"
    assert "`look`" in told.structured_content["why"]


def test_a_unix_socket_is_for_the_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "run" / "mcp.sock"
    with Service("--demo", "--listen", f"unix:{path}") as service:
        assert service.url == f"unix:{path}"
        assert path.stat().st_mode & 0o777 == 0o600
        with Raw("http://localhost/mcp", service.demo_token, socket=str(path)) as raw:
            assert raw.shake().status_code == 200
            assert raw.call("messages_list", limit=1).status_code == 200
        assert service.end() == 0
    assert not path.exists()


def test_what_a_killed_service_left_does_not_keep_the_next_from_starting(tmp_path: Path) -> None:
    path = tmp_path / "mcp.sock"
    with Service("--demo", "--listen", f"unix:{path}") as service:
        service.process.kill()
        service.ended()
        assert path.exists()
        with Service("--demo", "--listen", f"unix:{path}") as second, Raw("http://x/health", socket=str(path)) as raw:
            assert raw.http.get("http://localhost/health").status_code == 200
            third = Service("--demo", "--listen", f"unix:{path}")
            with pytest.raises(AssertionError, match="something listens there already"), third:
                pass
            assert second.end() == 0


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT])
async def test_it_ends_in_order_with_streams_open_and_a_call_running(owner: Owner, bridge: Bridge, ending: int) -> None:
    """Everything is closed: the last line is not a traceback, and the exit code says so."""
    token = owner.json("clients", "rotate", "hermes")["token"]
    with Service("--listen", "127.0.0.1:0", home=owner.home) as service:
        async with Client(StreamableHttpTransport(service.url, auth=token), mode="legacy") as client:
            await client.list_tools()
            service.process.send_signal(ending)
            assert await asyncio.to_thread(service.ended) == 0
    assert [line.split()[1] for line in service.lines] == ["measuring", "serving"], service.output


def test_health_says_the_version_and_nothing_else(demo: Service) -> None:
    """J-134, A-82."""
    with Raw(demo.url) as raw:
        told = raw.http.get(demo.url.replace("/mcp", "/health"))
        assert (told.status_code, told.json()) == (200, {"status": "ok", "version": __version__})
        ready = raw.http.get(demo.url.replace("/mcp", "/ready"))
        assert (ready.status_code, ready.json()) == (
            200,
            {"ready": True, "storage": "ok", "accounts": 1, "reachable": 1},
        )


def test_a_broken_stream_is_taken_up_where_it_broke(demo: Service) -> None:
    with Raw(demo.url, demo.demo_token) as raw:
        raw.shake()
        events = raw.post("tools/call", 7, name="messages_list", arguments={"limit": 1}).text
        first = next(line.removeprefix("id: ") for line in events.splitlines() if line.startswith("id:"))
        headers = {"Mcp-Session-Id": raw.session, "MCP-Protocol-Version": "2025-11-25", "Last-Event-ID": first}
        with raw.http.stream("GET", raw.url, headers=headers) as again:
            data = next(line for line in again.iter_lines() if line.startswith("data:") and len(line) > 10)
        assert json.loads(data.removeprefix("data: "))["id"] == 7


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("0.0.0.0:8420", "reaches beyond this machine"),
        ("[::]:8420", "reaches beyond this machine"),
        ("192.0.2.1:8420", "reaches beyond this machine"),
    ],
)
def test_it_never_listens_beyond_this_machine_unless_a_proxy_is_named(owner: Owner, said: str, why: str) -> None:
    text = owner.folders.config_file.read_text()
    owner.write_config(f'{text}\n[service]\nlisten = "{said}"\n')
    with pytest.raises(AssertionError, match=why), Service(home=owner.home):
        pass
    refused = owner.run("config", "check")
    assert why in refused.all


def test_without_an_account_it_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="run `mcp-proton setup`"), Service(home=tmp_path / "empty"):
        pass
