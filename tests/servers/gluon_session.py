"""A client's session on the engine, and the questions tests ask of it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.servers.append import Appender, AppendRefusedError

if TYPE_CHECKING:
    from tests.servers.gluon_server import Gluon

_UID = re.compile(rb"\bUID (\d+)")


class Session(Appender):
    """A logged-in session, in the clear; `command` is Appender's: the lines before OK, AppendRefusedError for NO."""

    def __enter__(self) -> Session:
        return self

    def append_message(self, mailbox: str, raw: bytes, flags: str = "") -> bytes:
        """APPEND with a synchronizing literal, the only kind there is; returns the tagged answer, whatever it is."""
        raw = raw.replace(b"\n", b"\r\n")
        self._socket.sendall(f"z APPEND {mailbox} ({flags}) {{{len(raw)}}}\r\n".encode())
        answer = self._lines.readline()
        if answer.startswith(b"+"):
            self._socket.sendall(raw + b"\r\n")
        while not answer.startswith(b"z "):
            answer = self._lines.readline()
            if not answer:
                raise AppendRefusedError("the server closed the connection")
        return answer

    def every_line_of(self, command: bytes) -> list[bytes]:
        """All that comes back, the tagged line last, whatever it says."""
        lines = [self.first_line_of(command)]
        while lines[-1] and not lines[-1].startswith(b"y "):
            lines.append(self._lines.readline())
        return lines

    def first_line_of(self, command: bytes) -> bytes:
        """The first line that comes back, tagged or not."""
        self._socket.sendall(b"y " + command + b"\r\n")
        return self._lines.readline()


def login(gluon: Gluon, selected: str = "") -> Session:
    """A session, with a mailbox selected or none."""
    made = Session(gluon.host, gluon.imap_port, gluon.username, gluon.password)
    if selected:
        made.command(f'SELECT "{selected}"'.encode())
    return made


def shown(gluon: Gluon, mailbox: str) -> list[tuple[int, str]]:
    """UID and subject of each message that a fresh session finds in a mailbox."""
    with login(gluon) as session:
        session.command(f'EXAMINE "{mailbox}"'.encode())
        # The UID last and the header before it, in whatever order the messages come.
        text = b"".join(session.command(b"UID FETCH 1:* (BODY.PEEK[HEADER.FIELDS (SUBJECT)])"))
    subjects = [line[9:].strip().decode() for line in text.splitlines() if line.startswith(b"Subject: ")]
    return sorted(zip(map(int, _UID.findall(text)), subjects, strict=True))


def subjects(gluon: Gluon, mailbox: str) -> set[str]:
    """The subjects in a mailbox."""
    return {subject for _, subject in shown(gluon, mailbox)}


def places(gluon: Gluon, key: str) -> set[str]:
    """Where a message truly is, but for All Mail."""
    return set(gluon.state()[key]["in"]) - {"All Mail"}


def uidvalidity(gluon: Gluon) -> int:
    """INBOX's UIDVALIDITY."""
    with login(gluon) as session:
        (line,) = session.command(b"STATUS INBOX (UIDVALIDITY)")
    return int(line.rpartition(b"UIDVALIDITY ")[2].split(b")")[0])
