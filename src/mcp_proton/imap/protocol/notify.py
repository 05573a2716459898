"""NOTIFY (RFC 5465): the server tells of many mailboxes on one connection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_proton.imap.protocol.asks import Plain
from mcp_proton.imap.protocol.writer import Atom, MailboxName, line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_proton.imap.protocol.writer import Argument

OVERFLOW = "NOTIFICATIONOVERFLOW"
"""the code with which a server says that it tells nothing any more (§5.8)"""
_MESSAGES = tuple(map(Atom, ("MessageNew", "MessageExpunge", "FlagChange")))


class Notify(Plain):
    """NOTIFY SET for messages and flags in the open mailbox and in those named; None: in all, and what becomes of those."""

    def __init__(self, names: Sequence[str | bytes] | None) -> None:
        events: list[Argument] = [[Atom("SELECTED"), list(_MESSAGES)]]
        if names is None:
            events.append([Atom("PERSONAL"), [*_MESSAGES, Atom("MailboxName")]])
        elif names:
            events.append([Atom("MAILBOXES"), [MailboxName(name) for name in names], list(_MESSAGES)])
        super().__init__("NOTIFY", line(Atom("NOTIFY"), Atom("SET"), *events))


class NotifyNone(Plain):
    """NOTIFY NONE."""

    def __init__(self) -> None:
        super().__init__("NOTIFY", line(Atom("NOTIFY"), Atom("NONE")))
