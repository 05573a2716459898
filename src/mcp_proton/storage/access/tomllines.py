"""On which line of a TOML document a key stands. For complaints; reading itself is the standard library's.

Works on any document that `tomllib` accepts (TOML 1.0): tables, lists of tables, dotted and quoted keys, inline
tables, lists over several lines, all four kinds of strings.
"""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING

from mcp_proton.domain.complaint import Complaint, Misconfigured

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_proton.domain.complaint import Key

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_BASIC = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_LITERAL = re.compile(r"'[^'\n]*'")
_LONG_BASIC = re.compile(r'"""(?:[^"\\]|\\[\s\S]|"{1,2}(?!"))*"{3,5}')
_LONG_LITERAL = re.compile(r"'''(?:[^']|'{1,2}(?!'))*'{3,5}")
_STRINGS = (_LONG_BASIC, _LONG_LITERAL, _BASIC, _LITERAL)
_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_PLAIN = re.compile(r"[^,\]}#\n]+")
_PLACE = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")


def parse(text: str, file: str) -> Mapping[str, object]:
    """Return the document. Raises `Misconfigured` with the line where it stops being TOML."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = _PLACE.search(str(error))
        line = int(found[1]) if found and found[1] else text.count("\n") + 1
        what = _PLACE.sub("", str(error))
        raise Misconfigured([Complaint((), f"is not TOML: {what[:1].lower()}{what[1:]}", file, line)]) from None


class Lines:
    """The lines of a document's keys."""

    def __init__(self, text: str) -> None:
        self._lines = _Scan(text).lines

    def of(self, key: Key) -> int | None:
        """Return the line of a key, or of the nearest table around it where it is not there itself."""
        for end in range(len(key), 0, -1):
            if key[:end] in self._lines:
                return self._lines[key[:end]]
        return None


class _Scan:
    """One pass over a valid document."""

    def __init__(self, text: str) -> None:
        self.lines: dict[Key, int] = {}
        self._text = text
        self._at = 0
        self._counted = (0, 1)
        self._lists: dict[Key, int] = {}
        self._document()

    def _document(self) -> None:
        table: Key = ()
        self._blank()
        while self._at < len(self._text):
            if self._text[self._at] == "[":
                table = self._header()
            else:
                self._pair(table)
            self._blank()

    def _header(self) -> Key:
        line = self._line()
        is_list = self._text.startswith("[[", self._at)
        self._at += 2 if is_list else 1
        *above, last = self._keys()
        self._at = self._text.index("]", self._at) + (2 if is_list else 1)
        path: Key = ()
        for step in above:
            self.lines.setdefault((*path, step), line)
            path = self._inside((*path, step))
        path = (*path, last)
        if is_list:
            self._lists[path] = self._lists.get(path, -1) + 1
            self.lines.setdefault(path, line)
        path = self._inside(path)
        self.lines[path] = line
        return path

    def _inside(self, path: Key) -> Key:
        return (*path, self._lists[path]) if path in self._lists else path

    def _pair(self, table: Key) -> None:
        line = self._line()
        path = table
        for step in self._keys():
            path = (*path, step)
            self.lines.setdefault(path, line)
        self._at = self._text.index("=", self._at) + 1
        self._value(path)

    def _value(self, path: Key) -> None:
        self._blank()
        opening = self._text[self._at]
        if opening == "[":
            self._items(path, "]")
        elif opening == "{":
            self._items(path, "}")
        else:
            self._skip_scalar()

    def _items(self, path: Key, closing: str) -> None:
        self._at += 1
        self._blank()
        number = 0
        while self._text[self._at] != closing:
            if closing == "}":
                self._pair(path)
            else:
                self.lines[*path, number] = self._line()
                self._value((*path, number))
                number += 1
            self._blank()
            if self._text[self._at] == ",":
                self._at += 1
                self._blank()
        self._at += 1

    def _keys(self) -> list[str]:
        keys: list[str] = []
        while True:
            self._blank()
            found = next((m for p in (_BARE, _BASIC, _LITERAL) if (m := p.match(self._text, self._at))), None)
            if found is None:
                return keys
            self._at = found.end()
            word = found[0]
            keys.append(word if word[0] not in "\"'" else str(tomllib.loads(f"k = {word}")["k"]))
            self._blank()
            if not self._text.startswith(".", self._at):
                return keys
            self._at += 1

    def _skip_scalar(self) -> None:
        for pattern in (*_STRINGS, _PLAIN):
            found = pattern.match(self._text, self._at)
            if found is not None:
                self._at = found.end()
                return

    def _blank(self) -> None:
        found = _BLANK.match(self._text, self._at)
        if found is not None:
            self._at = found.end()

    def _line(self) -> int:
        offset, line = self._counted
        line += self._text.count("\n", offset, self._at)
        self._counted = (self._at, line)
        return line
