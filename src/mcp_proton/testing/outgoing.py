"""The outgoing half of a `MemoryAccount`: what left, what is refused, and how answers get lost, each by a switch."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from mcp_proton.domain.errors import Ambiguous, Invalid, OverLimit, Unavailable
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.mail import Identity, Role
from mcp_proton.domain.outgoing import Accepted, Capacity, Delivery, Octets, Repetition, Submission, Trace
from mcp_proton.imap.submission import mail_paths
from mcp_proton.testing.boxes import envelope_of, handle_of, identity_of

if TYPE_CHECKING:
    from mcp_proton.testing.account import MemoryAccount

CHUNK = 65_536


class OutgoingFault(StrEnum):
    """What goes wrong: nobody is reached, all is refused, the answer is lost before or after the mail was taken."""

    UNAVAILABLE = "unavailable"
    REFUSED = "refused"
    LOST_BEFORE = "lost_before"
    LOST_AFTER = "lost_after"


@dataclass(frozen=True, slots=True)
class SentMail:
    """A mail that left, as the world got it: `recipients` are those that were accepted."""

    sender: str
    recipients: tuple[str, ...]
    raw: bytes


class MemoryOctets:
    """A message held in memory, as `Octets`."""

    def __init__(self, raw: bytes) -> None:
        self.raw = raw

    @property
    def size(self) -> int:
        """How many octets there are."""
        return len(self.raw)

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield them in chunks of 64 KiB."""
        for start in range(0, len(self.raw), CHUNK):
            yield self.raw[start : start + CHUNK]


class MemoryOutgoing:
    """The power to send of a `MemoryAccount`, and the switches of its tests.

    `sent` is all that left. `fault` is how every submission goes wrong while it is set, `append_fault` every append.
    `refused` are recipients the server does not take. `files_sent`: the server files a copy into Sent by itself, at once
    or (`lagging`) when `catch_up` is called; until then nothing is `settled`. `swallows`: a mail equal but for Message-ID
    and Date is answered as taken and dropped, until `earlier` is emptied. `anchors`: messages have a reference of the
    server's own. `present`: there is a power to send at all.
    """

    def __init__(self, account: MemoryAccount) -> None:
        self._account = account
        self._waiting: list[bytes] = []
        self.sent: list[SentMail] = []
        self.earlier: set[str] = set()
        self.fault: OutgoingFault | None = None
        self.append_fault: OutgoingFault | None = None
        self.refused: set[str] = set()
        self.identities = [Identity(f"{account.name}@example.org", account.name.title())]
        self.limits = Capacity()
        self.files_sent = False
        self.lagging = False
        self.swallows = False
        self.anchors = False
        self.present = True

    @property
    def marks_answered(self) -> bool:
        """As Bridge and Gmail: where it files it marks."""
        return self.files_sent

    def catch_up(self) -> None:
        """Let the copies of what was sent while `lagging` appear in Sent."""
        self.lagging = False
        for raw in self._waiting:
            self._file(raw)
        self._waiting.clear()

    async def capacity(self) -> Capacity:
        """As switched."""
        self._account.calls.append("capacity")
        return self.limits

    async def anchor(self, handle: Handle) -> str | None:
        """A reference made of the message's digest, where the server has such a thing."""
        self._account.calls.append("anchor")
        stored = self._account.find(handle)
        return f"<{identity_of(stored)}@memory.internalid>" if self.anchors else None

    async def repetition(self, recipients: Sequence[str], mail: Octets) -> Repetition | None:
        """What a swallowing server compares."""
        self._account.calls.append("repetition")
        if not self.swallows:
            return None
        return Repetition(_key(recipients, await _whole(mail)), timedelta(minutes=30))

    async def submit(self, sender: str, recipients: Sequence[str], mail: Octets) -> Submission:
        """Take the mail, or do what is switched."""
        self._account.calls.append("submit")
        if self.fault is OutgoingFault.UNAVAILABLE:
            raise Unavailable("the mail server cannot be reached")
        try:
            for address in (sender, *recipients):
                mail_paths.check(address)
        except Invalid as error:
            return Submission(Delivery.NOT_SENT, code=error.code, why=error.message)
        if self.limits.submit is not None and mail.size > self.limits.submit:
            return Submission(Delivery.NOT_SENT, code="too_large", why=f"the limit is {self.limits.submit} octets")
        if sender.lower() not in {one.email.lower() for one in self.identities}:
            return Submission(Delivery.NOT_SENT, code="sender_refused", why="this account may not send as that address")
        told = tuple(_answer(one, refused=self._refuses(one)) for one in recipients)
        taken = tuple(one.recipient for one in told if one.accepted)
        if not taken:
            return Submission(Delivery.NOT_SENT, told, "recipients_refused", "no recipient was accepted")
        lost = Submission(Delivery.UNKNOWN, told, "answer_lost", "the connection ended before the answer")
        if self.fault is OutgoingFault.LOST_BEFORE:
            return lost
        raw = await _whole(mail)
        self._leave(SentMail(sender, taken, raw), _key(recipients, raw))
        return lost if self.fault is OutgoingFault.LOST_AFTER else Submission(Delivery.ACCEPTED, told)

    async def trace(self, message_id: str, since: datetime) -> Trace:
        """Look through Sent and Drafts."""
        self._account.calls.append("trace")
        found: dict[Role, list[Handle]] = {Role.SENT: [], Role.DRAFTS: []}
        for box in self._account.boxes.values():
            for stored in box.mail.values():
                if box.mailbox.role in found and envelope_of(box, stored).message_id == message_id:
                    found[box.mailbox.role].append(handle_of(box, stored))
        sent = found[Role.SENT]
        return Trace(sent[-1] if sent else None, tuple(found[Role.DRAFTS]), settled=not self.lagging)

    @asynccontextmanager
    async def appending(self, mail: Octets) -> AsyncIterator[bytes]:
        """Give the octets to be stored, and go wrong before or after that, as switched."""
        if self.append_fault is OutgoingFault.UNAVAILABLE:
            raise Unavailable("the mail server cannot be reached")
        if self.append_fault is OutgoingFault.REFUSED:
            raise Unavailable("the server did not take the message", code="refused_by_server")
        if self.limits.append is not None and mail.size > self.limits.append:
            raise OverLimit(f"the message is too large: the limit is {self.limits.append} octets", code="too_large")
        if self.append_fault is OutgoingFault.LOST_BEFORE:
            raise Ambiguous("the connection was lost before the answer")
        yield await _whole(mail)
        if self.append_fault is OutgoingFault.LOST_AFTER:
            raise Ambiguous("the connection was lost before the answer")

    def _refuses(self, recipient: str) -> bool:
        return self.fault is OutgoingFault.REFUSED or recipient in self.refused

    def _leave(self, mail: SentMail, key: str) -> None:
        if self.swallows and key in self.earlier:
            return
        self.earlier.add(key)
        self.sent.append(mail)
        if self.files_sent and self.lagging:
            self._waiting.append(mail.raw)
        elif self.files_sent:
            self._file(mail.raw)

    def _file(self, raw: bytes) -> None:
        sent = next(path for path, box in self._account.boxes.items() if box.mailbox.role is Role.SENT)
        self._account.add(sent, raw, flags=frozenset({"seen"}))


def _answer(recipient: str, *, refused: bool) -> Accepted:
    return Accepted(recipient, accepted=not refused, code=550 if refused else 250, why="refused" if refused else "ok")


def _key(recipients: Sequence[str], raw: bytes) -> str:
    head, _, body = raw.partition(b"\r\n\r\n")
    lines = [one for one in head.split(b"\r\n") if not one.lower().startswith((b"message-id:", b"date:"))]
    named = "\n".join(sorted(recipients)).encode()
    return hashlib.sha256(b"\n".join([named, *lines, b"", body])).hexdigest()


async def _whole(mail: Octets) -> bytes:
    return b"".join([chunk async for chunk in mail.chunks()])
