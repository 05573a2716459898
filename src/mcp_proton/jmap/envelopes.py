"""Email objects → envelopes (RFC 8621 §4.1). The server decoded the headers; what strangers wrote is not yet neutralised."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_proton.domain.mail import Address, Envelope, Flag
from mcp_proton.jmap import keys
from mcp_proton.jmap.protocol import values

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcp_proton.domain.mail import Mailbox
    from mcp_proton.jmap.protocol.values import Object

PROPERTIES = (
    "id",
    "mailboxIds",
    "keywords",
    "size",
    "receivedAt",
    "sentAt",
    "subject",
    "from",
    "to",
    "cc",
    "bcc",
    "replyTo",
    "messageId",
    "inReplyTo",
    "hasAttachment",
)
_SYSTEM = {f"${flag.value}": flag.value for flag in Flag}
_HIDDEN = frozenset({"$recent", "$hasattachment", "$hasnoattachment"})
"""what servers keep for themselves"""
MOST_ADDRESSES = 1_000


def envelope(mailbox: Mailbox, email: Object) -> Envelope:
    """The envelope of one occurrence."""
    return Envelope(
        handle=keys.handle(mailbox, values.identifier(email.get("id"))),
        subject=values.text(email.get("subject")),
        sender=_addresses(email.get("from")),
        to=_addresses(email.get("to")),
        cc=_addresses(email.get("cc")),
        bcc=_addresses(email.get("bcc")),
        reply_to=_addresses(email.get("replyTo")),
        date=values.instant(email.get("sentAt")),
        received=values.instant(email.get("receivedAt")),
        size=values.number(email.get("size")),
        flags=flags(values.keys_of(email.get("keywords"))),
        message_id=_ids(email.get("messageId"), most=1),
        in_reply_to=_ids(email.get("inReplyTo")),
        has_attachments=email.get("hasAttachment") is True,
    )


def flags(keywords: Iterable[str]) -> frozenset[str]:
    """Keywords in our words: `$seen` is `seen`; others stay."""
    return frozenset(_SYSTEM.get(word.lower(), word) for word in keywords if word.lower() not in _HIDDEN)


def addresses_of(email: Object) -> frozenset[str]:
    """The senders' addresses, in lower case."""
    return frozenset(address.email.lower() for address in _addresses(email.get("from")))


def references(email: Object) -> tuple[str, ...]:
    """The ids of References and In-Reply-To, with their angle brackets."""
    return tuple(dict.fromkeys(f"{_ids(email.get('references'))} {_ids(email.get('inReplyTo'))}".split()))


def _addresses(told: object) -> tuple[Address, ...]:
    if not told:
        return ()
    found = []
    for one in values.sequence(told)[:MOST_ADDRESSES]:
        address = values.mapping(one)
        found.append(Address(values.text(address.get("name")), values.text(address.get("email"))))
    return tuple(found)


def _ids(told: object, most: int = 100) -> str:
    """Message ids with their angle brackets, as the header has them."""
    return "" if not told else " ".join(f"<{values.text(one)}>" for one in values.sequence(told)[:most])
