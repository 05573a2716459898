"""A blocking IMAP client that can do one thing: log in and APPEND many messages, a batch in one round trip.

Independent of the client under test on purpose: what it loads is what the tests expect to find.
"""

from __future__ import annotations

import itertools
import socket
from typing import TYPE_CHECKING

from tests.canaries import words

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType

    from tests.servers.mail import Mail

_BATCH = 200


class AppendRefusedError(RuntimeError):
    """The server answered NO or BAD; the message is its answer."""


class Appender:
    """A logged-in connection in the clear. Needs LITERAL+ (RFC 7888) and MULTIAPPEND (RFC 3502)."""

    def __init__(self, host: str, port: int, username: str, password: str) -> None:
        self._socket = socket.create_connection((host, port), timeout=120)
        self._lines = self._socket.makefile("rb")
        self._tags = itertools.count(1)
        try:
            self._lines.readline()
            self.command(b"LOGIN ", _quoted(username), b" ", _quoted(password))
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Appender:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._lines.close()
        self._socket.close()

    def command(self, *parts: bytes) -> list[bytes]:
        """Send one command; return the lines before its tagged OK."""
        tag = b"a%d" % next(self._tags)
        self._socket.sendall(b"".join((tag, b" ", *parts, b"\r\n")))
        answer: list[bytes] = []
        while True:
            line = self._lines.readline()
            if not line:
                raise AppendRefusedError("the server closed the connection")
            if line.startswith(tag + b" "):
                break
            answer.append(line)
        if not line.startswith(tag + b" OK"):
            raise AppendRefusedError(line.decode(errors="replace").strip())
        return answer

    def ensure_mailbox(self, name: str) -> None:
        """Create `name` unless it is there."""
        if not any(line.startswith(b"* LIST ") for line in self.command(b'LIST "" ', _quoted(name))):
            self.command(b"CREATE ", _quoted(name))

    def messages(self, mailbox: str) -> int:
        """How many messages a mailbox holds."""
        (line,) = self.command(b"STATUS ", _quoted(mailbox), b" (MESSAGES)")
        return int(line.rpartition(b"MESSAGES ")[2].split(b")")[0])

    def append(self, mailbox: str, mails: Iterable[Mail]) -> int:
        """APPEND in the order given; return how many."""
        count = 0
        waiting = iter(mails)
        while batch := list(itertools.islice(waiting, _BATCH)):
            self.command(b"APPEND ", _quoted(mailbox), *(piece for mail in batch for piece in _message(mail)))
            count += len(batch)
        return count


def _message(mail: Mail) -> tuple[bytes, ...]:
    words.plant_mail(mail.raw)
    flags = " ".join(mail.flags).encode()
    arrived = mail.arrived.strftime("%d-%b-%Y %H:%M:%S %z").encode()
    return b' (%b) "%b" {%d+}\r\n' % (flags, arrived, len(mail.raw)), mail.raw


def _quoted(text: str) -> bytes:
    if not text.isascii():
        raise ValueError(f"give mailbox names in modified UTF-7: {text!r}")
    return b'"%b"' % text.replace("\\", "\\\\").replace('"', '\\"').encode()
