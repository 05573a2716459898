"""The header of an enclosure's part: its type, its name (RFC 2183, RFC 2231), its place, and how its octets travel."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from mcp_proton.domain.errors import Invalid
from mcp_proton.domain.outgoing import Passage
from mcp_proton.mime.composing import fields
from mcp_proton.mime.header.parameters import parameters

if TYPE_CHECKING:
    from mcp_proton.domain.outgoing import Enclosure, Letter

LONGEST_NAME = 255
"""Octets of a file name in UTF-8: what common file systems take."""

_TYPE = re.compile(r"\s*[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}/[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}\s*(?:;.*)?")
_CONTENT_ID = re.compile(r"[!-;=?-~]{1,250}")
_KEY = re.compile(r"[a-z0-9-]+")
_OURS = frozenset({"boundary", "name"})
_WHOLE_MESSAGES = "message/"


class Enclosed(NamedTuple):
    """A part's header, and the encoding its octets are written in."""

    header: bytes
    encoding: str


def inline(letter: Letter, enclosure: Enclosure) -> bool:
    """Whether it is shown within the letter's HTML. Without HTML there is no such place."""
    return enclosure.content_id is not None and letter.html is not None


def enclosed(field: str, enclosure: Enclosure, *, inline: bool = False) -> Enclosed:
    """Return how an enclosure stands in its message. Raises `Invalid` naming `field` and what of it cannot be written.

    Everything is base64, byte for byte, but a message in the message, which must not be encoded (RFC 2046 §5.2.1): it
    stands as it is, or, where its octets cannot travel so, as a file in base64.
    """
    kind, said = _type(field, enclosure)
    encoding = "base64"
    if kind.startswith(_WHOLE_MESSAGES):
        if enclosure.passage is Passage.BINARY:
            kind, said = "application/octet-stream", {}
        else:
            encoding = enclosure.passage.value
    header = [
        fields.parametrised("Content-Type", kind, said, f"{field}.media_type"),
        f"Content-Transfer-Encoding: {encoding}\r\n".encode(),
        fields.parametrised(
            "Content-Disposition", "inline" if inline else "attachment", _named(field, enclosure), field
        ),
    ]
    if enclosure.content_id is not None:
        header.append(_content_id(f"{field}.content_id", enclosure.content_id))
    return Enclosed(b"".join(header), encoding)


def _type(field: str, enclosure: Enclosure) -> tuple[str, dict[str, str]]:
    given = fields.checked(f"{field}.media_type", enclosure.media_type)
    said = parameters(given.encode())
    if not _TYPE.fullmatch(given) or said.value.startswith("multipart/"):
        raise Invalid(
            f"`{field}.media_type` is not the type of a single part", next="give one such as `application/pdf`"
        )
    kept = {key: text for key, text in said.parameters.items() if key not in _OURS and _KEY.fullmatch(key)}
    return said.value, kept


def _named(field: str, enclosure: Enclosure) -> dict[str, str]:
    name = fields.checked(f"{field}.filename", enclosure.filename)
    if "/" in name or "\\" in name or len(name.encode()) > LONGEST_NAME:
        raise Invalid(
            f"`{field}.filename` is not a single name of at most {LONGEST_NAME} octets", next="give the last part only"
        )
    return {"filename": name} if name else {}


def writable_content_id(content_id: str) -> bool:
    """Whether an id can stand in a Content-ID field: visible ASCII without angle brackets."""
    return _CONTENT_ID.fullmatch(content_id) is not None


def _content_id(field: str, content_id: str) -> bytes:
    if not writable_content_id(content_id):
        raise Invalid(f"`{field}` is not an id", next="give it in visible ASCII, without angle brackets")
    return fields.folded("Content-ID", [f" <{content_id}>"])
