"""A raw message → what it means. Tolerant of everything, bounded by `Limits`, never an exception on bad mail."""

from __future__ import annotations

from mcp_proton.domain.mail import Message, Part
from mcp_proton.mime.limits import DEFAULT, Limits
from mcp_proton.mime.structure.outline import outline, section
from mcp_proton.mime.structure.reading import body
from mcp_proton.mime.structure.selecting import attachments, noted, readable

__all__ = ["parse", "section", "structure"]


def parse(raw: bytes, *, limits: Limits = DEFAULT) -> Message:
    """Return headers, text, HTML and attachments of a message. All text is visible text, decoded and not yet neutral."""
    found = outline(raw, limits)
    attached = attachments(found.root)
    read = body(readable(found.root), found.octets, limit=limits.text)
    return Message(
        headers=found.headers.decoded(),
        text=read.text,
        html=read.html,
        attachments=attached,
        notices=frozenset(found.notices) | read.notices | noted(found.root, attached),
    )


def structure(raw: bytes, *, limits: Limits = DEFAULT) -> Part:
    """Return the tree of parts, with paths by RFC 9051 section numbers."""
    return outline(raw, limits).root
