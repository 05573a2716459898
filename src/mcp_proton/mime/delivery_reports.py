"""Delivery reports (RFC 3464, RFC 6522) → what became of which recipient. Never raises; a report is a stranger's claim."""

from __future__ import annotations

import re
from dataclasses import dataclass

from mcp_proton.mime.header.headers import Headers, message_ids

MOST_RECIPIENTS = 100
_BLANK = re.compile(rb"\r?\n[ \t]*\r?\n")
_STATUS = re.compile(r"[245]\.\d{1,3}\.\d{1,3}")
_ACTIONS = frozenset({"failed", "delayed", "delivered", "relayed", "expanded"})


@dataclass(frozen=True, slots=True)
class Reported:
    """What was reported of one recipient. `action` is one of RFC 3464 §2.3.3, `status` an enhanced code or empty."""

    recipient: str
    action: str
    status: str


def reported(body: bytes) -> tuple[Reported, ...]:
    """Read the body of a `message/delivery-status` part: a group of fields on the message, then one for each recipient."""
    found = []
    for group in _BLANK.split(body.strip())[: MOST_RECIPIENTS + 1]:
        fields = Headers(group.strip() + b"\r\n\r\n")
        recipient = _address(fields.text("Final-Recipient") or fields.text("Original-Recipient"))
        action = fields.text("Action").strip().lower()
        if recipient and action in _ACTIONS:
            status = _STATUS.search(fields.text("Status"))
            found.append(Reported(recipient, action, status[0] if status else ""))
    return tuple(found)


def reported_id(header: bytes) -> str | None:
    """Return the Message-ID in the header of the message that a report is about."""
    return next(iter(message_ids(Headers(header).get("Message-ID"))), None)


def _address(text: str) -> str:
    """Return the address of `rfc822; a@b` (RFC 3464 §2.3.2)."""
    return text.rpartition(";")[2].strip().strip("<>").casefold()
