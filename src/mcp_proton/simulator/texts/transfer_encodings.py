"""Bodies decoded leniently and encoded exactly as Go encodes them (RFC 2045 section 6)."""

from __future__ import annotations

import base64
import binascii
import quopri
import re

_SAFE = re.compile(rb"[\t !-<>-~]*")
_QUOTED = [bytes((byte,)) if _SAFE.fullmatch(bytes((byte,))) else b"=%02X" % byte for byte in range(256)]
_DONE = re.compile(rb"(?:(?:[\t !-<>-~]{0,74}[!-<>-~])?\r\n)*+(?:[\t !-<>-~]{0,74}[!-<>-~])?")
_LINE_BREAK = re.compile(rb"\r\n?|\n")
_LINE = 75
_NO_BASE64 = re.compile(rb"[^A-Za-z0-9+/]")


def quoted_printable(content: bytes) -> bytes:
    """Quoted-printable lines of at most 76 bytes; a line is broken after 75, never within an escape.

    Every kind of line end becomes CRLF, and a blank before it is escaped, also at the very end.
    """
    if _DONE.fullmatch(content):
        return content
    return b"\r\n".join(map(_quoted_line, _LINE_BREAK.split(content)))


def _quoted_line(line: bytes) -> bytes:
    safe = line if _SAFE.fullmatch(line) else b"".join(map(_QUOTED.__getitem__, line))
    if safe[-1:] in (b" ", b"\t"):
        safe = safe[:-1] + b"=%02X" % safe[-1]
    if len(safe) <= _LINE:
        return safe
    pieces = []
    at = 0
    while len(safe) - at > _LINE:
        end = at + _LINE
        for before in (end - 1, end - 2):
            if safe[before] == ord("="):
                end = before
                break
        pieces.append(safe[at:end])
        at = end
    pieces.append(safe[at:])
    return b"=\r\n".join(pieces)


def base64_lines(content: bytes) -> bytes:
    """Base64 in lines of 76, no line end after the last."""
    encoded = base64.b64encode(content)
    return b"\r\n".join(encoded[at : at + 76] for at in range(0, len(encoded), 76))


def decode(content: bytes, encoding: str) -> bytes:
    """The bytes behind a Content-Transfer-Encoding; unknown or broken ones leave what can be read."""
    match encoding.strip().lower():
        case "quoted-printable":
            return quopri.decodestring(content)
        case "base64":
            return _from_base64(content)
        case _:
            return content


def _from_base64(content: bytes) -> bytes:
    bare = _NO_BASE64.sub(b"", content)
    bare = bare[: len(bare) - 1] if len(bare) % 4 == 1 else bare
    try:
        return base64.b64decode(bare + b"=" * (-len(bare) % 4))
    except binascii.Error:
        return b""
