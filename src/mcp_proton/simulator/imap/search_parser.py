"""The search keys of a SEARCH command, with Bridge's error texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_proton.simulator.imap import search_keys as keys
from mcp_proton.simulator.imap.scanner import ATOM, DIGITS, LETTERS, SyntaxFault

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable

    from mcp_proton.simulator.imap.commands import Range
    from mcp_proton.simulator.imap.scanner import Scanner

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DATES = frozenset({"before", "on", "since", "sentbefore", "senton", "sentsince"})
_TEXTS = frozenset({"bcc", "body", "cc", "from", "subject", "text", "to"})
_WORDS = frozenset(keys.FLAG_WORDS) | _DATES | _TEXTS | {
    "all", "new", "old", "recent", "keyword", "unkeyword", "larger", "smaller", "header", "not", "or", "uid",
}  # fmt: skip
_MAX_DEPTH = 200


def parse_search(scan: Scanner, read_set: Callable[[], tuple[Range, ...]]) -> tuple[str, keys.Key]:
    """The charset (empty if none was named) and the keys, all of which must hold."""
    return _Reader(scan, read_set).read()


class _Reader:
    def __init__(self, scan: Scanner, read_set: Callable[[], tuple[Range, ...]]) -> None:
        self._scan = scan
        self._read_set = read_set

    def read(self) -> tuple[str, keys.Key]:
        scan = self._scan
        charset = ""
        if self._at_charset():
            scan.position += len("charset")
            scan.space("expected space after charset")
            charset = scan.astring().decode("latin-1")
            if not scan.takes(b" "):
                raise scan.fault("no search keys specified")
        found = [self._key(0)]
        while scan.takes(b" "):
            found.append(self._key(0))
        return charset, keys.All(tuple(found))

    def _at_charset(self) -> bool:
        here = bytes(self._scan.data[self._scan.position : self._scan.position + 8])
        return here[:7].lower() == b"charset" and here[7:8] not in (b"", *(bytes([one]) for one in LETTERS))

    def _key(self, depth: int) -> keys.Key:
        scan = self._scan
        if depth > _MAX_DEPTH:
            raise scan.fault("search keys nested too deep")
        if scan.peek() == 0x28:
            return self._group(depth)
        if scan.peek() in DIGITS or scan.peek() == 0x2A:
            return keys.InSet(self._read_set(), by_uid=False)
        word = scan.keyword(lambda word, _at: f"unknown search key '{word}'", _WORDS)
        if word in keys.FLAG_WORDS:
            return keys.HasFlag(*keys.FLAG_WORDS[word])
        if word in _DATES:
            scan.space()
            return keys.OnDate(word, self._date())
        if word in _TEXTS:
            scan.space()
            return keys.Text(word, scan.astring())
        return self._other(word, depth)

    def _group(self, depth: int) -> keys.Key:
        scan = self._scan
        scan.position += 1
        found = [self._key(depth + 1)]
        while scan.takes(b" "):
            found.append(self._key(depth + 1))
        scan.expect(b")", "expected ) for search key list end")
        return keys.All(tuple(found))

    def _other(self, word: str, depth: int) -> keys.Key:
        scan = self._scan
        if word == "all":
            return keys.All(())
        if word in {"new", "old", "recent"}:
            return keys.recency(word)
        if word == "not":
            scan.space("expected space after NOT")
            return keys.Not(self._key(depth + 1))
        if word == "or":
            scan.space("expected space after OR")
            first = self._key(depth + 1)
            scan.space("expected space after first OR key")
            return keys.Either(first, self._key(depth + 1))
        scan.space()
        return self._with_argument(word)

    def _with_argument(self, word: str) -> keys.Key:
        scan = self._scan
        if word == "uid":
            return keys.InSet(self._read_set(), by_uid=True)
        if word == "header":
            field = scan.astring()
            scan.space()
            return keys.Header(field.decode("latin-1"), scan.astring())
        if word in {"larger", "smaller"}:
            return keys.Size(larger=word == "larger", size=scan.number())
        atom = scan.run(ATOM).decode()
        if not atom:
            raise scan.fault("Invalid character detected in atom")
        return keys.HasFlag(atom, word == "keyword")

    def _date(self) -> dt.date:
        scan = self._scan
        quoted = scan.takes(b'"')
        day = self._digits(2)
        scan.expect(b"-", "expected - after year")
        start = scan.position
        if scan.peek() not in LETTERS:
            raise scan.fault("unexpected character for date month")
        month = bytes(scan.data[start : start + 3]).decode("latin-1").lower()
        if len(month) < 3 or month not in _MONTHS:
            raise SyntaxFault(f"invalid date month '{month}'", start)
        scan.position += 3
        scan.expect(b"-", "expected - after month")
        year = self._digits(4)
        if quoted:
            scan.expect(b'"', 'expected " for date end')
        return keys.rolled_over(year, _MONTHS.index(month) + 1, day)

    def _digits(self, most: int) -> int:
        scan = self._scan
        digits = b""
        while len(digits) < most and scan.peek() in DIGITS:
            digits += bytes([scan.peek()])
            scan.position += 1
        if not digits:
            raise scan.fault("expected valid digit for number")
        return int(digits)
