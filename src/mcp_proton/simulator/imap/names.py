"""Mailbox names on the wire: modified UTF-7 (RFC 3501 5.1.3) and the patterns of LIST."""

from __future__ import annotations

import base64
import re

DELIMITER = "/"


class InvalidNameError(ValueError):
    """A name that is not modified UTF-7."""


def decode(name: bytes) -> str:
    """A name as it came over the wire; raises InvalidNameError as strictly as Bridge does."""
    out: list[str] = []
    position = 0
    while position < len(name):
        byte = name[position]
        if byte != 0x26:
            if not 0x20 <= byte <= 0x7E:
                raise InvalidNameError
            out.append(chr(byte))
            position += 1
            continue
        end = name.find(b"-", position)
        if end < 0:
            raise InvalidNameError
        out.append(_decode_shift(name[position + 1 : end]))
        position = end + 1
    return "".join(out)


def _decode_shift(coded: bytes) -> str:
    if not coded:
        return "&"
    try:
        raw = base64.b64decode(coded.replace(b",", b"/") + b"=" * (-len(coded) % 4), validate=True)
        text = raw.decode("utf-16-be")
    except ValueError:
        raise InvalidNameError from None
    if any(" " <= character <= "~" for character in text):
        raise InvalidNameError
    return text


def encode(name: str) -> str:
    """A name in the form it goes over the wire."""

    def shift(match: re.Match[str]) -> str:
        coded = base64.b64encode(match.group().encode("utf-16-be")).rstrip(b"=").replace(b"/", b",")
        return f"&{coded.decode()}-"

    return re.sub(r"[^ -~]+", shift, name.replace("&", "&-"))


def quoted(text: str) -> str:
    """An IMAP quoted string."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def canonical(name: str) -> str:
    """INBOX in capitals, alone or as the first part of a path; everything else as it is."""
    head, slash, rest = name.partition(DELIMITER)
    return ("INBOX" + slash + rest) if head.upper() == "INBOX" else name


def parents(path: str) -> list[str]:
    """The paths above a path, from the top: `a/b/c` gives `a` and `a/b`."""
    parts = path.split(DELIMITER)
    return [DELIMITER.join(parts[:depth]) for depth in range(1, len(parts))]


def pattern(reference: str, wanted: str) -> re.Pattern[str]:
    """The regular expression for a LIST reference and pattern: `*` matches anything, `%` all but the delimiter."""
    text = canonical(reference + wanted)
    translated = "".join(
        {"*": ".*", "%": f"[^{DELIMITER}]*"}.get(character, re.escape(character)) for character in text
    )
    return re.compile(translated, re.DOTALL)
