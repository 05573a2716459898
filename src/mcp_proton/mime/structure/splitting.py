"""Multipart bodies (RFC 2046 §5.1) → the spans of their parts, in time linear in the octets.

The outer boundary always wins, an unclosed one ends with what surrounds it. A missing or wrong boundary parameter is
replaced by the one the body really uses; a body without any is one part.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

Span = tuple[int, int]

_DELIMITER = re.compile(rb"^--([^\s](?:[^\r\n]{0,200}[^\s-])?)[ \t]*\r?\nContent-", re.MULTILINE | re.IGNORECASE)
_TAIL = re.compile(rb"(--)?[ \t]*(\r?\n|\Z)")


def boundary(raw: bytes, start: int, end: int, declared: str) -> bytes | None:
    """Return the boundary that the body at `raw[start:end]` uses: the declared one, without quotes, or the one found."""
    said = declared.encode("utf-8", "replace").rstrip()
    for candidate in (said, said.strip(b"'\"")):
        if candidate and next(_delimiters(raw, start, end, candidate), None):
            return candidate
    found = _DELIMITER.search(raw, start, end)
    return found[1] if found else None


def parts(raw: bytes, start: int, end: int, marker: bytes) -> Iterator[Span]:
    """Yield the span of each part, the line end before a delimiter left out. Preamble and epilogue are not parts."""
    begin: int | None = None
    for at, after, closing in _delimiters(raw, start, end, marker):
        if begin is not None:
            yield begin, max(begin, _before_line_end(raw, at))
        begin = None if closing else after
        if closing:
            return
    if begin is not None and begin < end:
        yield begin, end


def _delimiters(raw: bytes, start: int, end: int, marker: bytes) -> Iterator[tuple[int, int, bool]]:
    """Yield (where the line begins, where the next one begins, whether it closes) of each delimiter line."""
    dashed = b"--" + marker
    at = raw.find(dashed, start, end)
    while at >= 0:
        after = at + len(dashed)
        begins_line = at == start or raw[at - 1 : at] == b"\n"
        tail = _TAIL.match(raw, after, end) if begins_line else None
        if tail:
            yield at, tail.end(), tail[1] is not None
        at = raw.find(dashed, tail.end() if tail else after, end)


def _before_line_end(raw: bytes, at: int) -> int:
    if raw[at - 2 : at] == b"\r\n":
        return at - 2
    return at - 1 if raw[at - 1 : at] == b"\n" else at
