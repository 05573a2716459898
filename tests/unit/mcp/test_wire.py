"""What a connection writes at once: a head of known length never without what follows it, a stream's head by itself."""

from __future__ import annotations

import h11
import pytest

from mcp_proton.mcp.http.wire import Joined


def asked(method: str = "POST") -> Joined:
    connection = Joined(h11.SERVER)
    connection.receive_data(f"{method} /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n".encode())
    assert type(connection.next_event()) is h11.Request
    assert type(connection.next_event()) is h11.EndOfMessage
    return connection


def head(*headers: tuple[str, str], status: int = 200) -> h11.Response:
    return h11.Response(status_code=status, headers=headers)


def test_a_head_of_known_length_is_written_with_the_body():
    connection = asked()
    assert connection.send(head(("Content-Length", "4"))) == b""
    written = connection.send(h11.Data(data=b"body"))
    assert written is not None
    assert written.startswith(b"HTTP/1.1 200")
    assert written.endswith(b"\r\n\r\nbody")
    assert connection.send(h11.EndOfMessage()) == b""


@pytest.mark.parametrize(("method", "status", "length"), [("HEAD", 200, "4"), ("GET", 304, "4"), ("POST", 200, "0")])
def test_a_head_without_a_body_is_written_at_the_end(method: str, status: int, length: str):
    connection = asked(method)
    assert connection.send(head(("Content-Length", length), status=status)) == b""
    written = (connection.send(h11.Data(data=b"")) or b"") + (connection.send(h11.EndOfMessage()) or b"")
    assert written.startswith(b"HTTP/1.1 %d" % status)
    assert written.endswith(b"\r\n\r\n")


def test_the_head_of_a_stream_waits_for_nothing():
    connection = asked()
    written = connection.send(head(("Content-Type", "text/event-stream")))
    assert written is not None
    assert written.startswith(b"HTTP/1.1 200")


def test_the_next_response_of_a_connection_begins_with_its_own_head():
    connection = asked()
    for number in (1, 2):
        connection.send(head(("Content-Length", "1"), ("X-Number", str(number))))
        written = connection.send(h11.Data(data=b"x")) or b""
        assert written.lower().count(b"x-number") == 1
        assert written.lower().count(b"x-number: %d" % number) == 1
        connection.send(h11.EndOfMessage())
        connection.start_next_cycle()
        connection.receive_data(b"POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")
        connection.next_event()
        connection.next_event()
