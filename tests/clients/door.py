"""A door between a client and the service: it writes down what the client says, and can show a token in its place."""

from __future__ import annotations

import json
import socket
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import urlsplit


@dataclass(frozen=True)
class Heard:
    """One request: its method, its headers by lower-case name, and the message in it, if there was one."""

    method: str
    headers: dict[str, str]
    message: dict[str, Any] = field(default_factory=dict)

    @property
    def what(self) -> str:
        """The message's method, else HTTP's."""
        return self.message.get("method") or ("answer" if self.message else self.method)


class Door:
    """`with Door(url) as door`: what comes to `door.url` goes to the service, one request a connection."""

    def __init__(self, url: str, token: str | None = None) -> None:
        self._to, self._token = ("127.0.0.1", urlsplit(url).port), token
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}/mcp"
        self.heard: list[Heard] = []
        self._open: set[socket.socket] = set()
        self._thread = threading.Thread(target=self._accept, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join()
        for one in list(self._open):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        self._open.add(client)
        with suppress(OSError, ValueError), client, socket.create_connection(self._to) as service:
            self._open.add(service)
            read = client.makefile("rb")
            lines = []
            while (line := read.readline()) not in (b"\r\n", b""):
                lines.append(line.rstrip(b"\r\n"))
            if lines:
                service.sendall(self._head(lines))
                if body := read.read(self._length(lines)):
                    service.sendall(body)
                self._note(lines, body)
                while chunk := service.recv(65536):
                    client.sendall(chunk)
            self._open.discard(service)
        self._open.discard(client)

    def _head(self, lines: list[bytes]) -> bytes:
        dropped = (b"connection:", b"authorization:") if self._token else (b"connection:",)
        kept = [line for line in lines if not line.lower().startswith(dropped)]
        shown = [b"Authorization: Bearer " + self._token.encode()] if self._token else []
        return b"\r\n".join([*kept, *shown, b"Connection: close", b"", b""])

    def _length(self, lines: list[bytes]) -> int:
        return int(self._headers(lines).get("content-length", 0))

    def _note(self, lines: list[bytes], body: bytes) -> None:
        message = json.loads(body) if body.startswith(b"{") else {}
        self.heard.append(Heard(lines[0].split()[0].decode(), self._headers(lines), message))

    @staticmethod
    def _headers(lines: list[bytes]) -> dict[str, str]:
        pairs = (line.decode("latin-1").partition(":") for line in lines[1:])
        return {name.lower(): value.strip() for name, _, value in pairs}
