"""ENVELOPE (RFC 9051 §7.5.2) as frozen values. Text stays bytes as sent: decoding encoded words is `mime`'s work.

Never an error: a short envelope has None and () where fields are missing, a field of the wrong shape counts as absent.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from mcp_proton.imap.protocol.remembering import Remembered
from mcp_proton.imap.protocol.tokens import QUOTED, Node, unquoted

if TYPE_CHECKING:
    from collections.abc import Sequence


class Address(NamedTuple):
    """One correspondent. `group` is the group's name for its members; an empty group is one address of only that."""

    name: bytes | None
    mailbox: bytes | None
    host: bytes | None
    group: bytes | None = None


class Envelope(NamedTuple):
    """A message's summary as the server keeps it."""

    date: bytes | None = None
    subject: bytes | None = None
    from_: tuple[Address, ...] = ()
    sender: tuple[Address, ...] = ()
    reply_to: tuple[Address, ...] = ()
    to: tuple[Address, ...] = ()
    cc: tuple[Address, ...] = ()
    bcc: tuple[Address, ...] = ()
    in_reply_to: bytes | None = None
    message_id: bytes | None = None


_TEXT = rb"(" + QUOTED + rb"|NIL)"
_ADDRESS = rb"\((?:" + QUOTED + rb"|NIL)(?: (?:" + QUOTED + rb"|NIL)){3}\)"
_ADDRESSES = rb"NIL|\((?:" + _ADDRESS + rb" ?)++\)"
_LIKE_FROM = rb"((?P=from)|" + _ADDRESSES + rb")"  # sender and reply-to mostly repeat it
COMMON = (
    rb"\(" + _TEXT + rb" " + _TEXT + rb" (?P<from>" + _ADDRESSES + rb") " + _LIKE_FROM + rb" " + _LIKE_FROM
    + (rb" (" + _ADDRESSES + rb")") * 3 + rb" " + _TEXT + rb" " + _TEXT + rb"\)"
)  # fmt: skip
"""The usual spelling of an envelope: ten groups, no literal, single blanks."""

_FOUR = re.compile(rb"\(" + _TEXT + rb" (?:" + QUOTED + rb"|NIL) " + _TEXT + rb" " + _TEXT + rb"\)")


def text(span: bytes) -> bytes | None:
    """The value of a quoted string or NIL."""
    if span == b"NIL":
        return None
    return unquoted(span) if b"\\" in span else span[1:-1]


def addresses(span: bytes) -> tuple[Address, ...]:
    """From an address list in its usual spelling."""
    if span == b"NIL":
        return ()
    return _grouped([Address(text(name), text(mailbox), text(host)) for name, mailbox, host in _FOUR.findall(span)])


class EnvelopeReader:
    """Reads the envelopes of one connection."""

    def __init__(self) -> None:
        self._addresses = Remembered(addresses)

    def common(self, spans: Sequence[bytes]) -> Envelope:
        """From the ten groups of COMMON."""
        date, subject, from_, sender, reply_to, to, cc, bcc, in_reply_to, message_id = spans
        people = self._addresses
        return Envelope(
            text(date),
            text(subject),
            people[from_],
            people[sender],
            people[reply_to],
            people[to],
            people[cc],
            people[bcc],
            text(in_reply_to),
            text(message_id),
        )


def from_nodes(node: Node) -> Envelope | None:
    """From a parsed list, however spelled; None if it is no list."""
    if not isinstance(node, list):
        return None
    fields = [*node[:10], *[None] * (10 - len(node))]
    from_, sender, reply_to, to, cc, bcc = map(_address_nodes, fields[2:8])
    date, subject, in_reply_to, message_id = (_word(fields[place]) for place in (0, 1, 8, 9))
    return Envelope(date, subject, from_, sender, reply_to, to, cc, bcc, in_reply_to, message_id)


def _word(node: Node) -> bytes | None:
    return node if isinstance(node, bytes) else None


def _address_nodes(node: Node) -> tuple[Address, ...]:
    if not isinstance(node, list):
        return ()
    parts = []
    for entry in node:
        if isinstance(entry, list) and entry:
            name, _route, mailbox, host = [_word(field) for field in [*entry, None, None, None][:4]]
            parts.append(Address(name, mailbox, host))
    return _grouped(parts)


def _grouped(parts: list[Address]) -> tuple[Address, ...]:
    """Group markers (no name, no host) turned into each member's `group` (RFC 9051 §2.3.5)."""
    if all(part.host or part.name for part in parts):
        return tuple(parts)
    found: list[Address] = []
    group: bytes | None = None
    members = 0
    for part in [*parts, Address(None, None, None)]:
        if part.host or part.name:
            found.append(part._replace(group=group))
            members += 1
        elif part.mailbox is not None or group is not None:
            if group is not None and not members:
                found.append(Address(None, None, None, group))
            group, members = part.mailbox, 0
    return tuple(found)
