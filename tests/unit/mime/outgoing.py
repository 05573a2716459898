"""Letters as the tests write them, and the octets they become."""

from __future__ import annotations

import email
import email.policy
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from email.header import decode_header, make_header
from email.message import EmailMessage
from email.utils import getaddresses
from typing import Any

from mcp_proton.domain.mail import Address
from mcp_proton.domain.outgoing import Enclosure, Letter
from mcp_proton.mime.composing.compose import compose
from mcp_proton.mime.composing.enclosing import Slot, SlotEncoder, Survey

ME = Address("Ada Lovelace", "ada@example.org")
BOB = Address("Bob", "bob@example.net")
LETTER = Letter(
    sender=ME,
    to=(BOB,),
    subject="Hello",
    text="Hi Bob,\nall is well.\n",
    message_id="<1.ada@example.org>",
    date=datetime(2026, 12, 1, 10, 0, tzinfo=UTC),
)


def letter(**changes: Any) -> Letter:
    return replace(LETTER, **changes)


def enclosure(
    octets: bytes, filename: str = "file.bin", media_type: str = "application/octet-stream", **more: Any
) -> Enclosure:
    survey = Survey()
    survey.feed(octets)
    return survey.enclosure(filename, media_type, **more)


def wire(asked: Letter, *contents: bytes, bcc: bool = False, chunk: int = 7) -> bytes:
    """Compose, each enclosure's octets arriving in chunks; contents in the order of the letter's enclosures."""
    by_digest = dict(zip((one.sha256 for one in asked.enclosures), contents, strict=True))
    said = b""
    for piece in compose(asked, bcc=bcc):
        if isinstance(piece, Slot):
            said += slotted(piece, by_digest[piece.enclosure.sha256], chunk)
        else:
            said += piece
    return said


def slotted(slot: Slot, octets: bytes, chunk: int) -> bytes:
    encoder = SlotEncoder(slot)
    return b"".join(encoder.feed(octets[at : at + chunk]) for at in range(0, len(octets), chunk)) + encoder.finish()


def read(raw: bytes) -> EmailMessage:
    """Read with the standard library, as an independent witness that complains of what is malformed."""
    message = email.message_from_bytes(raw, policy=email.policy.default)
    assert isinstance(message, EmailMessage)
    assert not [defect for part in message.walk() for defect in part.defects]
    return message


def names_and_addresses(raw: bytes, field: str) -> list[tuple[str, str]]:
    """Read an address field with the library's older reader: the newer one puts blanks between encoded words of a name."""
    value = str(email.message_from_bytes(raw)[field] or "")
    found = getaddresses([value]) if value else []
    return [(str(make_header(decode_header(name))), spec) for name, spec in found]


def parts(raw: bytes) -> list[str]:
    return [part.get_content_type() for part in read(raw).walk()]


async def chunks_of(octets: bytes, size: int) -> AsyncIterator[bytes]:
    for at in range(0, len(octets), size):
        yield octets[at : at + size]
