"""The items of a FETCH command, with Bridge's error texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_proton.simulator.imap.commands import FetchItem
from mcp_proton.simulator.imap.scanner import DIGITS

if TYPE_CHECKING:
    from mcp_proton.simulator.imap.scanner import Scanner

_FETCH_WORDS = frozenset(
    {"all", "full", "fast", "envelope", "flags", "internaldate", "uid", "bodystructure", "body", "rfc822"}
)
_MACROS = {
    "all": ("FLAGS", "INTERNALDATE", "RFC822.SIZE", "ENVELOPE"),
    "fast": ("FLAGS", "INTERNALDATE", "RFC822.SIZE"),
    "full": ("FLAGS", "INTERNALDATE", "RFC822.SIZE", "ENVELOPE", "BODY"),
}


def read_items(scan: Scanner) -> tuple[FetchItem, ...]:
    """What to fetch: one item or macro, or a list of items."""
    if not scan.takes(b"("):
        return tuple(_items(scan, macros=True))
    items = _items(scan, macros=False)
    while scan.takes(b" "):
        items += _items(scan, macros=False)
    scan.expect(b")", "expected ) for fetch attribute list end")
    return tuple(items)


def _items(scan: Scanner, *, macros: bool) -> list[FetchItem]:
    known = _FETCH_WORDS if macros else _FETCH_WORDS - frozenset(_MACROS)
    word = scan.keyword(lambda word, _at: f"unknown fetch attribute '{word}'", known, DIGITS)
    if word in _MACROS:
        return [FetchItem(name) for name in _MACROS[word]]
    if word == "rfc822":
        return [_rfc822(scan)]
    if word == "body":
        return [_body(scan)]
    return [FetchItem(word.upper())]


def _rfc822(scan: Scanner) -> FetchItem:
    if not scan.takes(b"."):
        return FetchItem("RFC822", peek=False)
    # The missing quote at the end is Bridge's.
    word = scan.keyword(
        lambda word, _at: f"unknown fetch attribute 'RFC822.{word}", frozenset({"header", "size", "text"})
    )
    return FetchItem(f"RFC822.{word.upper()}", peek=word != "text")


def _body(scan: Scanner) -> FetchItem:
    peek = scan.takes(b".")
    if peek:
        scan.keyword(lambda word, _at: f"unknown fetch attribute 'BODY.{word}'", frozenset({"peek"}))
        scan.expect(b"[", "expected [ for body section start")
    elif not scan.takes(b"["):
        return FetchItem("BODY")
    section = "" if scan.peek() == 0x5D else _section(scan)
    scan.expect(b"]", "expected ] for body section end")
    start, length = _partial(scan)
    return FetchItem("BODY", section, peek, start, length)


def _section(scan: Scanner) -> str:
    path: list[str] = []
    while scan.peek() in DIGITS:
        path.append(str(scan.positive()))
        if not scan.takes(b"."):
            return ".".join(path)
    known = frozenset({"header", "text", "mime"} if path else {"header", "text"})
    word = scan.keyword(lambda word, _at: f"unknown section msg text value '{word}'", known)
    return ".".join([*path, _header_fields(scan) if word == "header" else word.upper()])


def _header_fields(scan: Scanner) -> str:
    if not scan.takes(b"."):
        return "HEADER"
    scan.keyword(lambda word, _at: f"unknown section msg text value 'header.{word}'", frozenset({"fields"}))
    negated = scan.takes(b".")
    if negated:
        scan.keyword(lambda word, _at: f"unknown section msg text value 'header.fields.{word}'", frozenset({"not"}))
    scan.space()
    scan.expect(b"(", "expected ( for header list start")
    fields: list[str] = []
    while not scan.takes(b")"):
        if fields:
            scan.space("expected ) for header list end")
        fields.append(scan.astring().decode("latin-1").upper())
    return f"HEADER.FIELDS{'.NOT' if negated else ''} ({' '.join(fields)})"


def _partial(scan: Scanner) -> tuple[int | None, int]:
    if not scan.takes(b"<"):
        return None, 0
    start = scan.number()
    scan.expect(b".", "expected '.' after partial start")
    length = scan.positive()
    scan.expect(b">", "expected > for partial end")
    return start, length
