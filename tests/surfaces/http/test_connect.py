"""The stdio connector, as a process of its own between a client and a service: everything is kept, nothing acts twice."""

from __future__ import annotations

import asyncio
import json
import os
import queue
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from fastmcp import Client
from fastmcp.client.transports import StdioTransport

from mcp_proton.mcp.connect.service import Service as Reached
from tests.surfaces.mcp.world import ERAS

from .process import PATIENCE, ROOT, Service

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.surfaces.cli.lab import Owner

pytestmark = pytest.mark.process


def pipe(url: str, token: str) -> StdioTransport:
    environment = {"MCP_PROTON_URL": url, "MCP_PROTON_TOKEN": token, "PYTHONPATH": str(ROOT / "src")}
    return StdioTransport(sys.executable, ["-m", "mcp_proton", "connect"], env=environment, keep_alive=False)


class Strange:
    """The server of `strange_server`, on a port that stays the same over restarts."""

    def __init__(self, notes: Path) -> None:
        self.notes = notes
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/mcp"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        words = [sys.executable, "-m", "tests.surfaces.http.strange_server", str(self.port), str(self.notes)]
        self.process = subprocess.Popen(words, cwd=ROOT, stderr=subprocess.DEVNULL)

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait(PATIENCE)

    def noted(self, what: str) -> int:
        return self.notes.read_text().splitlines().count(what) if self.notes.exists() else 0

    def wait_for(self, what: str) -> None:
        until = time.monotonic() + PATIENCE
        while not self.noted(what):
            assert time.monotonic() < until
            time.sleep(0.02)


@pytest.fixture
def strange(tmp_path: Path) -> Iterator[Strange]:
    server = Strange(tmp_path / "notes")
    server.start()
    yield server
    server.kill()


class Connector:
    """The connector, spoken to in raw lines."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self._lines: queue.Queue[bytes] = queue.Queue()
        self.thread = threading.Thread(target=lambda: [self._lines.put(line) for line in process.stdout], daemon=True)
        self.thread.start()

    def send(self, method: str, number: int | None = None, **params: Any) -> None:
        body: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
        if number is not None:
            body["id"] = number
        self.process.stdin.write(json.dumps(body).encode() + b"\n")
        self.process.stdin.flush()

    def heard(self, number: int) -> dict[str, Any]:
        while True:
            message = json.loads(self._lines.get(timeout=PATIENCE))
            if message.get("id") == number:
                return message

    def shake(self) -> None:
        info = {"name": "raw", "version": "1"}
        self.send("initialize", 1, protocolVersion="2025-11-25", capabilities={}, clientInfo=info)
        assert "result" in self.heard(1)
        self.send("notifications/initialized")
        self.send("tools/list", 2)
        assert self.heard(2)["result"]["tools"]


@contextmanager
def connector(url: str, token: str = "t") -> Iterator[Connector]:
    environment = {**os.environ, "MCP_PROTON_URL": url, "MCP_PROTON_TOKEN": token}
    words = [sys.executable, "-m", "mcp_proton", "connect"]
    process = subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    )
    connected = Connector(process)
    try:
        yield connected
    finally:
        process.kill()
        process.wait(PATIENCE)
        connected.thread.join(PATIENCE)
        for stream in (process.stdin, process.stdout, process.stderr):
            try:
                stream.close()
            except BrokenPipeError:
                pass


def test_it_loads_nothing_but_the_standard_library() -> None:
    """Ready at once and small: what a client waits for is Python itself."""
    program = (
        "import sys; before = set(sys.modules); import mcp_proton.__main__, mcp_proton.mcp.connect.command as c;"
        "new = {name.partition('.')[0] for name in set(sys.modules) - before} - {'mcp_proton'};"
        "print(sorted(new - set(sys.stdlib_module_names)), 'asyncio' in new)"
    )
    told = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True).stdout
    assert told.strip() == "[] False"


@pytest.mark.parametrize("era", ERAS)
async def test_a_client_behind_a_pipe_reaches_the_service(demo: Service, era: str) -> None:
    """P-05."""
    heard = []

    async def listen(done: float, total: float | None, message: str | None) -> None:
        heard.append(message)

    async with Client(pipe(demo.url, demo.demo_token), mode=era, progress_handler=listen) as client:
        assert "messages_list" in {tool.name for tool in await client.list_tools()}
        told = await client.call_tool("accounts_health", {})
        read = await client.read_resource("mail://demo/mailboxes")
    assert told.structured_content["accounts"]
    assert heard == ["looking at demo"]
    assert "INBOX" in read[0].text


async def test_a_unix_socket_is_reached_too(tmp_path: Path) -> None:
    with Service("--demo", "--listen", f"unix:{tmp_path / 'mcp.sock'}") as service:
        async with Client(pipe(service.url, service.demo_token)) as client:
            assert (await client.call_tool("messages_list", {"limit": 1})).structured_content["status"] == "ok"


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("action", ["accept", "decline"])
async def test_a_question_to_the_person_comes_through(strange: Strange, era: str, action: str) -> None:
    """P-85."""
    asked = []

    async def person(message: str, *_: object) -> Any:
        from fastmcp.client.elicitation import ElicitResult

        asked.append(message)
        return ElicitResult(action=action, content={} if action == "accept" else None)

    async with Client(pipe(strange.url, "t"), mode=era, elicitation_handler=person) as client:
        told = await client.call_tool("question", {})
    assert asked == ["really?"]
    assert told.content[0].text == ("yes" if action == "accept" else "no")


@pytest.mark.parametrize("era", ERAS)
async def test_a_call_that_is_given_up_is_cancelled_in_the_service(strange: Strange, era: str) -> None:
    async with Client(pipe(strange.url, "t"), mode=era) as client:
        await client.list_tools()
        call = asyncio.ensure_future(client.call_tool("act", {}))
        await asyncio.to_thread(strange.wait_for, "act")
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        await asyncio.to_thread(strange.wait_for, "act cancelled")
        assert (await client.call_tool("act", {})).content[0].text == "done at attempt 2"


def test_a_restart_of_the_service_is_not_noticed(strange: Strange) -> None:
    with connector(strange.url) as client:
        client.shake()
        strange.kill()
        strange.start()
        client.send("tools/list", 3)
        assert client.heard(3)["result"]["tools"]


def test_a_call_that_may_have_acted_is_never_repeated_when_the_service_is_killed(strange: Strange) -> None:
    """The promise of P-61 for what stands between: an unsure outcome is told, not tried again."""
    with connector(strange.url) as client:
        client.shake()
        client.send("tools/call", 3, name="act", arguments={}, _meta={"progressToken": 3})
        strange.wait_for("act")
        strange.kill()
        strange.start()
        told = client.heard(3)["result"]
        assert told["structuredContent"]["status"] == "unsure"
        assert json.loads(told["content"][0]["text"]) == told["structuredContent"]
        assert not told["isError"]
        client.send("tools/list", 4)
        client.heard(4)
    assert strange.noted("act") == 1


def test_a_call_that_only_reads_is_asked_again(strange: Strange) -> None:
    with connector(strange.url) as client:
        client.shake()
        client.send("tools/call", 3, name="look", arguments={})
        strange.wait_for("look")
        strange.kill()
        strange.start()
        assert client.heard(3)["result"]["content"][0]["text"] == "done at attempt 2"


def test_a_service_that_is_not_there_yet_is_waited_for(tmp_path: Path) -> None:
    late = Strange(tmp_path / "notes")
    with connector(late.url) as client:
        info = {"name": "raw", "version": "1"}
        client.send("initialize", 1, protocolVersion="2025-11-25", capabilities={}, clientInfo=info)
        client.send("notifications/initialized")
        client.send("tools/list", 2)
        late.start()
        try:
            assert "result" in client.heard(1)
            assert client.heard(2)["result"]["tools"]
        finally:
            late.kill()


def test_a_token_that_is_not_good_is_told_with_what_to_do(demo: Service) -> None:
    with connector(demo.url, f"mcpp_{'a' * 10}_{'b' * 50}") as client:
        client.send(
            "initialize", 1, protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "r", "version": "1"}
        )
        assert "clients rotate" in client.heard(1)["error"]["message"]


def test_end_of_input_ends_it_and_the_session_with_it(demo: Service) -> None:
    with connector(demo.url, demo.demo_token) as client:
        client.shake()
        client.process.stdin.close()
        assert client.process.wait(PATIENCE) == 0
        assert client.process.stderr.read() == b""


@pytest.mark.parametrize("line", ["not json", "[]", "[" * 50_000])
def test_what_is_no_message_is_answered_and_does_not_stop_it(demo: Service, line: str) -> None:
    with connector(demo.url, demo.demo_token) as client:
        client.process.stdin.write(line.encode() + b"\n\n")
        client.shake()


@pytest.mark.parametrize(
    "url", ["http://mail.example.org/mcp", "http://10.0.0.1:8420/mcp", "ftp://127.0.0.1/", "", "x"]
)
def test_a_token_never_travels_where_others_can_read_it(url: str) -> None:
    with pytest.raises(ValueError):
        Reached(url, "t")


def test_without_a_token_it_says_where_to_put_one() -> None:
    words = [sys.executable, "-m", "mcp_proton", "connect"]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("MCP_PROTON")}
    ended = subprocess.run(
        words, capture_output=True, text=True, env=environment, stdin=subprocess.DEVNULL, check=False
    )
    assert ended.returncode == 2
    assert "MCP_PROTON_TOKEN" in ended.stderr


def test_it_serves_a_client_with_its_own_rules(owner: Owner, serving: Service) -> None:
    """P-41: the token says who it is, whoever started the connector."""
    token = owner.json("clients", "rotate", "hermes")["token"]
    with connector(serving.url, token) as client:
        client.shake()
        owner.run("clients", "pause", "hermes")
        client.send("tools/call", 3, name="messages_list", arguments={"limit": 1})
        told = client.heard(3)["result"]["structuredContent"]
        assert told["status"] == "refused"
        assert "hermes" in told["why"]
