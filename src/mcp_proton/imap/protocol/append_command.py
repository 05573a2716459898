"""APPEND (RFC 9051 §6.3.12): the command, and its message piece by piece, never held as a whole.

A literal that is not small waits for the server's go-ahead, so that a refusal costs no upload. The last octets go
together with the end of the command: a message that was not sent to its end is not stored.
"""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING, Any

from mcp_proton.domain.errors import Defect, Invalid
from mcp_proton.imap.protocol.asks import Ask, Done
from mcp_proton.imap.protocol.codes import AppendUid
from mcp_proton.imap.protocol.flags import theirs
from mcp_proton.imap.protocol.writer import Atom, MailboxName, Verbatim, line

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from datetime import datetime

    from mcp_proton.domain.outgoing import Octets
    from mcp_proton.imap.protocol.writer import Argument

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


class Append(Ask["AppendUid | None"]):
    """Yields where the message went, if the server says so (UIDPLUS)."""

    changes = True

    def __init__(self, name: str | bytes, mail: Octets, flags: frozenset[str], received: datetime | None) -> None:
        words: list[Argument] = [Atom("APPEND"), MailboxName(name)]
        if flags:
            words.append([Atom(theirs(flag)) for flag in sorted(flags)])
        if received is not None:
            words.append(Verbatim(date_time(received)))
        super().__init__("APPEND", line(*words, Verbatim(b"{%d}" % mail.size)))
        self.body = mail

    def result(self, done: Done) -> AppendUid | None:
        code = done.code
        return code.value if code is not None and isinstance(code.value, AppendUid) else None


async def pieces(ask: Ask[Any], mail: Octets) -> AsyncIterator[bytes]:
    """Yield the octets, the last of them with the end of the command. `Defect` when they are not as many as announced."""
    left, held = mail.size, b""
    async for chunk in mail.chunks():
        if held:
            yield held
        left, held = left - len(chunk), chunk
        if left < 0:
            break
    if left:
        raise Defect("a message has not the size it was announced with")
    ask.body_sent = True
    yield held + b"\r\n"


def date_time(moment: datetime) -> bytes:
    """A moment as IMAP writes it, in UTC. `Invalid` for years that have not four digits."""
    utc = moment.astimezone(UTC)
    if utc.year < 1000:
        raise Invalid("the date received is too long ago", code="invalid_date")
    return f'"{utc.day:2}-{_MONTHS[utc.month - 1]}-{utc.year} {utc:%H:%M:%S} +0000"'.encode()
