"""Text → octets for the wire, in the encoding (RFC 2045 §6) that says it shortest: CRLF only, short lines, ASCII."""

from __future__ import annotations

import base64
import binascii
import re
from typing import NamedTuple

from mcp_proton.domain.errors import Invalid

SHORT = 78
"""Octets of a line that is left as it is (RFC 5322 §2.1.1)."""

_LINE_END = re.compile(r"\r\n|\r|\n")
_SENDABLE = re.compile(rb"[\t\n\x20-\x7e]*")
_NO_TEXT = re.compile("[\x00\ud800-\udfff]")
_FROM = re.compile(rb"^From ", re.MULTILINE)


class Transferred(NamedTuple):
    """Octets as they travel, and the Content-Transfer-Encoding that says how."""

    encoding: str
    octets: bytes


def transferred(text: str, field: str) -> Transferred:
    """Return the text as UTF-8 in lines that end with CRLF, the last one too: 7bit, quoted-printable or base64.

    A line that begins with `From ` is encoded, since mail stores change it. Raises `Invalid` for NUL and halves of
    characters.
    """
    if _NO_TEXT.search(text):
        raise Invalid(f"`{field}` holds a NUL or half a character", next="leave it out")
    lines = _LINE_END.sub("\n", text)
    octets = (lines if not lines or lines.endswith("\n") else f"{lines}\n").encode()
    if _SENDABLE.fullmatch(octets) and not _FROM.search(octets) and max(map(len, octets.split(b"\n"))) <= SHORT:
        return Transferred("7bit", octets.replace(b"\n", b"\r\n"))
    printable = quoted_printable(octets)
    letters = base64_lines(octets.replace(b"\n", b"\r\n"))
    if len(letters) < len(printable):
        return Transferred("base64", letters)
    return Transferred("quoted-printable", printable)


def quoted_printable(octets: bytes) -> bytes:
    """Encode text whose lines end with LF; the result's end with CRLF, none is longer than 76 octets."""
    encoded = _FROM.sub(b"=46rom=\n ", binascii.b2a_qp(octets, quotetabs=False, istext=True))
    return encoded.replace(b"\n", b"\r\n")


def base64_lines(octets: bytes) -> bytes:
    """Encode in lines of 76 octets, each ended with CRLF."""
    return base64.encodebytes(octets).replace(b"\n", b"\r\n")
