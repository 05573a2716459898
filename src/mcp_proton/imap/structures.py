"""BODYSTRUCTURE → the outline of a message: decoded names and charsets, paths as FETCH takes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_proton.domain.mail import Part
from mcp_proton.mime.decoding.words import decode_words
from mcp_proton.mime.header.parameters import assemble

if TYPE_CHECKING:
    from mcp_proton.imap.protocol.bodystructure import BodyPart

UNKNOWN = Part("1", "application/octet-stream")
"""stands for a structure the server could not tell"""


def outline(told: BodyPart | None) -> Part:
    """The tree of parts. A part whose sizes or words the server left out has defaults in their place."""
    return UNKNOWN if told is None else _part(told)


def _part(told: BodyPart) -> Part:
    parameters = assemble(told.parameters)
    details = assemble(told.disposition_parameters)
    return Part(
        path=told.path,
        media_type=told.content_type,
        size=told.size or 0,
        encoding=told.encoding or "7bit",
        charset=parameters.get("charset"),
        parameters=parameters,
        disposition=told.disposition or None,
        filename=details.get("filename") or parameters.get("name") or None,
        content_id=decode_words(told.id).strip("<>") or None if told.id else None,
        children=tuple(_part(child) for child in told.parts),
    )
