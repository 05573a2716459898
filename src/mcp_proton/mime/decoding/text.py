"""A text part's encoded octets → visible text: transfer encoding, charset, line ends, flowed lines (RFC 3676)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mcp_proton.mime.decoding import charset, encoding
from mcp_proton.mime.decoding.characters import visible
from mcp_proton.mime.notices import Decoded, Notice

if TYPE_CHECKING:
    from mcp_proton.domain.mail import Part

_PGP = re.compile(r"^-----BEGIN PGP (MESSAGE|SIGNED MESSAGE)-----$", re.MULTILINE)


def decode(part: Part, encoded: bytes, *, complete: bool = True) -> Decoded:
    """Return the text of a part whose octets were fetched as encoded; for HTML that is its source.

    With `complete=False` the octets are the beginning of the part: what is cut in the middle is left out, and the
    result says `truncated`.
    """
    opened = encoding.decode(encoded, part.encoding, complete=complete)
    html = part.media_type in {"text/html", "application/xhtml+xml"}
    declared = part.charset or (charset.declared_in_html(opened.octets) if html else None)
    read = charset.decode(opened.octets, declared, complete=complete)
    seen = visible(read.text)
    text = seen.text
    if not html and part.parameters.get("format", "").lower() == "flowed":
        text = unfold(text, delete_space=part.parameters.get("delsp", "").lower() == "yes")
    return Decoded(text, opened.notices | read.notices | seen.notices | _armoured(text))


def unfold(text: str, *, delete_space: bool = False) -> str:
    """Join the soft line breaks of format=flowed; lines of one quote depth only, and never a signature's separator."""
    joined: list[str] = []
    open_depth = -1
    for line in text.split("\n"):
        depth = len(line) - len(line.lstrip(">"))
        content = line[depth:].removeprefix(" ")
        if joined and depth == open_depth and content != "-- ":
            joined[-1] = (joined[-1][:-1] if delete_space else joined[-1]) + content
        else:
            joined.append(f"{'>' * depth} {content}" if depth else content)
        open_depth = depth if content.endswith(" ") and content != "-- " else -1
    return "\n".join(joined)


def _armoured(text: str) -> frozenset[str]:
    """Name OpenPGP that is written into the text."""
    found = _PGP.search(text) if "-----BEGIN PGP " in text else None
    if found is None:
        return frozenset()
    return frozenset({Notice.ENCRYPTED if found[1] == "MESSAGE" else Notice.SIGNED})
