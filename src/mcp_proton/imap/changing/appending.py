"""Putting a message into a mailbox: one APPEND (RFC 9051 §6.3.12), streamed, sent once."""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from mcp_proton.domain.errors import Ambiguous, Invalid, MailError, NotFound, OverLimit, Unsupported
from mcp_proton.domain.mail import VIEWS
from mcp_proton.imap import keys
from mcp_proton.imap.envelopes import message_id as read_id
from mcp_proton.imap.errors import Rejected
from mcp_proton.imap.mailboxes import wire_name
from mcp_proton.imap.protocol.append_command import Append
from mcp_proton.imap.protocol.fetching import Items
from mcp_proton.imap.protocol.uids import UidSet
from mcp_proton.imap.submission import wire_text
from mcp_proton.imap.submission.outbox import append_limit
from mcp_proton.mime.header.headers import Headers, message_ids
from mcp_proton.mime.limits import DEFAULT

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from datetime import datetime

    from mcp_proton.domain.handles import Handle
    from mcp_proton.domain.mail import Mailbox
    from mcp_proton.domain.outgoing import Octets
    from mcp_proton.imap.protocol.codes import AppendUid
    from mcp_proton.imap.protocol.pool import Pool
    from mcp_proton.imap.protocol.session import Session

PATIENCE = 300.0
"""seconds of silence after the last octet: Bridge waits up to 90 s for an equal mail being sent, then imports"""
FULL = frozenset({"OVERQUOTA", "LIMIT"})


class Appending:
    """Appends to the mailboxes of one account."""

    def __init__(self, pool: Callable[[], Pool]) -> None:
        self._pool = pool
        self._last: Mailbox | None = None

    async def append(self, to: Mailbox, mail: Octets, flags: frozenset[str], received: datetime | None) -> Handle:
        """See `MailBackend.append`."""
        await self.check(to, mail)
        async with self._session(to) as session:
            check_size(mail, append_limit(session.capabilities or frozenset()))
            before = None if session.can("UIDPLUS") else await self._uidnext(to)
            place = await self._send(session, to, mail, flags, received)
        if place is not None:
            return keys.handle(to, place.uidvalidity, next(iter(place.uids)))
        return await self._found(to, mail, before or 1)

    async def check(self, to: Mailbox, mail: Octets) -> None:
        """Raise what speaks against it, before anything is sent."""
        check_place(to)
        await check_lines(mail)

    @asynccontextmanager
    async def _session(self, to: Mailbox) -> AsyncIterator[Session]:
        """Any session for the first message into a mailbox; for those that follow, one that has it open."""
        again, self._last = self._last == to, to
        async with AsyncExitStack() as stack:
            opened = self._pool().storing(wire_name(to)) if again else self._pool().session()
            try:
                session = await stack.enter_async_context(opened)
            except NotFound:
                raise _no_destination() from None
            yield session

    async def _send(
        self, session: Session, to: Mailbox, mail: Octets, flags: frozenset[str], received: datetime | None
    ) -> AppendUid | None:
        try:
            [running] = await session.connection.start([Append(wire_name(to), mail, flags, received)], PATIENCE)
            return await session.connection.finish(running)
        except Rejected as refusal:
            raise self.refused(refusal) from refusal

    def refused(self, refusal: Rejected) -> MailError:
        """On a server that keeps to the RFC a NO stores nothing."""
        if refusal.response_code == "TRYCREATE":
            return _no_destination()
        if refusal.response_code == "TOOBIG":
            return OverLimit(
                "the message is larger than the server stores", code="too_large", next="nothing was stored"
            )
        if refusal.response_code in FULL:
            return OverLimit("the account is full", code="over_quota", next="nothing was stored; make room first")
        return refusal

    async def _uidnext(self, to: Mailbox) -> int:
        async with self._pool().reading(wire_name(to)) as box:
            return box.uidnext

    async def _found(self, to: Mailbox, mail: Octets, lowest: int) -> Handle:
        """Without UIDPLUS: the one message since then that bears its Message-ID."""
        wanted = await own_id(mail)
        async with self._pool().writing(wire_name(to)) as box:
            rows = (
                await box.fetch_all(UidSet.since(max(lowest, 1)), Items(envelope=True)) if wanted and box.exists else []
            )
            uids = [row.uid for row in rows if row.envelope and read_id(row.envelope.message_id) == wanted]
            if len(uids) == 1:
                return keys.handle(to, box.uidvalidity, uids[0])
        raise Ambiguous(
            "the message was stored, but the server does not say as which one",
            code="handle_unknown",
            next="it is in that mailbox; look for it there, and do not repeat this",
        )


def _no_destination() -> NotFound:
    return NotFound("the destination is gone", code="no_such_mailbox", next="list mailboxes again")


def check_place(to: Mailbox) -> None:
    """Raise `Unsupported` for a mailbox that shows mail of other places, or none."""
    if to.role in VIEWS or not to.selectable:
        raise Unsupported(
            "this mailbox is no place to put mail into", code="unsupported_semantics", next="nothing was stored"
        )


def check_size(mail: Octets, largest: int | None) -> None:
    """Raise `OverLimit`, with the limit, for a message that is too large."""
    if largest is not None and mail.size > largest:
        raise OverLimit(
            f"the message has {mail.size} octets, and no more than {largest} can be stored here",
            code="too_large",
            next="nothing was stored",
        )


async def check_lines(mail: Octets) -> None:
    """Raise `Invalid` for what is no mail: other line ends than CRLF, NUL, nothing at all."""
    if not mail.size:
        raise Invalid("the message is empty", code="malformed_message")
    await wire_text.needs(mail, longest=None)


async def own_id(mail: Octets) -> str:
    """A message's Message-ID as lists show it; empty where it has none."""
    return next(iter(message_ids((await header(mail)).get("Message-ID"))), "")


async def header(mail: Octets) -> Headers:
    """Its header fields, of the first 256 KiB."""
    block = bytearray()
    async for chunk in mail.chunks():
        block += chunk
        if b"\r\n\r\n" in block or len(block) > DEFAULT.header:
            break
    return Headers(bytes(block))
