"""Putting a message into a mailbox of Bridge, without doubles and without losing another (procedure 4 of what was measured).

APPEND is not always an import there. A text that names a message Bridge has (`X-Pm-Gluon-Id`) or that equals mail sent in
the last half hour moves that message, and is thrown away itself; into Drafts it makes a ghost whose removal destroys
the sent mail. Such a text is refused before anything is sent, and what came of any other is looked at afterwards.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_proton.bridge.changing.occurrences import PLACES
from mcp_proton.bridge.handing_over import admission, resend
from mcp_proton.domain.errors import Ambiguous, Conflict, Invalid, MailError, OverLimit, Unsupported
from mcp_proton.domain.mail import Flag, Role
from mcp_proton.imap import keys
from mcp_proton.imap.changing.appending import Appending, check_size, own_id
from mcp_proton.imap.mailboxes import wire_name
from mcp_proton.imap.protocol.fetching import Items
from mcp_proton.mime.header.headers import message_ids

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from mcp_proton.bridge.handing_over.departed import Departed
    from mcp_proton.bridge.handing_over.sent_lately import SentLately
    from mcp_proton.domain.handles import Handle
    from mcp_proton.domain.mail import Mailbox
    from mcp_proton.domain.outgoing import Octets
    from mcp_proton.imap.errors import Rejected
    from mcp_proton.imap.protocol.pool import Pool
    from mcp_proton.mime.header.headers import Headers

LARGEST = 22_000_000
"""octets: encrypted and armoured, more than this is over Proton's 30 MiB"""
KEPT = frozenset({Flag.SEEN, Flag.FLAGGED, Flag.ANSWERED})
"""flags an import keeps; others are gone with the next event"""
LOOK = Items(envelope=True)
"""what Bridge answers from its database: a section would have it read the whole message again"""


class BridgeAppending(Appending):
    """`departed` remembers what this process sent, `sent_lately` looks at what Sent shows of others."""

    def __init__(self, pool: Callable[[], Pool], departed: Departed, sent_lately: SentLately) -> None:
        super().__init__(pool)
        self._departed, self._sent_lately = departed, sent_lately

    async def append(self, to: Mailbox, mail: Octets, flags: frozenset[str], received: datetime | None) -> Handle:
        """The date is not sent: Bridge takes that of the Date header (B-06)."""
        kept = KEPT | {Flag.DRAFT, Flag.SEEN} if to.role is Role.DRAFTS else KEPT
        handle = await super().append(to, mail, flags & kept, None)
        await self._look_at(handle, to, mail)
        return handle

    async def check(self, to: Mailbox, mail: Octets) -> None:
        """Raise what speaks against it, before anything is sent."""
        check_place(to)
        check_size(mail, LARGEST)
        await super().check(to, mail)
        content = await resend.read(mail)
        admission.check_whole(content)
        check_header(to, content.header)
        if content.header.get("X-Pm-Gluon-Id") is not None:
            raise already_there("it names a message that Bridge may have, and would move that one instead")
        if self._departed.holds(content.key) or await self._sent_lately.holds(content):
            raise already_there("it equals a mail sent in the last half hour, and Bridge would move that one instead")

    def refused(self, refusal: Rejected) -> MailError:
        """NO need not mean that nothing was stored; only what Bridge says before it asks Proton is sure."""
        if refusal.answer == "BAD":
            return Invalid(
                "Bridge does not take this for a message", code="malformed_message", next="nothing was stored"
            )
        if refusal.response_code == "TRYCREATE":
            return super().refused(refusal)
        if "message size exceeds limits" in refusal.server_text or "exceeds maximum import size" in refusal.server_text:
            return OverLimit("the message is larger than Proton stores", code="too_large", next="nothing was stored")
        return Ambiguous(
            "Bridge refused to store the message, and that need not mean that Proton has not; a copy may lie in its "
            "mailbox Recovered Messages, which nothing clears but you"
        )

    async def _look_at(self, handle: Handle, to: Mailbox, mail: Octets) -> None:
        """Raise `Ambiguous` when what is there now is not what was put there."""
        uidvalidity, uid = keys.read(handle.key)
        async with self._pool().writing(wire_name(to), uidvalidity=uidvalidity) as box:
            rows = await box.fetch_all([uid], LOOK)
        given = await own_id(mail)
        shown = rows[0].envelope if rows else None
        if shown is not None and given and next(iter(message_ids(shown.message_id)), "") != given:
            raise Ambiguous(
                "Bridge put another message there than the one it was given",
                code="another_message",
                next="look into that mailbox and into Sent; nothing is repeated or deleted by itself",
            )


def check_place(to: Mailbox) -> None:
    """Raise `Unsupported` for what is no place of a message: an import there would be an orphan, or not be at all."""
    if to.role not in PLACES:
        raise Unsupported(
            f"a mailbox of the role `{to.role.value}` is no place to put mail into",
            code="unsupported_semantics",
            next="nothing was stored; choose INBOX, Sent, Drafts, Archive, Trash, Spam or a folder",
        )


def check_header(to: Mailbox, header: Headers) -> None:
    """Raise `Invalid` for a header that Bridge's gate refuses."""
    if to.role is Role.DRAFTS:
        return
    if not (header.get("Date") or b"").strip():
        raise Invalid("the message has no Date", code="malformed_message", next="nothing was stored; add one")
    if not admission.people(header, "From"):
        raise Invalid("the message has no From that can be read", code="malformed_message", next="nothing was stored")


def already_there(why: str) -> Conflict:
    """The error for a text that would not become a message of its own."""
    return Conflict(why, code="already_there", next="nothing was stored; the message itself is where it was")
