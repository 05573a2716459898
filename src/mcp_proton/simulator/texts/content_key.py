"""What makes two texts the same mail to Bridge (facts 11.6): neither Message-ID nor date, but subject, people and content.

The key is met three times: a repeat of a sent mail, an APPEND of one, and what Recovered Messages knows already.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from mcp_proton.simulator.texts.addresses import AddressError, parse_addresses
from mcp_proton.simulator.texts.go_text import octets
from mcp_proton.simulator.texts.mime_faults import base64_fault
from mcp_proton.simulator.texts.parts import decoded
from mcp_proton.simulator.texts.sections import Section

if TYPE_CHECKING:
    from collections.abc import Iterator

_PEOPLE = ("from", "to", "cc", "reply-to", "in-reply-to")


class UnreadableTextError(ValueError):
    """A text whose key can't be worked out; says why in Go's words."""


def content_key(literal: bytes) -> bytes:
    """The key of a text.

    Raises:
        UnreadableTextError: for a text part whose base64 is broken.
    """
    message = Section(literal, 0, len(literal))
    digest = hashlib.sha256()
    for piece in _pieces(message):
        digest.update(len(piece).to_bytes(8, "big") + piece)
    return digest.digest()


def recipients_of(literal: bytes) -> list[str]:
    """The addresses of To, Cc and Bcc, by which an APPEND is told from another; raises AddressError."""
    message = Section(literal, 0, len(literal))
    return [one.address for name in ("to", "cc", "bcc") for one in parse_addresses(message.get(name) or "")]


def _pieces(message: Section) -> Iterator[bytes]:
    yield octets(message.get("subject") or "")
    for name in _PEOPLE:
        yield octets(_addresses(message.get(name) or ""))
    for leaf in _leaves(message):
        yield from _of_leaf(leaf)


def _addresses(value: str) -> str:
    try:
        return "\0".join(one.address for one in parse_addresses(value))
    except AddressError:
        return value


def _leaves(part: Section) -> Iterator[Section]:
    if not part.children:
        yield part
    for child in part.children:
        yield from _leaves(child)


def _of_leaf(leaf: Section) -> Iterator[bytes]:
    media_type, parameters = leaf.media_type
    yield octets(media_type or leaf.get("content-type") or "")
    for name in sorted(parameters.keys() - {"boundary"}):
        yield octets(f"{name}={parameters[name]}")
    yield octets(leaf.get("content-disposition") or "")
    if not media_type.startswith("text/"):
        yield leaf.body.replace(b"\r", b"")
        return
    fault = base64_fault(leaf)
    if fault:
        raise UnreadableTextError(fault)
    yield decoded(leaf).replace(b"\r", b"").strip()
