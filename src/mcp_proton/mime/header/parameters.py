"""Content-Type and Content-Disposition (RFC 2045 §5, RFC 2183) with their parameters, however they were encoded.

RFC 2231 charsets and continuations, encoded words in quoted strings and raw 8-bit octets are decoded; where a
parameter is given twice the RFC 2231 form wins.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote_to_bytes

from mcp_proton.mime.decoding import charset
from mcp_proton.mime.decoding.characters import line, whole
from mcp_proton.mime.decoding.words import decode_words_as_written

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_PARAMETER = re.compile(rb';\s*([^\s;="]{1,100})\s*=\s*(?:"((?:[^"\\]|\\.)*)(?:"|\Z)|([^;]*))', re.DOTALL)
_QUOTED_PAIR = re.compile(rb"\\(.)", re.DOTALL)
_COMMENT = re.compile(rb"\s\([^()\"]*\)\s*(?=;|\Z)")
_VALUE = re.compile(rb"\s*([A-Za-z0-9!#$&^_.+-]+(?:/[A-Za-z0-9!#$&^_.+-]+)?)")
_SPLIT = re.compile(r"([^*]+)(?:\*(\d{1,3}))?(\*)?")

MOST = 100
"""Parameters of one field that are read."""


class Parametrised(NamedTuple):
    """A field's value in lower case, and its parameters by lower-case name."""

    value: str
    parameters: dict[str, str]


def parameters(raw: bytes | None) -> Parametrised:
    """Read a Content-Type or Content-Disposition field. Never raises; what is not understood is not there."""
    octets = _COMMENT.sub(b"", raw or b"")
    found = _VALUE.match(octets)
    value = found[1].decode("ascii").lower() if found else ""
    return Parametrised(value, assemble(_pairs(octets)))


def assemble(pairs: Iterable[tuple[str, bytes]]) -> dict[str, str]:
    """Return decoded parameters from raw (name, value) pairs, as a header or a server's BODYSTRUCTURE gives them.

    Values may still hold bidirectional controls: a name is judged before it is shown.
    """
    plain: dict[str, str] = {}
    extended: dict[str, dict[int, tuple[bool, bytes]]] = {}
    for name, value in list(pairs)[:MOST]:
        found = _SPLIT.fullmatch(name.lower())
        if found is None:
            continue
        if found[2] is None and found[3] is None:
            plain.setdefault(found[1], decode_words_as_written(value))
        else:
            extended.setdefault(found[1], {}).setdefault(int(found[2] or 0), (found[3] is not None, value))
    return plain | {name: _joined(pieces) for name, pieces in extended.items()}


def _pairs(octets: bytes) -> Iterator[tuple[str, bytes]]:
    for found in _PARAMETER.finditer(octets):
        value = _QUOTED_PAIR.sub(rb"\1", found[2]) if found[2] is not None else found[3].strip()
        yield found[1].decode("ascii", "replace"), value


def _joined(pieces: dict[int, tuple[bool, bytes]]) -> str:
    """Join the continuations of RFC 2231 §3 as octets, then decode them in the charset the first one names."""
    name: str | None = None
    octets = b""
    for place in sorted(pieces):
        encoded, value = pieces[place]
        if encoded and place == min(pieces) and value.count(b"'") >= 2:
            said, _, value = value.split(b"'", 2)
            name = said.decode("ascii", "replace")
        octets += unquote_to_bytes(value) if encoded else value
    return whole(charset.decode(octets, name).text)


def token(raw: bytes | None) -> str:
    """Return the first word of a field such as Content-Transfer-Encoding, in lower case."""
    return line((raw or b"").decode("ascii", "replace")).lower().split(" ", 1)[0].split("(", 1)[0].strip(";\"'")
