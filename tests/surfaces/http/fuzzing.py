"""Malformed requests by the thousand: `python -m tests.surfaces.http.fuzzing --requests 10000 --seed 1`, or `make fuzz`.

Octets on a socket, from a seed: JSON-RPC of both eras with anything in its places, calls of real tools with wrong arguments,
sessions and streams that are nobody's, heads that two readers could read in two ways, connections that are left half open.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import socket
import sys
import time
from collections import Counter, deque
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from tests.surfaces.cli.lab import CANARY

from .crowded import SENDER, crowd
from .speaking import MODERN, VERSION, Raw

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .process import Service

CANARIES = ("SECRETVALUE", CANARY, SENDER)
"""What we plant in requests, and what stands in the mail."""
PATIENCE = 60.0
HALF_OPEN = 50
SPARE = 10
"""Files that may be open at one time more than at another: connections of the pool, a read of the configuration."""
MOST_GROWN = 64.0
"""MiB that memory may grow by after the first tenth: what the service keeps of sessions and streams is bounded."""
_ODD: list[Any] = [
    None, 0, -1, 2**63, 1e308, "", "SECRETVALUE", "\u202e", "\x00", "x" * 5_000, [], {}, [[]], {"a": {"b": []}}, True,
    "../../etc/passwd", "mail://x/../..", "demo.aaaaaa.1-1", {"$ref": "#"}, ["SECRETVALUE"] * 50, "\ud800",
]  # fmt: skip
_METHODS = [
    "ping", "tools/list", "tools/call", "resources/list", "resources/read", "resources/templates/list", "prompts/list",
    "prompts/get", "completion/complete", "logging/setLevel", "server/discover", "subscriptions/listen", "tasks/get",
    "notifications/initialized", "notifications/cancelled", "notifications/progress", "roots/list", "sampling/createMessage",
    "initialize", "SECRETVALUE", "", "rpc.discover",
]  # fmt: skip
_PATHS = [
    "/", "/health", "/ready", "/mcp/", "/mcp/../health", "/%6dcp", "//mcp", "/metrics", "/mcp?token=SECRETVALUE", "/\x7f", "*",
    "/.well-known/oauth-protected-resource", "/register", "/authorize?state=SECRETVALUE", "/token", "/" + "a" * 20_000,
]  # fmt: skip


@dataclass
class Told:
    """What came back: statuses for each family, and the service's size before and after."""

    statuses: dict[str, Counter[str]] = field(default_factory=dict)
    octets_before: int = 0
    octets_after: int = 0
    files_before: int = 0
    files_after: int = 0
    seconds: float = 0.0

    @property
    def requests(self) -> int:
        return sum(one.total() for one in self.statuses.values())

    @property
    def grown(self) -> float:
        """MiB that memory grew by after the first tenth."""
        return (self.octets_after - self.octets_before) / (1 << 20)

    @property
    def bounded(self) -> bool:
        return self.grown <= MOST_GROWN and self.files_after <= self.files_before + SPARE


class Fuzz:
    """A stream of requests from one seed, against one service."""

    def __init__(self, service: Service, token: str, seed: int) -> None:
        self.service, self.token, self.seed = service, token, seed
        self._chance = random.Random(seed)
        self._half_open: deque[socket.socket] = deque()
        with Raw(service.url, token) as raw:
            raw.shake()
            self._session = str(raw.session)
            listed = raw.modern("tools/list").text
        self._tools = json.loads(listed[listed.index("{") :].splitlines()[0])["result"]["tools"]
        self._families: dict[str, Callable[[], tuple[bytes, bool]]] = {
            "json-rpc": self._rpc,
            "a tool's arguments": self._arguments,
            "octets of a message": self._octets,
            "sessions and streams": self._sessions,
            "heads": self._heads,
            "other paths": self._paths,
            "half open": self._slow,
        }
        self._weights = [30, 25, 15, 10, 12, 4, 4]

    def run(self, requests: int, told: Told) -> Told:
        """Send so many requests. AssertionError, with the seed and the number, for an answer that must not be."""
        begun = time.monotonic()
        names = list(self._families)
        for number in range(requests):
            if number == requests // 10:
                told.octets_before, told.files_before = size(self.service)
            family = self._chance.choices(names, self._weights)[0]
            sent, whole = self._families[family]()
            if family == "half open":
                told.statuses.setdefault(family, Counter())["left"] += 1
                continue
            answered = self._exchange(sent, whole=whole)
            status = answered[9:12].decode("latin-1") or "closed"
            told.statuses.setdefault(family, Counter())[status] += 1
            self._judge(number, sent, answered, status)
        self.end()
        told.seconds += time.monotonic() - begun
        self._settle(told.files_before)
        told.octets_after, told.files_after = size(self.service)
        return told

    def _settle(self, files: int) -> None:
        """Wait until the service has let go of what was closed, if it does."""
        until = time.monotonic() + PATIENCE
        while size(self.service)[1] > files + SPARE and time.monotonic() < until:
            time.sleep(0.1)

    def end(self) -> None:
        """Close what was left half open."""
        while self._half_open:
            self._half_open.popleft().close()

    def _judge(self, number: int, sent: bytes, answered: bytes, status: str) -> None:
        where = f"seed {self.seed}, request {number}: {sent[:600]!r} -> {answered[:600]!r}"
        assert not status.startswith("5") or status in ("501", "505"), where
        assert b"Traceback" not in answered, where
        if self.token.encode() not in sent:
            leaked = [word for word in CANARIES[1:] if word.encode() in answered]
            assert not leaked, where

    def _exchange(self, sent: bytes, *, whole: bool) -> bytes:
        """Send octets and read what comes. `whole`: a request that HTTP can read, which is waited for."""
        heard = b""
        with suppress(ConnectionError), socket.create_connection(("127.0.0.1", self.service.port), PATIENCE) as one:
            one.sendall(sent)
            if not whole:
                one.shutdown(socket.SHUT_WR)
            while chunk := one.recv(1 << 20):
                heard += chunk
                if b"text/event-stream" in heard and sent.startswith(b"GET"):
                    break
        return heard

    def _post(self, body: bytes, headers: Mapping[str, str] | None = None, method: str = "POST") -> tuple[bytes, bool]:
        named = {
            "Host": "localhost",
            "Accept": "application/json, text/event-stream",
            "Content-Type": "application/json",
            "Content-Length": str(len(body)),
            "Connection": "close",
            **self._bearer(),
            **(headers or {}),
        }
        lines = [f"{method} /mcp HTTP/1.1", *(f"{name}: {value}" for name, value in named.items()), "", ""]
        return "\r\n".join(lines).encode("utf-8", "replace") + body, True

    def _bearer(self) -> dict[str, str]:
        token = self._chance.choices([self.token, "mcpp_no", None], [90, 5, 5])[0]
        return {"Authorization": f"Bearer {token}"} if token else {}

    def _era(self, message: dict[str, Any]) -> dict[str, str]:
        """Put a message into one era or the other, mostly as it should be."""
        if self._chance.random() < 0.5:
            return {"Mcp-Session-Id": self._session, "MCP-Protocol-Version": VERSION}
        params = message.get("params")
        if isinstance(params, dict) and self._chance.random() < 0.9:
            params["_meta"] = self._chance.choice([MODERN, MODERN, MODERN, self._odd()])
        named = params.get("name", "") if isinstance(params, dict) else ""
        told = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": _one_line(message.get("method", ""))}
        return told | ({"Mcp-Name": _one_line(named)} if self._chance.random() < 0.9 else {})

    def _odd(self) -> Any:
        return self._chance.choice(_ODD)

    def _rpc(self) -> tuple[bytes, bool]:
        params = self._chance.choice(
            [{}, self._odd(), {"name": self._odd(), "arguments": self._odd()}, {"uri": self._odd()},
             {"requestId": self._odd(), "_meta": {"progressToken": self._odd()}}, {"cursor": self._odd()},
             {"protocolVersion": self._odd(), "capabilities": self._odd(), "clientInfo": self._odd()}]
        )  # fmt: skip
        message: dict[str, Any] = {
            "jsonrpc": "2.0",
            "id": self._chance.choice([1, "a", self._odd()]),
            "method": self._chance.choice(_METHODS),
            "params": params,
        }
        headers = self._era(message)
        if self._chance.random() < 0.3:
            message[self._chance.choice(list(message))] = self._odd()
        if self._chance.random() < 0.2:
            message.pop(self._chance.choice(list(message)))
        body: Any = [message] * 3 if self._chance.random() < 0.05 else message
        return self._post(json.dumps(body).encode(), headers)

    def _arguments(self) -> tuple[bytes, bool]:
        tool = self._chance.choice(self._tools)
        fields = tool["inputSchema"].get("properties", {})
        given = {name: self._value(schema) for name, schema in fields.items() if self._chance.random() < 0.5}
        if self._chance.random() < 0.2:
            given[str(self._odd())[:40]] = self._odd()
        message = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": tool["name"], "arguments": given},
        }
        headers = self._era(message)
        return self._post(json.dumps(message).encode(), headers)

    def _value(self, schema: dict[str, Any]) -> Any:
        """Return a value of the right kind, or of any."""
        if self._chance.random() < 0.4:
            return self._odd()
        kind = schema.get("type") or self._chance.choice([one.get("type") for one in schema.get("anyOf", [{}])])
        match kind:
            case "integer" | "number":
                return self._chance.choice([0, 1, 5, -7, 10**12])
            case "boolean":
                return self._chance.random() < 0.5
            case "array":
                return [self._value(schema.get("items", {})) for _ in range(self._chance.choice([0, 1, 30]))]
            case "object":
                return {"a": self._odd()}
        return self._chance.choice(
            ["inbox", "demo", "from:a (", "2026-13-45", "\u0000", "a" * 3_000, "SECRETVALUE", "*"]
        )

    def _octets(self) -> tuple[bytes, bool]:
        message = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "messages_list", "arguments": {}},
        }
        headers = self._era(message)
        body = bytearray(json.dumps(message).encode())
        for _ in range(self._chance.randint(1, 6)):
            at = self._chance.randrange(len(body))
            match self._chance.randrange(4):
                case 0:
                    body[at] = self._chance.randrange(256)
                case 1:
                    del body[at : at + self._chance.randint(1, 9)]
                case 2:
                    body[at:at] = self._chance.choice(
                        [b"\xff\xfe", b"\x00", b"[" * 2_000, b'"\\ud800"', b"1e999", b"{}"]
                    )
                case 3:
                    body[at:at] = body[: self._chance.randrange(len(body))]
            body = body or bytearray(b"{")
        return self._post(bytes(body), headers)

    def _sessions(self) -> tuple[bytes, bool]:
        session = self._chance.choice(
            [self._session, self._session[::-1], "", "x" * 300, "SECRETVALUE", "a b", "\u00e9"]
        )
        headers = {
            "Mcp-Session-Id": session,
            "MCP-Protocol-Version": self._chance.choice([VERSION, "1999-01-01", "", "x"]),
        }
        if self._chance.random() < 0.6:
            headers["Last-Event-ID"] = str(self._chance.choice([0, 1, -1, 10**30, "SECRETVALUE", "", "1-2", "0x1"]))
        method = self._chance.choice(["GET", "GET", "DELETE", "POST", "PUT"])
        if method == "DELETE" and session == self._session:
            session = headers["Mcp-Session-Id"] = "gone"
        return self._post(b"" if method != "POST" else b'{"jsonrpc":"2.0","id":1,"method":"ping"}', headers, method)

    def _heads(self) -> tuple[bytes, bool]:
        """Shapes of request smuggling, and heads out of proportion (RFC 9112 section 11)."""
        body = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
        lines = [
            self._chance.choice(
                ["POST /mcp HTTP/1.1", "POST /mcp HTTP/1.0", "POST /mcp HTTP/9.9", "POST  /mcp HTTP/1.1", "GET"]
            ),
            self._chance.choice(
                ["Host: localhost", "Host: evil.test", "Host : localhost", "Host: localhost\r\nHost: b", "X: y"]
            ),
            f"Authorization: Bearer {self.token}",
            "Content-Type: application/json",
        ]
        odd = [
            "Content-Length: 5", "Content-Length: +5", "Content-Length: 0x5", "Content-Length: 5, 6", "Content-Length: -1",
            "Transfer-Encoding: chunked", "Transfer-Encoding: xchunked", "Transfer-Encoding : chunked",
            "Transfer-Encoding: identity, chunked", "Transfer-Encoding:\x0bchunked", "X: a\x00b", " folded: x",
            "Expect: 100-continue", "Upgrade: websocket\r\nConnection: upgrade", "Connection: close, te", "X: " + "y" * 40_000,
            *["Mcp-Session-Id: a", "Origin: https://evil.test", "Content-Encoding: gzip", "X-HTTP-Method-Override: DELETE"],
        ]  # fmt: skip
        lines += self._chance.choices(odd, k=self._chance.randint(1, 4))
        lines += [f"X-{number}: SECRETVALUE" for number in range(self._chance.choice([0, 0, 0, 90]))]
        self._chance.shuffle(lines[1:])
        ending = self._chance.choice(
            [body, b"5\r\nhello\r\n0\r\n\r\n", b"ffffffffffffffff\r\n", b"-1\r\n", b"", body * 2]
        )
        return self._chance.choice(["\r\n", "\r\n", "\n"]).join([*lines, "", ""]).encode("latin-1") + ending, False

    def _paths(self) -> tuple[bytes, bool]:
        method = self._chance.choice(["GET", "HEAD", "POST", "OPTIONS", "TRACE", "PUT", "MAIL"])
        return (
            f"{method} {self._chance.choice(_PATHS)} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode(),
            False,
        )

    def _slow(self) -> tuple[bytes, bool]:
        """Leave a connection half open; the oldest beyond a number is closed."""
        parts = [
            b"",
            b"P",
            b"POST /mcp HTTP/1.1\r\nHost: localhost\r\n",
            b"GET /health HTTP/1.1\r\n" + b"X: y\r\n" * 40,
        ]
        whole, _ = self._post(b"{" * 40, {"Content-Length": "4000"})
        one = socket.create_connection(("127.0.0.1", self.service.port), PATIENCE)
        with suppress(OSError):
            one.sendall(self._chance.choice([*parts, whole]))
        self._half_open.append(one)
        if len(self._half_open) > HALF_OPEN:
            self._half_open.popleft().close()
        return b"", False


def _one_line(value: object) -> str:
    text = str(value)[:200] if isinstance(value, str | int) else "x"
    return "".join(c if c.isascii() and c.isprintable() else "?" for c in text).strip()


def size(service: Service) -> tuple[int, int]:
    """Return the service's memory in octets, and how many files it has open."""
    process = Path("/proc", str(service.process.pid))
    if not process.exists():
        return 0, 0
    pages = int((process / "statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE"), len(list((process / "fd").iterdir()))


def still_well(service: Service, token: str) -> None:
    """The service answers, and has said nothing of what was in requests or mail. AssertionError otherwise."""
    with Raw(service.url, token) as raw:
        answered = raw.call("messages_list", limit=1)
        assert answered.status_code == 200
        assert '"ok"' in answered.text.replace("\\", ""), answered.text[:600]
    assert "Traceback" not in service.output, service.output[-3_000:]
    said = [word for word in CANARIES if word in service.output]
    assert said == []


def main(arguments: list[str]) -> int:
    """Run and print what came back."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    with TemporaryDirectory() as folder, crowd(Path(folder, "home"), ["fuzz"]) as found, found.serve() as service:
        token = found.tokens["fuzz"]
        told = Fuzz(service, token, given.seed).run(given.requests, Told())
        still_well(service, token)
        end = service.end()
    for family, statuses in told.statuses.items():
        print(f"{family:24} {statuses.total():6}  {dict(statuses.most_common())}")
    print(
        f"{told.requests} requests in {told.seconds:.0f} s; memory {told.grown:+.1f} MiB after the first tenth; ",
        end="",
    )
    print(f"open files {told.files_before} -> {told.files_after}; it ended with {end}")
    return int(not told.bounded)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
