"""A recorded connection played against the engine: what is sent, what is heard, over TLS where the recording had it."""

from __future__ import annotations

import contextlib
import re
import socket
import ssl
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.servers.gluon_server import Gluon

PATIENCE = 5.0


class Line:
    """A client's connection."""

    def __init__(self, letter: str, address: str) -> None:
        self.letter = letter
        self.tag = letter
        self.address = address
        self.heard = bytearray()
        self.is_over = False
        self._count = 0
        self._socket: socket.socket

    def open(self, gluon: Gluon, *, tls: bool) -> bytes:
        self._socket = socket.create_connection((gluon.host, gluon.imap_port), timeout=PATIENCE)
        said = self._line()
        if tls:
            self._socket.sendall(b"s STARTTLS\r\n")
            said += self._line()
            context = ssl.create_default_context(cadata=gluon.certificate_pem)
            self._socket = context.wrap_socket(self._socket, server_hostname="127.0.0.1")
        return said

    def _line(self) -> bytes:
        said = b""
        while not said.endswith(b"\n") and (byte := self._socket.recv(1)):
            said += byte
        return said

    def number(self, expected: list[str], text: str) -> bytes:
        """The command under the next tag, or under the one its recorded answer has; DONE counts but has none."""
        found = re.match(rf"{self.letter}(\d+) ", expected[-1]) if expected else None
        self._count = max(self._count + 1, int(found[1]) if found else 0)
        if text.upper() == "DONE":
            return b"DONE\r\n"
        self.tag = f"{self.letter}{self._count}"
        return f"{self.tag} {text}\r\n".encode()

    def send(self, data: bytes) -> None:
        with contextlib.suppress(OSError):
            self._socket.sendall(data)

    def hear(self, is_enough: Callable[[], bool], seconds: float) -> None:
        """Take in what comes until it is enough, the time is up, or the connection ends."""
        deadline = time.monotonic() + seconds
        while not self.is_over and not is_enough() and (left := deadline - time.monotonic()) > 0:
            self._socket.settimeout(left)
            try:
                chunk = self._socket.recv(2**18)
            except TimeoutError:
                return
            except OSError:
                chunk = b""
            self.heard += chunk
            self.is_over = not chunk

    def close(self) -> None:
        self._socket.close()
