"""The always-on service: what HTTP, many clients and the connector cost, against an empty FastMCP server and itself.

Both servers are processes of their own, spoken to by the same raw HTTP client over kept connections.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit
from urllib.request import urlopen

from mcp_proton import bootstrap
from mcp_proton.config import editing
from mcp_proton.config.folders import Folders
from mcp_proton.simulator import Simulator

from .timing import Figure, absolute

CLIENTS = 8
AT_ONCE = 50
IDLE = 200
LIMIT = 25
T = TypeVar("T")
_NO_LIMITS = {
    "MCP_PROTON_READS_PER_MINUTE": "0",
    "MCP_PROTON_WRITES_PER_MINUTE": "0",
    "MCP_PROTON_SESSIONS": "1000",
    "MCP_PROTON_METRICS_LISTEN": "127.0.0.1:0",
}
_EMPTY = """
import sys, uvicorn
from fastmcp import FastMCP
server = FastMCP("empty")
@server.tool
async def nothing() -> str:
    "Do nothing."
    return "done"
class Ready(uvicorn.Server):
    async def startup(self, sockets=None):
        await super().startup(sockets)
        port = self.servers[0].sockets[0].getsockname()[1]
        print(f"serving where=http://127.0.0.1:{port}/mcp", file=sys.stderr, flush=True)
app = server.http_app("/mcp", host_origin_protection=True)
Ready(uvicorn.Config(app, port=0, log_config=None, access_log=False)).run()
"""
_INSIDE = """
import asyncio, os, sys, time
from mcp_proton import bootstrap
from mcp_proton.mcp.identity import agent
from mcp_proton.services.operations.searching import MessagesList
async def main():
    async with bootstrap.real(os.environ) as running:
        while await asyncio.to_thread(sys.stdin.readline):
            began = time.perf_counter()
            await running.service.submit(agent("client-0"), MessagesList(limit=25))
            print(time.perf_counter() - began, flush=True)
asyncio.run(main())
"""
"""The same page without HTTP, in a process of its own: in this one the mail server's simulator would be in its way."""
_META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Caller:
    """One kept connection on which a tool is called, in the modern era."""

    def __init__(self, url: str, token: str) -> None:
        found = urlsplit(url)
        self._connection = http.client.HTTPConnection(found.hostname or "", found.port, timeout=60)
        self._headers = {
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }

    def call(self, tool: str, **arguments: object) -> float:
        """Call a tool and return the seconds it took."""
        headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": tool}
        params = {"name": tool, "arguments": arguments, "_meta": _META}
        began = time.perf_counter()
        answer = self._post(params, "tools/call", headers)
        taken = time.perf_counter() - began
        if b'"isError":true' in answer or b'"status":"refused"' in answer:
            raise RuntimeError(answer[:300].decode())
        return taken

    def shake(self) -> None:
        """Open a session and leave it idle."""
        info = {"name": "bench", "version": "1"}
        self._post({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info}, "initialize", {})
        self._connection.close()

    def _post(self, params: Mapping[str, object], method: str, headers: dict[str, str]) -> bytes:
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        self._connection.request("POST", "/mcp", body, {**self._headers, **headers})
        response = self._connection.getresponse()
        answer = response.read()
        if response.status != 200:
            raise RuntimeError(f"{response.status} {answer[:300].decode()}")
        return answer


class Served:
    """A running server."""

    def __init__(self, process: subprocess.Popen[str], url: str, metrics: str | None = None) -> None:
        self.process = process
        self.url = url
        self._metrics = metrics

    @property
    def mail_seconds(self) -> float:
        """How long the mail server has taken to answer, all commands together."""
        assert self._metrics is not None
        with urlopen(self._metrics) as told:
            sums = re.findall(r"mcp_proton_mail_exchange_seconds_sum\{.*\} (\S+)", told.read().decode())
        return sum(map(float, sums))

    @property
    def megabytes(self) -> float:
        """Its resident memory."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.findall(r"VmRSS:\s+(\d+)", status)[0]) / 1024


@contextmanager
def served(words: list[str], environment: dict[str, str]) -> Iterator[Served]:
    """Start a server and wait until it says where it is."""
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, env={**os.environ, **environment})
    assert process.stderr is not None
    try:
        places: list[str] = []
        for line in process.stderr:
            places += re.findall(r"where=(\S+)", line)
            if "serving" in line:
                break
        threading.Thread(target=process.stderr.read, daemon=True).start()
        yield Served(process, places[-1], places[0])
    finally:
        process.terminate()
        process.wait(30)


@contextmanager
def owned() -> Iterator[tuple[Served, list[str], Simulator, Path]]:
    """Serve a simulator's mailbox to eight clients; yield the service, their tokens, the simulator and the home."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()

    def do(work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, loop).result(60)

    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        mail = bootstrap.simulated(messages=bootstrap.DEMO_MESSAGES)
        simulator = do(mail.__aenter__())
        stack.callback(lambda: do(mail.__aexit__(None, None, None)))
        tokens = asyncio.run(_home(home, simulator))
        words = [sys.executable, "-m", "mcp_proton", "serve", "--listen", "127.0.0.1:0"]
        service = stack.enter_context(served(words, {"MCP_PROTON_HOME": str(home), **_NO_LIMITS}))
        yield service, tokens, simulator, home
    loop.call_soon_threadsafe(loop.stop)


async def _home(home: Path, simulator: Simulator) -> list[str]:
    folders = Folders.under(home)
    secret = folders.state / "secret"
    secret.parent.mkdir(mode=0o700, parents=True)
    secret.touch(0o600)
    secret.write_text(simulator.password)
    account: dict[str, editing.Value] = {
        "kind": "bridge",
        "imap_port": simulator.imap_port,
        "username": simulator.username,
        "secret": f"file:{secret}",
        "certificate": bootstrap.fingerprint(simulator.certificate_pem),
    }
    editing.add_account(folders.config_file, "personal", account)
    names = [f"client-{number}" for number in range(CLIENTS)]
    for name in names:
        editing.add_client(folders.config_file, name, {"profile": "core"})
    folders.policy_file.touch(0o600)
    folders.policy_file.write_text('preset = "reader"\n')
    async with bootstrap.client_tokens(bootstrap.settings({"MCP_PROTON_HOME": str(home)})) as tokens:
        return [await tokens.issue(name) for name in names]


def measure() -> list[Figure]:
    """Measure one after the other: the machine has few cores, and each needs one to itself."""
    with owned() as (service, tokens, _, home), served([sys.executable, "-c", _EMPTY], {}) as empty:
        figures = [
            _call(service, tokens[0], empty, home),
            _alone(service, tokens[0], empty),
            _connector(service, tokens[0]),
        ]
        figures += _crowd(service, tokens)
        figures.append(_sessions(service, tokens))
    return figures


def _call(service: Served, token: str, empty: Served, home: Path) -> Figure:
    """A page over HTTP, without the mail server's and the door's own time, over an empty tool over HTTP."""
    ours, floor = Caller(service.url, token), Caller(empty.url, "x")
    environment = {**os.environ, "MCP_PROTON_HOME": str(home)}
    with subprocess.Popen(
        [sys.executable, "-c", _INSIDE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        asking, answers = process.stdin, process.stdout
        assert asking is not None
        assert answers is not None

        def inside() -> float:
            asking.write("again\n")
            asking.flush()
            return float(answers.readline())

        sides: list[Callable[[], float]] = [
            partial(ours.call, "messages_list", limit=LIMIT),
            partial(floor.call, "nothing"),
            inside,
        ]
        rounds = [[statistics.mean(side() for _ in range(10)) for side in sides] for _ in range(16)]
    page, nothing, within = (statistics.median(taken) for taken in zip(*rounds[1:], strict=True))
    found = (page - within) / nothing
    told = f"{found:.2f}x ({page * 1000:.1f} - {within * 1000:.1f} ms against {nothing * 1000:.1f} ms)"
    return Figure("messages_list of 25 over HTTP less its own time, over an empty tool", told, "<= 2x", found <= 2)


def _alone(service: Served, token: str, empty: Served) -> Figure:
    """The same page without the mail server's own time alone, as the service counted it: ours, door and all."""
    ours, floor, calls = Caller(service.url, token), Caller(empty.url, "x"), 200
    began = service.mail_seconds
    pages, nothings = [], []
    for _ in range(calls):
        pages.append(ours.call("messages_list", limit=LIMIT))
        nothings.append(floor.call("nothing"))
    mail = (service.mail_seconds - began) / calls
    page, nothing = statistics.median(pages), statistics.median(nothings)
    found = (page - mail) / nothing
    told = f"{found:.2f}x ({page * 1000:.1f} - {mail * 1000:.1f} ms against {nothing * 1000:.1f} ms)"
    return Figure("the same less the mail server's time alone", told, "<= 2x", found <= 2)


def _connector(service: Served, token: str) -> Figure:
    """A call through the connector, more than the same over HTTP."""
    direct = Caller(service.url, token)
    environment = {**os.environ, "MCP_PROTON_URL": service.url, "MCP_PROTON_TOKEN": token}
    words = [sys.executable, "-m", "mcp_proton", "connect"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        params = {"name": "messages_list", "arguments": {"limit": LIMIT}, "_meta": _META}
        line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode() + b"\n"
        piped, plain = [], []
        for _ in range(150):
            plain.append(direct.call("messages_list", limit=LIMIT))
            began = time.perf_counter()
            process.stdin.write(line)
            process.stdin.flush()
            if b'"status":"ok"' not in process.stdout.readline().replace(b"\\", b""):
                raise RuntimeError("the connector got no answer")
            piped.append(time.perf_counter() - began)
        process.stdin.close()
        process.wait(10)
    more = (statistics.median(piped[20:]) - statistics.median(plain[20:])) * 1000
    return absolute("the same through the connector, more than directly", more, 8, "ms")


def _crowd(service: Served, tokens: list[str]) -> list[Figure]:
    """Throughput of fifty at once over that of one, and how far the slowest are from the median."""
    alone = Caller(service.url, tokens[0])
    mix: list[Callable[[Caller], float]] = [
        lambda one: one.call("messages_list", limit=LIMIT),
        lambda one: one.call("mailboxes_list"),
        lambda one: one.call("messages_list", mailbox="archive", limit=LIMIT),
    ]
    began, calls = time.perf_counter(), 300
    for number in range(calls):
        mix[number % len(mix)](alone)
    single = calls / (time.perf_counter() - began)
    taken: list[float] = []

    def use(token: str) -> None:
        one = Caller(service.url, token)
        taken.extend([mix[number % len(mix)](one) for number in range(20)])

    crowd = [threading.Thread(target=use, args=(tokens[number % CLIENTS],)) for number in range(AT_ONCE)]
    began = time.perf_counter()
    for thread in crowd:
        thread.start()
    for thread in crowd:
        thread.join()
    together = len(taken) / (time.perf_counter() - began)
    found, ordered = together / single, sorted(taken)
    spread = ordered[int(len(ordered) * 0.99)] / statistics.median(ordered)
    return [
        Figure(
            f"throughput of {AT_ONCE} clients on a read mix, over one client",
            f"{found:.2f}x ({together:.0f}/s against {single:.0f}/s)",
            ">= 0.9x",
            found >= 0.9,
        ),
        Figure("their p99 over their median", f"{spread:.2f}x", "<= 5x", spread <= 5),
    ]


def _sessions(service: Served, tokens: list[str]) -> Figure:
    """Memory with two hundred idle sessions over memory with none."""
    before = service.megabytes
    for number in range(IDLE):
        Caller(service.url, tokens[number % CLIENTS]).shake()
    after = service.megabytes
    told = f"{after / before:.2f}x ({after:.0f} MiB against {before:.0f} MiB)"
    return Figure(f"memory with {IDLE} idle sessions, over none", told, "<= 1.5x", after / before <= 1.5)
