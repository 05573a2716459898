"""The service as the connector reaches it: one connection for each exchange, over TCP, TLS or a Unix domain socket."""

from __future__ import annotations

import http.client
import socket
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SILENCE = 90.0
"""Seconds without an octet after which a connection counts as broken; an open stream says something every 15."""
_CONNECTING = 10.0
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


class NotReachedError(Exception):
    """Nothing was sent: the service does not listen."""


class BrokenError(Exception):
    """The connection broke after something was sent: it may have been acted upon."""


@dataclass(frozen=True)
class Event:
    """One event of a stream. `id` is where the stream can be taken up again."""

    id: str | None
    data: bytes


class _Unix(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=SILENCE)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(_CONNECTING)
        self.sock.connect(self._path)


class Exchange:
    """One request and its response. `close` may be called from another thread, and ends it at once."""

    def __init__(self, connection: http.client.HTTPConnection) -> None:
        self._connection = connection
        self._response: http.client.HTTPResponse | None = None
        self.closed = False

    def send(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> None:
        """Send a request and wait for the head of its response. Raises `NotReachedError` or `BrokenError`."""
        try:
            self._connection.connect()
            self._connection.sock.settimeout(SILENCE)
        except OSError as error:
            self.close()
            raise NotReachedError from error
        try:
            self._connection.request(method, path, body, dict(headers))
            self._response = self._connection.getresponse()
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.close()
            raise BrokenError from error

    @property
    def response(self) -> http.client.HTTPResponse:
        """The response, once it has begun."""
        assert self._response is not None
        return self._response

    @property
    def status(self) -> int:
        """The response's status."""
        return self.response.status

    def header(self, name: str) -> str | None:
        """Return a header of the response."""
        return self.response.getheader(name)

    @property
    def is_stream(self) -> bool:
        """Whether events come."""
        return (self.header("content-type") or "").startswith("text/event-stream")

    def body(self) -> bytes:
        """Return the whole body of a short response. Raises `BrokenError`."""
        try:
            return self.response.read()
        except (OSError, http.client.HTTPException, ValueError, AttributeError) as error:
            raise BrokenError from error

    def events(self) -> Iterator[Event]:
        """Yield events until the stream ends in order. Raises `BrokenError` when it breaks off."""
        number, data = None, b""
        try:
            while line := self.response.readline():
                line = line.rstrip(b"\r\n")
                if line.startswith(b"data:"):
                    data += line[5:].removeprefix(b" ")
                elif line.startswith(b"id:"):
                    number = line[3:].strip().decode("latin-1")
                elif not line:
                    if data or number is not None:
                        yield Event(number, data)
                    number, data = None, b""
        except (OSError, http.client.HTTPException, ValueError, AttributeError) as error:
            raise BrokenError from error

    def close(self) -> None:
        """End it, whatever it is doing."""
        self.closed = True
        sock = self._connection.sock
        if sock is not None:
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
        self._connection.close()


class Service:
    """Where the service is, and the token it wants to see."""

    def __init__(self, url: str, token: str) -> None:
        """Take `http://host:port/mcp`, `https://…` or `unix:/path`. ValueError where a token must not be sent."""
        self.headers = {
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "User-Agent": "mcp-proton-connect",
        }
        self._unix = url.removeprefix("unix:") if url.startswith("unix:") else None
        found = urlsplit(url)
        self._host, self._port, self._secure = found.hostname or "", found.port, found.scheme == "https"
        self._path = "/mcp" if self._unix else found.path or "/mcp"
        if self._unix is None and (found.scheme not in ("http", "https") or not self._host):
            raise ValueError("the address must be http://127.0.0.1:8420/mcp, an https:// address, or unix:/path")
        if found.scheme == "http" and self._host not in _LOOPBACK:
            raise ValueError("over http the token would be open to read on the way to another machine; use https")

    def exchange(self) -> Exchange:
        """Return an exchange that has not begun."""
        if self._unix is not None:
            return Exchange(_Unix(self._unix))
        kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        return Exchange(kind(self._host, self._port, timeout=_CONNECTING))

    def begin(self, exchange: Exchange, method: str, body: bytes | None, headers: Mapping[str, str]) -> None:
        """Send a request in an exchange; see there for what it raises."""
        exchange.send(method, self._path, body, {**self.headers, **headers})
