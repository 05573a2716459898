"""The floor: a blocking socket that sends a command and reads every byte of the answer, and looks at none of them."""

from __future__ import annotations

import socket
import ssl
from typing import BinaryIO


class RawClient:
    """One logged-in connection. TLS is not verified: it talks to a server this run started."""

    def __init__(self, host: str, port: int, username: str, password: str, *, starttls: bool) -> None:
        self._socket = socket.create_connection((host, port), timeout=120)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._count = 0
        self._socket.recv(65536)
        if starttls:
            self.command(b"STARTTLS")
            context = ssl.create_default_context()
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
            self._socket = context.wrap_socket(self._socket)
        self.command(b'LOGIN "%s" "%s"' % (username.encode(), password.encode()))

    def command(self, line: bytes, into: BinaryIO | None = None) -> int:
        """Send one command and read its answer; return how many bytes it had."""
        return self.commands([line], into)

    def append(self, mailbox: bytes, message: bytes) -> bytes:
        """APPEND one message, the literal after the server's go-ahead; return the answer."""
        self._count += 1
        tag = b"r%d" % self._count
        self._socket.sendall(tag + b" APPEND %s {%d}\r\n" % (mailbox, len(message)))
        if not self._socket.recv(65536).startswith(b"+"):
            raise ConnectionError("the server does not take the message")
        self._socket.sendall(message + b"\r\n")
        answer = b""
        while tag + b" OK" not in answer:
            answer += self._socket.recv(65536) or b"closed"
            if answer.endswith(b"closed"):
                raise ConnectionError("the server closed the connection")
        return answer

    def commands(self, lines: list[bytes], into: BinaryIO | None = None) -> int:
        """Send several commands in one packet and read the answers up to the last tagged line."""
        tags = []
        packet = b""
        for line in lines:
            self._count += 1
            tags.append(b"r%d" % self._count)
            packet += tags[-1] + b" " + line + b"\r\n"
        self._socket.sendall(packet)
        last = b"\r\n" + tags[-1] + b" "
        tail, total = b"\r\n", 0
        while True:
            chunk = self._socket.recv(262144)
            if not chunk:
                raise ConnectionError("the server closed the connection")
            total += len(chunk)
            if into is not None:
                into.write(chunk)
            tail = (tail + chunk)[-4096:] if len(chunk) < 4096 else tail[-64:] + chunk
            place = tail.rfind(last)
            if place >= 0 and tail.endswith(b"\r\n") and b"\r\n" not in tail[place + 2 : -2]:
                return total

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()
