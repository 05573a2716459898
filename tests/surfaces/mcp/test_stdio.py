"""Standard input and output, with real processes: eras, endings, garbage, and nothing but protocol on the wire."""

from __future__ import annotations

import json
import signal
import sys

import pytest
from fastmcp import Client
from fastmcp.client.transports import StdioTransport

from mcp_proton import __version__

from .wire import ROOT, Process
from .world import ERAS

pytestmark = pytest.mark.process
_MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


@pytest.mark.parametrize("era", ERAS)
async def test_a_client_lists_and_calls_over_a_real_pipe(era):
    """P-80, in both eras."""
    pipe = StdioTransport(sys.executable, ["-m", "tests.surfaces.mcp.child"], cwd=str(ROOT), keep_alive=False)
    async with Client(pipe, mode=era) as client:
        assert "messages_list" in {tool.name for tool in await client.list_tools()}
        told = await client.call_tool("messages_list", {"limit": 1})
    assert told.structured_content["messages"][0]["subject"] == "Letter 1"


@pytest.mark.parametrize("version", ["2025-06-18", "2025-11-25"])
def test_a_handshake_client_written_by_hand(version):
    with Process() as server:
        answered = server.shake(version)
        assert answered["protocolVersion"] == version
        assert answered["serverInfo"] == {"name": "mcp-proton", "version": __version__}
        assert len(answered["instructions"]) < 400
        assert set(answered["capabilities"]) >= {"tools", "resources", "prompts"}
        assert server.ask("ping")["result"] == {}
        tools = server.ask("tools/list")["result"]["tools"]
        assert all(set(tool) <= {"name", "description", "inputSchema", "annotations"} for tool in tools)
        told = server.ask("tools/call", name="messages_list", arguments={"limit": 1})["result"]
        assert told["isError"] is False
        assert json.loads(told["content"][0]["text"]) == told["structuredContent"]
        server.close_input()
        assert server.ended() == 0


def test_a_modern_client_needs_no_handshake():
    with Process() as server:
        told = server.ask("tools/call", name="messages_list", arguments={"limit": 1}, _meta=_MODERN)["result"]
        assert told["structuredContent"]["status"] == "ok"
        for method, params in (("resources/read", {"uri": "mail://personal/mailboxes"}), ("tools/list", {})):
            kept = server.ask(method, _meta=_MODERN, **params)["result"]
            assert (kept["ttlMs"], kept["cacheScope"]) == (0, "private")  # P-86: mail is not for caching
        server.close_input()
        assert server.ended() == 0


@pytest.mark.parametrize("ending", [None, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
@pytest.mark.parametrize("busy", [False, True])
def test_it_ends_in_order_within_two_seconds_whatever_ends_it(ending, busy):
    """End of input or a signal, idle or with the world still being opened under a waiting call."""
    with Process("core", "60" if busy else "0") as server:
        server.shake()
        if busy:
            server.begin("tools/call", name="messages_list", arguments={})
            server.ask("ping")
        else:
            server.ask("tools/list")
        if ending is None:
            server.close_input()
        else:
            server.signal(ending)
        assert server.ended() == 0
        assert server.stderr.strip().splitlines()[-1] == "closed in order"
        assert "Traceback" not in server.stderr


def test_initialize_is_answered_while_the_world_takes_its_time():
    with Process("core", "60") as server:
        assert server.shake()["serverInfo"]["name"] == "mcp-proton"
        assert server.ask("prompts/list")["result"]["prompts"]


_GARBAGE = [
    b"not json SECRETVALUE\n",
    b"\n",
    b"\xff\xfe\x00SECRETVALUE\n",
    b'{"jsonrpc":"2.0","id":\n',
    b"[]\n",
    b"[" * 100_000 + b"\n",
    b'"SECRETVALUE"\n',
    b'{"jsonrpc":"1.0","id":7,"method":"ping"}\n',
    b'{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}\n',
    b'{"jsonrpc":"2.0","id":901,"method":"mail/steal","params":{"a":"SECRETVALUE"}}\n',
    b'{"jsonrpc":"2.0","id":902,"method":"tools/call","params":{"name":5,"arguments":"SECRETVALUE"}}\n',
    b'{"jsonrpc":"2.0","id":903,"method":"tools/call","params":{"name":"messages_get","arguments":{"message":"SECRETVALUE"}}}\n',
    b'{"jsonrpc":"2.0","id":904,"method":"resources/read","params":{"uri":"SECRETVALUE"}}\n',
    b'{"jsonrpc":"2.0","method":"notifications/nonsense","params":{"a":"SECRETVALUE"}}\n',
    b'{"jsonrpc":"2.0","id":905,"result":{}}\n',
    b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4711}}\n',
]


def test_garbage_neither_stops_it_nor_shows_in_its_logs():
    with Process() as server:
        server.shake()
        for line in _GARBAGE:
            server.send(line)
            assert server.ask("ping")["result"] == {}
        assert (
            server.ask("tools/call", name="messages_list", arguments={})["result"]["structuredContent"]["status"]
            == "ok"
        )
        server.close_input()
        assert server.ended() == 0
        assert "SECRETVALUE" not in server.stderr


def test_a_line_of_ten_megabytes_is_answered():
    with Process() as server:
        server.shake()
        long = "x" * (10 * 1024 * 1024)
        told = server.ask("tools/call", name="messages_search", arguments={"query": long})["result"]
        assert told["structuredContent"]["code"] == "invalid_arguments"
        assert len(json.dumps(told)) < 2000
        server.close_input()
        assert server.ended() == 0


def test_settings_lying_about_change_nothing(tmp_path):
    """P-86: neither a variable nor a `.env` in the working folder turns on telemetry, logs of arguments or a banner."""
    (tmp_path / ".env").write_text("FASTMCP_LOG_LEVEL=DEBUG\nFASTMCP_LOG_ENABLED=true\n")
    noisy = {"FASTMCP_LOG_LEVEL": "DEBUG", "FASTMCP_ENV_FILE": str(tmp_path / ".env"), "FASTMCP_LOG_ENABLED": "true"}
    with Process(env=noisy, cwd=tmp_path) as server:
        server.shake()
        server.ask("tools/call", name="messages_search", arguments={"query": "SECRETVALUE"})
        server.close_input()
        assert server.ended() == 0
        assert server.stderr.strip() == "closed in order"
