"""Rich Text Format (RTF 1.9.1) → pages of text. Hidden and deleted text, pictures, fonts and field codes are left out."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, BinaryIO

from mcp_proton.mime.notices import Notice

if TYPE_CHECKING:
    from mcp_proton.documents.pages import Pages
    from mcp_proton.domain.documents import Claim

MOST_DEPTH = 1_000
_TOKEN = re.compile(
    rb"\\(?:'(?P<octet>[0-9a-fA-F]{2})|(?P<word>[a-zA-Z]{1,32})(?P<number>-?\d{1,10})? ?"
    rb"|(?P<sign>[^a-zA-Z\r\n])|(?P<eol>\r?\n))"
    rb"|(?P<brace>[{}])|[\r\n]+|(?P<text>[^\\{}\r\n]+)",
)
_WRITTEN = {
    "par": "\n", "line": "\n", "row": "\n", "sect": "\n", "tab": "\t", "cell": "| ", "nestcell": "| ", "nestrow": "\n",
    "emdash": "—", "endash": "–", "bullet": "•", "lquote": "‘", "rquote": "’",
    "ldblquote": "“", "rdblquote": "”", "emspace": " ", "enspace": " ", "qmspace": " ",
}  # fmt: skip
_SIGNS = {b"~": "\u00a0", b"_": "-", b"\\": "\\", b"{": "{", b"}": "}"}
_LEFT_OUT = frozenset(
    ("fonttbl", "colortbl", "stylesheet", "info", "pict", "object", "objdata", "fldinst", "themedata", "datastore")
) | frozenset(("listtable", "listoverridetable", "rsidtbl", "generator", "xmlnstbl", "latentstyles", "filetbl"))
PAGES_OF_CODE = tuple(f"cp{number}" for number in (437, 850, 852, 866, 874, 932, 936, 949, 950, *range(1250, 1259)))


@dataclass(frozen=True, slots=True)
class _Group:
    """What holds inside of a pair of braces. `skip` are the replacement characters after a Unicode one."""

    shown: bool = True
    hidden: bool = False
    skip: int = 1


def read(file: BinaryIO, pages: Pages, claim: Claim) -> None:
    """Read a document into pages."""
    octets = file.read()
    reader = _Reader(pages)
    place = 0
    while found := _TOKEN.match(octets, place):
        place = found.end()
        if found["word"] == b"bin":
            place += max(0, int(found["number"] or 0))
        reader.take(found)
    reader.flush()


class _Reader:
    def __init__(self, pages: Pages) -> None:
        self._pages = pages
        self._page_of_code = "cp1252"
        self._groups = [_Group()]
        self._octets = bytearray()
        self._skipping = 0
        self._high = 0
        self._first = False
        pages.begin()

    def take(self, found: re.Match[bytes]) -> None:
        """Take the next token."""
        kind = found.lastgroup
        first, self._first = self._first, kind == "brace" and found["brace"] == b"{"
        if kind == "brace":
            self._brace(found["brace"])
        elif kind == "octet":
            self._replaceable(bytes([int(found["octet"], 16)]))
        elif kind == "text":
            self._replaceable(found["text"])
        elif kind == "sign":
            self._sign(found["sign"], first=first)
        elif kind == "eol":
            self._write("\n")
        elif found["word"]:
            self._word(found["word"].decode("ascii"), found["number"])

    def flush(self) -> None:
        """Write the octets that were held until it is known that no more belong to their character."""
        if self._octets:
            octets, self._octets = bytes(self._octets), bytearray()
            self._pages.write(octets.decode(self._page_of_code, "replace"))

    @property
    def _here(self) -> _Group:
        return self._groups[-1]

    def _brace(self, brace: bytes) -> None:
        self._skipping = 0
        if brace == b"{":
            self._groups.append(self._here)
            del self._groups[1:-MOST_DEPTH]
        elif len(self._groups) > 1:
            self._groups.pop()

    def _sign(self, sign: bytes, *, first: bool) -> None:
        if sign == b"*" and first:
            self._change(shown=False)
        elif sign in _SIGNS:
            self._write(_SIGNS[sign])

    def _word(self, word: str, number: bytes | None) -> None:
        if word == "u" and number:
            self._unicode(int(number))
        elif word in _WRITTEN:
            self._write(_WRITTEN[word])
        elif word == "page":
            self._break()
        elif word in _LEFT_OUT:
            self._change(shown=False)
        elif word == "shptxt":
            self._change(shown=True)
        elif word in {"v", "deleted"}:
            self._change(hidden=number != b"0")
        elif word == "plain":
            self._change(hidden=False)
        elif word == "uc":
            self._change(skip=min(10, max(0, int(number or 1))))
        elif word == "ansicpg" and f"cp{int(number or 0)}" in PAGES_OF_CODE:
            self.flush()
            self._page_of_code = f"cp{int(number or 0)}"

    def _unicode(self, code: int) -> None:
        """Write a UTF-16 unit (a negative number is one above 32767); the pair of a surrogate is joined."""
        unit = code % 0x10000
        if 0xD800 <= unit < 0xDC00:
            self._high = unit
        elif self._high and 0xDC00 <= unit < 0xE000:
            self._write(chr(0x10000 + ((self._high - 0xD800) << 10) + unit - 0xDC00))
            self._high = 0
        else:
            self._write(chr(unit))
        self._skipping = self._here.skip

    def _replaceable(self, octets: bytes) -> None:
        skipped = min(self._skipping, len(octets))
        self._skipping -= skipped
        if self._visible(octets[skipped:]):
            self._octets += octets[skipped:]

    def _write(self, text: str) -> None:
        self._skipping = 0
        if self._visible(text.encode("utf-8", "surrogatepass")):
            self.flush()
            self._pages.write(text)

    def _visible(self, octets: bytes) -> bool:
        if self._here.hidden and self._here.shown and octets.strip():
            self._pages.notices.add(Notice.HIDDEN_TEXT_REMOVED)
        return bool(octets) and self._here.shown and not self._here.hidden

    def _break(self) -> None:
        if self._here.shown:
            self.flush()
            self._pages.begin()

    def _change(self, **changed: bool | int) -> None:
        self._groups[-1] = replace(self._here, **changed)  # type: ignore[arg-type]  # each name has its own type
