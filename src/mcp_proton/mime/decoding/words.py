"""Encoded words (RFC 2047) in header octets → text, read as senders write them rather than as the grammar asks.

Words that split a multibyte character are joined before decoding; blanks inside a word, missing base64 padding, words
that touch other text and raw 8-bit octets are all understood. The result is one visible line.
"""

from __future__ import annotations

import binascii
import re
from typing import TYPE_CHECKING

from mcp_proton.mime.decoding import characters, charset

if TYPE_CHECKING:
    from collections.abc import Iterator

_WORD = re.compile(rb"=\?([^?\s]{1,60})\?([bBqQ])\?([^?]*(?:\?(?!=)[^?]*){0,8})\?=")
_HEX = re.compile(rb"=([0-9A-Fa-f]{2})")
_NO_BASE64 = re.compile(rb"[^A-Za-z0-9+/]+")


def decode_words(raw: bytes | str) -> str:
    """Return the header value as one line of visible text. Never raises."""
    return characters.line(decode_words_as_written(raw))


def decode_words_as_written(raw: bytes | str) -> str:
    """Return the decoded value with whatever controls it holds: for names that are judged before they are shown."""
    octets = raw.encode("utf-8", "surrogateescape") if isinstance(raw, str) and _encodable(raw) else raw
    if isinstance(octets, str):
        return characters.whole(octets)
    if b"=?" not in octets:
        return charset.decode(octets).text
    return "".join(charset.decode(piece, name).text for name, piece in _runs(octets))


def _encodable(text: str) -> bool:
    """Whether only octets smuggled by `surrogateescape` stand between this text and UTF-8."""
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return True


def _runs(octets: bytes) -> Iterator[tuple[str | None, bytes]]:
    """Yield (charset, octets) for plain text and for each run of words of one charset."""
    name: str | None = None
    held: list[bytes] = []
    at = 0
    for word in _WORD.finditer(octets):
        between = octets[at : word.start()]
        said = word[1].partition(b"*")[0].decode("ascii", "replace").lower()
        adjacent = name is not None and not between.strip()
        if held and not (adjacent and said == name):
            yield name, b"".join(held)
            held = []
        if between and not adjacent:
            yield None, between
        name = said
        held.append(_payload(word[2], word[3]))
        at = word.end()
    if held:
        yield name, b"".join(held)
    if octets[at:]:
        yield None, octets[at:]


def _payload(encoding: bytes, text: bytes) -> bytes:
    if encoding in b"qQ":
        return _HEX.sub(lambda found: binascii.unhexlify(found[1]), text.replace(b"_", b" "))
    letters = _NO_BASE64.sub(b"", text)
    usable = len(letters) - (len(letters) % 4 == 1)
    return binascii.a2b_base64(letters[:usable] + b"=" * (-usable % 4))
