"""Text as Go's standard library writes and reads it, since Bridge prints what Go prints.

Strings hold header bytes decoded as UTF-8 with `surrogateescape`, so that any byte survives a round trip.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# What Go calls space, and trims.
SPACE = "\t\n\v\f\r \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000"
_ESCAPES = {
    "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v", '"': '\\"', "\\": "\\\\",
}  # fmt: skip
_ASCII = re.compile(r"[\t -~]*")
# Encodings that only Python calls by that name, or that Go doesn't have.
_PYTHONS_OWN = {
    "idna",
    "punycode",
    "unicode-escape",
    "raw-unicode-escape",
    "undefined",
    "mbcs",
    "oem",
    "utf-7",
    "palmos",
}
_LOST = re.compile("[\udc80-\udcff]")
_PLAIN = re.compile(r"[ !#-\[\]-~]*")
_ENCODED_WORD = re.compile(r"=\?([^?]*)\?([bBqQ])\?([^?]*)\?=")
_ENCODED_WORD_ROOM = 75 - len("=?utf-8?q?") - len("?=")


def text(raw: bytes) -> str:
    """Bytes of a header as a string; nothing is lost."""
    return raw.decode("utf-8", "surrogateescape")


def octets(value: str) -> bytes:
    """The bytes behind a string made by `text`."""
    return value.encode("utf-8", "surrogateescape")


def as_json(value: str) -> str:
    """What is left of a string that crossed Proton's API: each byte that is no UTF-8 became U+FFFD."""
    return value if value.isascii() else _LOST.sub("\ufffd", value)


def quote(value: str) -> str:
    """A string literal as Go's `strconv.Quote` prints it; gluon uses it where IMAP wants a quoted string."""
    if _PLAIN.fullmatch(value):
        return f'"{value}"'
    return '"' + "".join(map(_escaped, value)) + '"'


def _escaped(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if "\udc80" <= char <= "\udcff":
        return f"\\x{ord(char) - 0xDC00:02x}"
    if char.isprintable():
        return char
    code = ord(char)
    if code < 0x20 or code == 0x7F:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def encode_words(value: str, encoding: str = "q") -> str:
    """RFC 2047 words for text that isn't plain ASCII; plain text comes back as it is."""
    if _ASCII.fullmatch(value):
        return value
    words = _q_words(value) if encoding == "q" else _b_words(value)
    return " ".join(f"=?utf-8?{encoding}?{word}?=" for word in words)


def _q_words(value: str) -> Iterator[str]:
    word = ""
    for char in value:
        if char == " ":
            piece = "_"
        elif "!" <= char <= "~" and char not in "=?_":
            piece = char
        else:
            piece = "".join(f"={byte:02X}" for byte in octets(char))
        if len(word) + len(piece) > _ENCODED_WORD_ROOM:
            yield word
            word = ""
        word += piece
    yield word


def _b_words(value: str) -> Iterator[str]:
    room = _ENCODED_WORD_ROOM * 3 // 4
    word = b""
    for char in value:
        piece = octets(char)
        if len(word) + len(piece) > room:
            yield base64.b64encode(word).decode("ascii")
            word = b""
        word += piece
    yield base64.b64encode(word).decode("ascii")


def decode_words(value: str) -> str | None:
    """RFC 2047 words decoded within a header value; None where Go's decoder gives up (unknown charset)."""
    if "=?" not in value:
        return value
    result: list[str] = []
    end = 0
    after_word = False
    for match in _ENCODED_WORD.finditer(value):
        gap = value[end : match.start()]
        readable = _word_bytes(match[2], match[3]) is not None
        if not (after_word and readable and not gap.strip(" \t\r\n")):
            result.append(gap)
        word = decode_word(match[1], match[2], match[3]) if readable else match[0]
        if word is None:
            return None
        result.append(word)
        end = match.end()
        after_word = readable
    return "".join(result) + value[end:]


def decode_word(charset: str, encoding: str, content: str) -> str | None:
    """One encoded word; None for a charset nobody knows."""
    raw = _word_bytes(encoding, content)
    if raw is None:
        return f"=?{charset}?{encoding}?{content}?="
    return decode_charset(raw, charset)


def _word_bytes(encoding: str, content: str) -> bytes | None:
    if encoding in "bB":
        try:
            return base64.b64decode(octets(content), validate=True)
        except (binascii.Error, ValueError):
            return None
    if re.search(r"=(?![0-9A-Fa-f]{2})", content):
        return None
    return re.sub(rb"=([0-9A-Fa-f]{2})", lambda m: bytes((int(m[1], 16),)), octets(content.replace("_", " ")))


def known_charset(charset: str) -> bool:
    """Whether Bridge can read this charset at all."""
    name = _python_name(charset)
    if name.replace("_", "-") in _PYTHONS_OWN:
        return False
    try:
        b"a".decode(name, "replace")
    except (LookupError, ValueError):
        return False
    return True


def decode_charset(raw: bytes, charset: str) -> str | None:
    """Text in a named charset, U+FFFD for each fault; None for a charset nobody knows."""
    if not known_charset(charset):
        return None
    name = _python_name(charset)
    if name == "utf-8":
        return as_json(text(raw))
    try:
        return raw.decode(name, "replace")
    except (UnicodeError, ValueError):
        return as_json(text(raw))


def _python_name(charset: str) -> str:
    name = charset.strip().lower()
    # The web's reading of these labels, which is the one Go's charset tables have.
    return {"iso-8859-1": "cp1252", "latin1": "cp1252", "us-ascii": "utf-8", "ascii": "utf-8", "utf8": "utf-8",
            "gb2312": "gb18030", "gbk": "gb18030", "shift_jis": "cp932", "ks_c_5601-1987": "cp949",
            "euc-kr": "cp949"}.get(name, name)  # fmt: skip
