"""Header fields as octets (RFC 5322 §2.2, RFC 2047, RFC 2231): folded, each line CRLF and below 998 octets.

No value can end its field: line breaks, NUL and other controls are refused, naming the field and never the value.
"""

from __future__ import annotations

import re
from email.charset import Charset
from itertools import chain, repeat
from typing import TYPE_CHECKING
from urllib.parse import quote

from mcp_proton.domain.errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mcp_proton.domain.mail import Address

WIDTH = 76
LONGEST_ID = 900
"""Octets of a message id: one line holds it, whatever stands before."""

_BREAKS = re.compile("[\x00-\x08\x0a-\x1f\x7f\x85\u2028\u2029\ud800-\udfff]")
_PLAIN = re.compile(r"(?!.*=\?)[!-~](?:[ -~]*[!-~])?")
_WORDS = re.compile(r"[A-Za-z0-9'_-]+(?: [A-Za-z0-9'_-]+)*")
"""Names that need no quotes. RFC 5322 allows more, but Bridge takes any `=` for the beginning of an encoded word."""
_ID = re.compile(r"<[!-;=?-~]+>")
_TOKEN = re.compile(r"[A-Za-z0-9!#$&+.^_`{|}~-]+")
_QUOTABLE = re.compile(r"(?!.*=\?)[ !#-\[\]-~]+")
_PIECE = 50
"""Octets of an unbroken piece within a field that holds several: two of them and a blank fit a line."""


def checked(field: str, text: str) -> str:
    """Return the text of one line, or raise `Invalid` naming `field` if it holds a line break or another control."""
    if _BREAKS.search(text):
        raise Invalid(f"`{field}` holds a line break or a control character", next="give it as one line of text")
    return text


def folded(name: str, pieces: Iterable[str]) -> bytes:
    """Return the field; a line break may only stand before a piece, each of which begins with its own blank."""
    line, lines = f"{name}:", []
    for number, piece in enumerate(pieces):
        if number and len((line + piece).encode()) > WIDTH:
            lines.append(line)
            line = ""
        line += piece
    return "\r\n".join([*lines, line, ""]).encode()


def unstructured(name: str, text: str, field: str) -> bytes:
    """Return a field of free text: as it is where ASCII can say it, else in encoded words."""
    text = checked(field, text)
    words: list[str] = re.findall(r" *[^ ]+", f" {text}")
    if not text:
        return folded(name, [" "])
    if _PLAIN.fullmatch(text) and max(map(len, words)) < WIDTH:
        return folded(name, words)
    return folded(name, _encoded(text, WIDTH - len(name) - 2))


def addresses(name: str, given: Sequence[Address], field: str) -> bytes:
    """Return a field of addresses, which are already as they travel; names are quoted or encoded as they need."""
    pieces: list[str] = []
    for place, one in enumerate(given):
        label = f"{field}[{place}].name" if len(given) > 1 else f"{field}.name"
        end = "," if place < len(given) - 1 else ""
        if one.name:
            pieces += [*_phrase(checked(label, one.name)), f" <{one.email}>{end}"]
        else:
            pieces.append(f" {one.email}{end}")
    return folded(name, pieces)


def ids(name: str, given: Sequence[str], field: str) -> bytes:
    """Return a field of message ids (RFC 5322 §3.6.4), one or more a line."""
    for place, one in enumerate(given):
        if not writable_id(one):
            label = f"{field}[{place}]" if len(given) > 1 else field
            raise Invalid(f"`{label}` is not a message id", next="give it as `<left@right>`, with its angle brackets")
    return folded(name, [f" {one}" for one in given])


def writable_id(one: str) -> bool:
    """Whether a message id can be written: visible ASCII between angle brackets, on one line."""
    return len(one) <= LONGEST_ID and _ID.fullmatch(one) is not None


def parametrised(name: str, value: str, parameters: Mapping[str, str], field: str) -> bytes:
    """Return a field such as Content-Type with its parameters, long or beyond ASCII as RFC 2231 says."""
    said = [one for key, text in parameters.items() for one in _parameter(key, checked(field, text))]
    pieces = [f" {value}", *(f" {one}" for one in said)]
    return folded(name, [*(f"{one};" for one in pieces[:-1]), pieces[-1]])


def _phrase(text: str) -> list[str]:
    """Return a display name as words of RFC 5322, as one quoted string, or as encoded words."""
    if _WORDS.fullmatch(text) and max(map(len, text.split(" "))) <= _PIECE:
        return [f" {word}" for word in text.split(" ")]
    if len(text) <= _PIECE and _PLAIN.fullmatch(text):
        quoted = text.replace("\\", "\\\\").replace('"', '\\"')
        return [f' "{quoted}"']
    return _encoded(text, _PIECE)


def _encoded(text: str, first: int) -> list[str]:
    """Return encoded words, no character cut in two, the first one of at most `first` octets (RFC 2047 §5)."""
    words = Charset("utf-8").header_encode_lines(text, chain([first], repeat(WIDTH - 1)))
    return [f" {word}" for word in words if word]


def _parameter(key: str, text: str) -> list[str]:
    if len(text) <= _PIECE and _TOKEN.fullmatch(text):
        return [f"{key}={text}"]
    if len(text) <= _PIECE and _QUOTABLE.fullmatch(text):
        return [f'{key}="{text}"']
    pieces = ["utf-8''"]
    for character in text:
        spelled = quote(character, safe="")
        if len(pieces[-1]) + len(spelled) > _PIECE:
            pieces.append("")
        pieces[-1] += spelled
    if len(pieces) == 1:
        return [f"{key}*={pieces[0]}"]
    return [f"{key}*{place}*={piece}" for place, piece in enumerate(pieces)]
