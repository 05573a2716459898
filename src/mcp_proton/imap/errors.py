"""Where the faults of sockets, TLS and timers become ours; no other module of this package turns one into another.

    Unavailable
    ├─ ConnectionLost      it ended, or could not be made
    ├─ TimedOut            the server stayed silent longer than a busy server may
    ├─ Busy                every connection is in use, or the account is being closed
    └─ ProtocolViolation   an answer no mail server may give · LimitExceeded: more than we are ready to hold
    Rejected               a tagged NO or BAD · RejectedForNow: its code says that it will pass
    Rebuilt (Stale)        the mailbox has another UIDVALIDITY: its UIDs name nothing any more

A server's own words never enter a message (they hold URLs, paths and echoed passwords); `Rejected.server_text`
keeps them, shortened and printable, for a log the owner asks for.
"""

from __future__ import annotations

import re
import socket
import ssl
from contextlib import contextmanager
from typing import TYPE_CHECKING

from mcp_proton.domain.errors import MailError, Stale, Unavailable, Untrusted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp_proton.imap.protocol.codes import Code, CodeValue

SERVER_TEXT_KEPT = 200
_UNPRINTABLE = re.compile(r"[^\x20-\x7e\xa0-\U0010ffff]|[\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
_PASSING = frozenset({"UNAVAILABLE", "INUSE", "SERVERBUG", "LIMIT"})  # RFC 5530


class ConnectionLost(Unavailable):
    """The connection ended or could not be made; nothing is known to have been done by the command under way."""

    code = "connection_lost"


class TimedOut(Unavailable):
    """The server did not answer in time. The connection is closed: what it would still have said is unknown."""

    code = "timed_out"


class Busy(Unavailable):
    """No connection of the account became free in time, or the account is being closed."""

    code = "account_busy"


class ProtocolViolation(Unavailable):
    """The server said something that is not IMAP; the connection is closed, since nothing after it can be trusted."""

    code = "bad_server_answer"


class LimitExceeded(ProtocolViolation):
    """The server sent more than this client is ready to hold (a line, a literal, answers nobody asked for)."""

    code = "server_limit_exceeded"


class Rejected(MailError):
    """A tagged NO or BAD. `answer` is that word, `response_code` the bracketed one (upper case) or None, `value` what
    that one says (`codes.Code`)."""

    code = "server_refused"

    def __init__(
        self, command: str, answer: str, response_code: str | None, text: bytes, value: CodeValue = None
    ) -> None:
        super().__init__(f"the mail server refused `{command}`")
        self.command = command
        self.answer = answer
        self.response_code = response_code
        self.value = value
        self.server_text = printable(text)


class RejectedForNow(Rejected):
    """A refusal whose response code says that it will pass (RFC 5530: UNAVAILABLE, INUSE, LIMIT, …)."""

    retry = True


class Rebuilt(Stale):
    """The mailbox was rebuilt: `uidvalidity` is the new one, and every UID known from before is void."""

    def __init__(self, uidvalidity: int) -> None:
        super().__init__("the mailbox was rebuilt by the server, so its older handles point at nothing")
        self.uidvalidity = uidvalidity


def gone() -> Stale:
    """The error for a handle whose message is not in its mailbox any more."""
    return Stale("this handle no longer points at a message")


def rejection(command: str, answer: str, code: Code | None, text: bytes) -> Rejected:
    """The error for a tagged NO or BAD."""
    if code is None:
        return Rejected(command, answer, None, text)
    kind = RejectedForNow if code.name in _PASSING else Rejected
    return kind(command, answer, code.name, text, code.value)


def printable(text: bytes) -> str:
    """A server's words made harmless for a log line: one line, printable, at most 200 characters."""
    return _UNPRINTABLE.sub("·", text[: SERVER_TEXT_KEPT * 4].decode("utf-8", "replace"))[:SERVER_TEXT_KEPT]


@contextmanager
def border(doing: str) -> Iterator[None]:
    """Inside, faults of sockets, TLS and timers become ours; `doing` ends the sentence "… while …"."""
    try:
        yield
    except (OSError, EOFError) as error:  # ssl.SSLError, socket.gaierror and TimeoutError are OSErrors
        raise ours(error, doing) from error


@contextmanager
def smtp_border(doing: str) -> Iterator[None]:
    """The same for a conversation by SMTP: an answer that is none, or is too long, is a `ProtocolViolation`."""
    from aiosmtplib.errors import SMTPException  # here, since most processes never send

    try:
        with border(doing):
            yield
    except SMTPException as error:
        raise ProtocolViolation(f"what the mail server said is no answer, while {doing}") from error


def ours(error: Exception | None, doing: str) -> MailError:
    """Our error for a foreign one; None is an orderly end of the connection."""
    match error:
        case MailError():
            return error
        case None | EOFError():
            return ConnectionLost(f"the mail server closed the connection while {doing}")
        case ssl.SSLCertVerificationError():
            return Untrusted(f"the mail server's certificate is not trusted ({error.verify_message})")
        case ssl.SSLError():
            return ConnectionLost(f"no TLS could be agreed on while {doing}", code="tls_failed")
        case TimeoutError():
            return TimedOut(f"the mail server did not answer while {doing}")
        case ConnectionRefusedError():
            return ConnectionLost(f"nothing listens there while {doing}", code="connection_refused")
        case socket.gaierror():
            return ConnectionLost(f"the host name is unknown while {doing}", code="host_unknown")
        case _:
            return ConnectionLost(f"the connection broke while {doing}")
