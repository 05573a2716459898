"""What the service tells about itself: audit lines, metrics, readiness. Nothing of mail and no token is in any of it (P-98)."""

from __future__ import annotations

import json
import socket
from typing import TYPE_CHECKING

import httpx2
import pytest
from mcp.shared.exceptions import MCPError

from tests.servers.jmap.server import PASSWORD, USER
from tests.surfaces.cli.lab import CANARY, Bridge, Jmap

from .collector import Collector
from .process import Service
from .speaking import Raw, session

if TYPE_CHECKING:
    from tests.surfaces.cli.lab import Owner

pytestmark = pytest.mark.process
SENDER = "anna@canary.example"


async def _use(url: str, token: str) -> None:
    """Do a bit of everything with a message full of canaries, and be refused a bit of everything."""
    async with session(url, token) as client:
        found = (await client.call_tool("messages_search", {"query": f"subject:{CANARY}"})).structured_content
        assert CANARY in str(found)
        handle = found["messages"][0]["handle"]
        assert "Hello" in str(await client.call_tool("messages_get", {"message": handle}))
        await client.call_tool("messages_flag", {"messages": [handle], "add": ["flagged"]})
        await client.call_tool("messages_get", {"message": CANARY})
        await client.call_tool(CANARY, {CANARY: CANARY})
        with pytest.raises(MCPError):
            await client.read_resource(f"mail://{CANARY}")
    with Raw(url, token) as raw:
        raw.call("messages_search", query=f"from:{SENDER}")
        raw.modern("tools/call", CANARY, arguments={})
        raw.http.get(f"{url}/{CANARY}?{CANARY}={SENDER}", headers={"User-Agent": CANARY})
    with Raw(url, f"mcpp_{CANARY}") as raw:
        raw.shake()


@pytest.mark.parametrize("form", ["text", "json"])
async def test_nothing_of_mail_and_no_token_is_in_logs_metrics_or_traces(owner: Owner, form: str) -> None:
    """P-98, J-130, J-133: with everything turned on that can be."""
    token = owner.json("clients", "rotate", "hermes")["token"]
    with Bridge() as own, Collector() as collector:
        owner.connect(own)
        own.deliver(CANARY)
        more = {
            "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
            "MCP_PROTON_LOG": "debug",
            "MCP_PROTON_LOG_FORMAT": form,
            "MCP_PROTON_METRICS_LISTEN": "127.0.0.1:0",
        }
        with Service("--listen", "127.0.0.1:0", home=owner.home, more=more) as service:
            await _use(service.url, token)
            with httpx2.Client(trust_env=False) as plain:
                metrics = plain.get(service.measuring()).text
            assert service.end() == 0
        told = service.output + metrics + collector.octets.decode("latin-1")
        for secret in (CANARY, SENDER, own.username, own.password, token, token.rpartition("_")[2], "Hello"):
            assert secret not in told, secret
    assert 'mcp_proton_tool_calls_total{client="hermes",operation="messages_search",status="ok"} 2.0' in metrics
    assert 'mcp_proton_refusals_total{event="invalid_token"} 1.0' in metrics
    assert 'mcp_proton_mail_exchanges_total{command="UID STORE",end="ok",protocol="imap"} 1.0' in metrics
    assert "call messages_search" in {span.name for span in collector.spans}
    lines = [line for line in service.output.splitlines() if "messages_search" in line]
    assert len(lines) == 2
    if form == "json":
        for line in service.output.splitlines():
            assert json.loads(line)["at"]
        told = json.loads(lines[0])
        assert (told["event"], told["client"], told["method"], told["outcome"]) == (
            "call", "hermes", "messages_search", "ok"
        )  # fmt: skip
        assert told["result_count"] == 1
        assert told["latency_ms"] > 0
        assert len(told["token_hash"]) == 16
        assert [json.loads(line)["token_hash"] for line in lines] == [told["token_hash"]] * 2, "in both eras"


def test_metrics_say_what_waits_and_what_the_rules_said(owner: Owner) -> None:
    """J-132."""
    owner.write_policy('preset = "assistant"\n[[rules]]\neffect = "organize"\nverdict = "ask"\n')
    token = owner.json("clients", "rotate", "hermes")["token"]
    more = {"MCP_PROTON_METRICS_LISTEN": "127.0.0.1:0"}
    with Service("--listen", "127.0.0.1:0", home=owner.home, more=more) as service:
        with Raw(service.url, token) as raw:
            for _ in range(2):
                raw.session = None
                raw.shake()
            handle = raw.call("messages_list", limit=1).text.partition('"handle":"')[2].partition('"')[0]
            assert "approval_pending" in raw.call("messages_flag", messages=[handle], add=["flagged"]).text
        url = service.measuring()
        with httpx2.Client(trust_env=False) as plain:
            told = plain.get(url).text
            assert plain.get(url, headers={"Host": "evil.test"}).status_code == 421
            assert plain.get(url.replace("/metrics", "/mcp")).status_code == 404
        assert plain.is_closed
        with Raw(service.url, token) as raw:
            assert raw.http.get(service.url.replace("/mcp", "/metrics")).status_code == 404, "a listener of its own"
    for line in (
        "mcp_proton_approvals_waiting 1.0",
        'mcp_proton_verdicts_total{verdict="ask"} 1.0',
        'mcp_proton_verdicts_total{verdict="allow"} 1.0',
        "mcp_proton_sessions 2.0",
        "mcp_proton_active_clients 1.0",
        "mcp_proton_calls_running 0.0",
        "mcp_proton_watched_accounts 0.0",
        "mcp_proton_followed_resources 0.0",
        'mcp_proton_tool_latency_seconds_count{operation="messages_list"} 1.0',
    ):
        assert line in told, line


def test_connections_to_a_jmap_server_are_counted_like_any(owner: Owner) -> None:
    """J-132."""
    with Jmap() as own:
        owner.folders.config_file.unlink()
        password = owner.file("password", f"{PASSWORD}\n")
        where = ("--url", own.server.url, "--username", USER, "--password-file", password)
        owner.json("setup", "post", *where, "--preset", "assistant", "--client", "hermes")
        token = owner.json("clients", "rotate", "hermes")["token"]
        more = {"MCP_PROTON_METRICS_LISTEN": "127.0.0.1:0"}
        with Service("--listen", "127.0.0.1:0", home=owner.home, more=more) as service:
            with Raw(service.url, token) as raw:
                assert '"status":"ok"' in raw.call("messages_list", limit=1).text
            with httpx2.Client(trust_env=False) as plain:
                told = plain.get(service.measuring()).text
    for line in (
        'mcp_proton_mail_connections{account="post",state="idle"} 1.0',
        'mcp_proton_mail_connections{account="post",state="busy"} 0.0',
        'mcp_proton_mail_exchanges_total{command="POST",end="ok",protocol="jmap"}',
    ):
        assert line in told, line


def test_it_is_not_ready_when_the_mail_server_is_gone(owner: Owner) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        text = owner.folders.config_file.read_text()
        port = next(line for line in text.splitlines() if line.startswith("imap_port"))
        owner.write_config(text.replace(port, f"imap_port = {taken.getsockname()[1]}"))
        with Service("--listen", "127.0.0.1:0", home=owner.home) as service, Raw(service.url) as raw:
            ready = raw.http.get(service.url.replace("/mcp", "/ready"))
            assert ready.status_code == 503
            assert ready.json() == {"ready": False, "storage": "ok", "accounts": 1, "reachable": 0}
            assert raw.http.get(service.url.replace("/mcp", "/health")).status_code == 200


def test_a_call_and_its_commands_to_the_mail_server_are_one_trace(owner: Owner) -> None:
    """J-133: gone on with from the client's own trace, and told to the collector that the environment names."""
    token = owner.json("clients", "rotate", "hermes")["token"]
    trace = "0af7651916cd43dd8448eb211c80319c"
    with Collector() as collector:
        more = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "OTEL_SERVICE_NAME": "my-mail"}
        with Service("--listen", "127.0.0.1:0", home=owner.home, more=more) as service:
            with Raw(service.url, token) as raw:
                assert raw.http.get(service.url.replace("/mcp", "/ready")).status_code == 200
                raw.http.headers["traceparent"] = f"00-{trace}-b7ad6b7169203331-01"
                assert '"status":"ok"' in raw.call("messages_list", limit=1).text
                raw.call("messages_list", bogus=1)
            assert service.end() == 0
    ours = [span for span in collector.spans if span.trace_id.hex() == trace]
    calls = [span for span in ours if span.name == "call messages_list"]
    assert [collector.told(span).get("mcp_proton.status") for span in calls] == ["ok", "refused"]
    below = [span for span in ours if span.parent_span_id == calls[0].span_id]
    assert {"imap EXAMINE", "imap UID FETCH"} <= {span.name for span in below}
    by_themselves = [span for span in collector.spans if not span.parent_span_id]
    assert "imap LOGIN" in {span.name for span in by_themselves}, "what no call began has traces of its own"
    assert trace not in {span.trace_id.hex() for span in by_themselves}
    for span in below:
        assert span.start_time_unix_nano >= calls[0].start_time_unix_nano
    for span in (*below, *by_themselves):
        assert set(collector.told(span)) == {"network.protocol.name", "mcp_proton.end"}
    assert b"my-mail" in collector.octets


def test_a_collector_that_is_gone_costs_nothing_but_its_traces(owner: Owner) -> None:
    token = owner.json("clients", "rotate", "hermes")["token"]
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        more = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{taken.getsockname()[1]}"}
        with Service("--listen", "127.0.0.1:0", home=owner.home, more=more) as service:
            with Raw(service.url, token) as raw:
                assert '"status":"ok"' in raw.call("messages_list", limit=1).text
            assert service.end() == 0
    assert "Traceback" not in service.output


def test_metrics_tell_of_mail_servers_the_journal_and_what_was_sent(owner: Owner) -> None:
    """J-132."""
    token = owner.json("clients", "rotate", "hermes")["token"]
    with Bridge() as own:
        owner.connect(own)
        owner.write_policy('preset = "autonomous"\n')
        more = {"MCP_PROTON_METRICS_LISTEN": "127.0.0.1:0"}
        with Service("--listen", "127.0.0.1:0", home=owner.home, more=more) as service:
            with Raw(service.url, token) as raw:
                assert '"status":"ok"' in raw.call("messages_list", limit=1).text
                assert "accepted" in raw.call("mail_send", to=[own.username], subject="Hello", text="x").text
            with httpx2.Client(trust_env=False) as plain:
                told = plain.get(service.measuring()).text
    for line in (
        'mcp_proton_mail_exchanges_total{command="LIST",end="ok",protocol="imap"} 1.0',
        'mcp_proton_mail_exchanges_total{command="AUTH",end="ok",protocol="smtp"} 1.0',
        'mcp_proton_mail_exchanges_total{command="DATA END",end="ok",protocol="smtp"} 1.0',
        'mcp_proton_mail_exchange_seconds_count{command="LIST",protocol="imap"} 1.0',
        'mcp_proton_mail_connections{account="personal",state="busy"} 0.0',
        'mcp_proton_sendings{stage="accepted"} 1.0',
        'mcp_proton_sendings{stage="unknown"} 0.0',
        "mcp_proton_journal_lag_seconds ",
    ):
        assert line in told, line
