"""What strangers and broken clients send: every answer is a refusal that quotes nothing, none is a 500, nothing stays."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest

from .speaking import VERSION, Raw

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .process import Service

pytestmark = pytest.mark.process
SECRET = "SECRETVALUE"


@pytest.fixture(autouse=True)
def _still_well(demo: Service) -> Iterator[None]:
    """After each attack the service still serves, without a word about it that quotes anything."""
    yield
    with Raw(demo.url, demo.demo_token) as raw:
        assert raw.call("messages_list", limit=1).status_code == 200
    assert SECRET not in demo.output
    assert "Traceback" not in demo.output


def exchange(service: Service, sent: bytes, *, close: bool = False) -> bytes:
    """Send octets and return all that comes back until the service closes, or has answered once."""
    with socket.create_connection(("127.0.0.1", service.port), timeout=50) as connection:
        connection.sendall(sent)
        if close:
            connection.shutdown(socket.SHUT_WR)
        heard = b""
        while chunk := connection.recv(65536):
            heard += chunk
            if b"\r\n\r\n" in heard and not close:
                break
        return heard


def head(service: Service, *lines: str, method: str = "POST") -> bytes:
    fixed = [
        f"{method} /mcp HTTP/1.1",
        f"Authorization: Bearer {service.demo_token}",
        "Content-Type: application/json",
        "Accept: application/json, text/event-stream",
    ]
    return "\r\n".join([*fixed, *lines, "", ""]).encode()


@pytest.mark.parametrize(
    "host", ["evil.test", "evil.test:8420", "127.0.0.1.evil.test", "localhost.evil.test", "0.0.0.0", "[::ffff:7f00:1]x"]
)
@pytest.mark.parametrize("path", ["/mcp", "/health", "/ready"])
def test_another_host_name_is_not_served(demo: Service, host: str, path: str) -> None:
    """DNS rebinding: the name a browser was lured to is not ours."""
    with Raw(demo.url, demo.demo_token) as raw:
        assert raw.http.get(demo.url.replace("/mcp", path), headers={"Host": host}).status_code in (400, 421)


@pytest.mark.parametrize("origin", ["https://evil.test", "http://localhost.evil.test", "file://x"])
def test_a_page_from_elsewhere_is_not_served(demo: Service, origin: str) -> None:
    with Raw(demo.url, demo.demo_token) as raw:
        assert raw.http.post(demo.url, json={}, headers={"Origin": origin}).status_code == 403


_BODY = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'


@pytest.mark.parametrize(
    "lines",
    [
        ("Host: localhost", "Content-Length: 5", "Transfer-Encoding: chunked"),
        ("Host: localhost", "Content-Length: 5", "Content-Length: 6"),
        ("Host: localhost", "Content-Length: +5"),
        ("Host: localhost", "Content-Length: 0x5"),
        ("Host: localhost", "Transfer-Encoding: chunked, identity"),
        ("Host: localhost", "Transfer-Encoding: xchunked"),
        ("Host: localhost", "Transfer-Encoding : chunked"),
        ("Host: localhost", "Host: evil.test", "Content-Length: 5"),
        ("Content-Length: 5",),
        ("Host: localhost", "Content-Length: 5", " folded: x"),
        ("Host: localhost", "X: a\x00b", "Content-Length: 5"),
        ("Host: localhost", "Mcp-Session-Id: a", "Mcp-Session-Id: b", "Content-Length: 5"),
        ("Host: localhost", *(f"X-{number}: {SECRET}" for number in range(100)), "Content-Length: 5"),
        ("Host: localhost", f"X: {SECRET * 10_000}", "Content-Length: 5"),
    ],
)
def test_what_two_readers_could_read_in_two_ways_is_refused(demo: Service, lines: tuple[str, ...]) -> None:
    """Request smuggling (RFC 9112 §6.1, §11.2), and heads out of proportion."""
    answered = exchange(demo, head(demo, *lines) + _BODY)
    assert answered[9:12] in (b"400", b"431", b"501"), answered[:200]
    assert SECRET.encode() not in answered


@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET /mcp HTTP/9.9\r\nHost: localhost\r\n\r\n",
        b"\0" * 100_000,
        b"CONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test\r\n\r\n",
        b"GET http://evil.test/mcp HTTP/1.1\r\nHost: evil.test\r\n\r\n",
    ],
)
def test_what_is_no_request_of_ours_is_refused(demo: Service, sent: bytes) -> None:
    answered = exchange(demo, sent, close=True)
    assert answered == b"" or answered[9:12] in (b"400", b"401", b"404", b"405", b"421", b"431"), answered[:200]


@pytest.mark.parametrize("method", ["HEAD", "GET", "PUT", "PATCH", "OPTIONS", "TRACE", "DELETE", "MAIL"])
def test_a_method_that_makes_no_sense_is_no_fault(demo: Service, method: str) -> None:
    """Some clients begin with HEAD and GET, to see whether anybody is there."""
    with Raw(demo.url, demo.demo_token) as raw:
        assert 400 <= raw.http.request(method, demo.url).status_code < 500


def test_a_head_that_never_ends_ends_the_connection(demo: Service) -> None:
    """Slow-loris: nobody holds a connection with half a request."""
    for sent in (b"", b"POST /mcp HTTP/1.1\r\nHost: localhost\r\n"):
        with socket.create_connection(("127.0.0.1", demo.port), timeout=50) as connection:
            connection.sendall(sent)
            assert connection.recv(100)[:12] in (b"", b"HTTP/1.1 408", b"HTTP/1.1 400")


def test_a_body_that_never_ends_is_given_up(demo: Service) -> None:
    with socket.create_connection(("127.0.0.1", demo.port), timeout=50) as connection:
        connection.sendall(head(demo, "Host: localhost", "Content-Length: 1000") + b"{")
        assert connection.recv(100).startswith(b"HTTP/1.1 408")


@pytest.mark.parametrize("lengths", ["told", "chunked"])
def test_a_body_out_of_proportion_is_refused(demo: Service, lengths: str) -> None:
    """J-103: 4 MiB, whether the length is told or not."""
    part = b"x" * (1 << 20)
    with Raw(demo.url, demo.demo_token) as raw:
        content = part * 5 if lengths == "told" else (part for _ in range(5))
        try:
            assert raw.http.post(demo.url, content=content).status_code == 413
        except OSError:
            pass  # it closed while we were still sending: as good an answer
        except Exception as error:
            assert type(error).__name__ in ("WriteError", "ReadError", "RemoteProtocolError"), error


def test_a_stranger_gets_no_body_read(demo: Service) -> None:
    """401 comes before a single octet of the body is waited for."""
    sent = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4000000\r\n\r\n"
    assert b" 401 " in exchange(demo, sent.encode())[:20]


_GARBAGE = [
    b"",
    b"not json",
    b"\xff\xfe\x00",
    b'{"jsonrpc":"2.0","id":',
    b"[]",
    b"null",
    b"17",
    b'"x"',
    b"[" * 100_000,
    b'{"a":' * 50_000,
    b'{"jsonrpc":"1.0","id":7,"method":"ping"}',
    b'{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}',
    b'{"jsonrpc":"2.0","id":1,"method":5}',
    b'{"jsonrpc":"2.0","id":1,"method":"mail/steal","params":{"a":"SECRETVALUE"}}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":5,"arguments":"SECRETVALUE"}}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":"SECRETVALUE"}',
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"messages_get","arguments":{"message":"SECRETVALUE"}}}',
    b'{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"SECRETVALUE"}}',
    b'{"jsonrpc":"2.0","method":"notifications/nonsense","params":{"a":"SECRETVALUE"}}',
    b'{"jsonrpc":"2.0","id":1,"result":{}}',
    b'{"jsonrpc":"2.0","id":1e400,"method":"ping"}',
    b'{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}',
    b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"SECRETVALUE","capabilities":{}}}',
]


@pytest.mark.parametrize("era", ["opening", "session", "modern"])
def test_garbage_is_refused_without_a_fault(demo: Service, era: str) -> None:
    with Raw(demo.url, demo.demo_token) as raw:
        headers = {}
        if era == "session":
            raw.shake()
            headers = {"Mcp-Session-Id": str(raw.session), "MCP-Protocol-Version": VERSION}
        elif era == "modern":
            headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "ping"}
        for number, garbage in enumerate(_GARBAGE):
            answered = raw.http.post(demo.url, content=garbage, headers=headers)
            assert answered.status_code < 500, (number, answered.text[:200])
