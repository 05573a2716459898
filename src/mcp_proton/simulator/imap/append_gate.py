"""What Bridge looks at before it takes an appended text (facts 6.1, 6.5)."""

from __future__ import annotations

import re
from email import policy
from email.parser import BytesHeaderParser
from typing import TYPE_CHECKING

from mcp_proton.simulator.imap.answers import Misuse, Refusal
from mcp_proton.simulator.texts.address_faults import fault_text
from mcp_proton.simulator.texts.addresses import AddressError, parse_addresses

if TYPE_CHECKING:
    from email.message import Message as Headers

    from mcp_proton.simulator.texts.parts import Content


def gate(literal: bytes) -> None:
    """What a text must have to go anywhere but to Drafts; raises Misuse."""
    found = headers(literal)
    for field in ("Date", "From"):
        _require(found, field)
    try:
        count = len(parse_addresses(str(found["From"])))
    except AddressError:
        text = fault_text(str(found["From"]))
        raise Misuse(f"invalid rfc5322 message: failed to parse From header: {text}") from None
    if count > 1:
        _require(found, "Sender")


def _require(found: Headers, field: str) -> None:
    value = found[field]
    if value is None or not str(value).strip():
        raise Misuse(f"invalid rfc5322 message: Required header field '{field}' not found or empty")


def check_recipients(literal: bytes) -> None:
    """To, Cc and Bcc must parse; raises Refusal."""
    found = headers(literal)
    for field in ("To", "Cc", "Bcc"):
        value = str(found[field] or "")
        try:
            parse_addresses(value)
        except AddressError:
            raise Refusal(
                "failed to retrieve addresses from literal:"
                f"failed to parse addresses for '{field}': {fault_text(value)}"
            ) from None


def without_files(literal: bytes, content: Content) -> bytes:
    """The draft as it is on the server before its attachments are uploaded."""
    head = literal.partition(b"\r\n\r\n")[0]
    fields = re.split(rb"\r\n(?![ \t])", head)
    kept = [field for field in fields if not re.match(rb"(?i)content-|mime-version", field)]
    kept.append(f"Content-Type: {content.media_type}; charset=utf-8".encode())
    return b"\r\n".join(kept) + b"\r\n\r\n" + content.body


def headers(literal: bytes) -> Headers:
    """The header of a text."""
    return BytesHeaderParser(policy=policy.compat32).parsebytes(literal.partition(b"\r\n\r\n")[0] + b"\r\n\r\n")
