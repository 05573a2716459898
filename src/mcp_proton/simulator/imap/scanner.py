"""Reading a command byte by byte as Bridge's parser does, with its error texts and the offsets it gives them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_LITERAL = 30 * 1024 * 1024
_CR, _LF = 0x0D, 0x0A
# Bridge lets no atom hold an opening bracket, which RFC 3501 would.
_SPECIALS = frozenset(b'(){ %*"\\[')
_ATOM = frozenset(range(0x21, 0x7F)) - _SPECIALS - frozenset(b"]")
ASTRING = _ATOM | frozenset(b"]")
TAG = ASTRING - frozenset(b"+")
LIST_CHAR = ASTRING | frozenset(b"%*")
LETTERS = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
DIGITS = frozenset(b"0123456789")
ATOM = _ATOM


class SyntaxFault(Exception):
    """A command that can't be parsed: what to say, at which offset, and whether the tag is known by then."""

    def __init__(self, text: str, offset: int, *, tagged: bool = True) -> None:
        super().__init__(text)
        self.text, self.offset, self.tagged = text, offset, tagged


class NeedMore(Exception):
    """The command isn't complete: at least `size` bytes must have come before it is worth another look."""

    def __init__(self, size: int = 0) -> None:
        super().__init__()
        self.size = size


class Dropped(Exception):
    """Bridge drops the connection without an answer."""


class Scanner:
    """A position in the bytes of one command; the bytes may end before the command does.

    `prompt` is told at which position the client must be asked to go on, and with which line, however often the same
    bytes are read.
    """

    def __init__(self, data: bytes | bytearray, prompt: Callable[[int, bytes], None] = lambda _at, _line: None) -> None:
        self.data = data
        self.position = 0
        self.prompt = prompt

    def peek(self) -> int:
        """The byte at the position."""
        if self.position >= len(self.data):
            raise NeedMore
        return self.data[self.position]

    def fault(self, text: str, *, after: int = 0, tagged: bool = True) -> SyntaxFault:
        """An error at the position (or so many bytes after it)."""
        return SyntaxFault(text, self.position + after, tagged=tagged)

    def takes(self, character: bytes) -> bool:
        """Step over a character if it is there."""
        if self.peek() == character[0]:
            self.position += 1
            return True
        return False

    def expect(self, character: bytes, text: str) -> None:
        """Step over a character that must be there."""
        if not self.takes(character):
            raise self.fault(text)

    def space(self, text: str = "expected space") -> None:
        """Step over a blank that must be there."""
        self.expect(b" ", text)

    def run(self, allowed: frozenset[int]) -> bytes:
        """The longest run of allowed bytes; the byte after it has come."""
        start = self.position
        data, length = self.data, len(self.data)
        position = start
        while position < length and data[position] in allowed:
            position += 1
        self.position = position
        self.peek()
        return bytes(data[start:position])

    def keyword(
        self, unknown: Callable[[str, int], str], known: frozenset[str], extra: frozenset[int] = frozenset()
    ) -> str:
        """A word of letters in lower case that must be known; Bridge gives errors one byte after its beginning."""
        start = self.position
        word = self.run(LETTERS | extra).decode().lower()
        if word not in known:
            raise SyntaxFault(unknown(word, start + 1), start + 1)
        return word

    def number(self) -> int:
        """An unsigned number; it wraps where a 64-bit integer does."""
        digits = self.run(DIGITS)
        if not digits:
            raise self.fault("expected valid digit for number")
        # Python refuses to convert very long runs; only the low 64 bits matter here.
        return int(digits[-4000:]) % 2**64

    def positive(self) -> int:
        """A number other than zero."""
        value = self.number()
        if value == 0:
            raise self.fault("expected non zero number")
        return value

    def quoted(self) -> bytes:
        """A quoted string; line ends inside are part of it."""
        out = bytearray()
        self.position += 1
        while (byte := self.peek()) != 0x22:
            if byte == 0x5C:
                self.position += 1
                if self.peek() not in b'"\\':
                    raise self.fault("expected '\"' or '\\' after '\\'")
                byte = self.peek()
            out.append(byte)
            self.position += 1
        self.position += 1
        return bytes(out)

    def literal(self) -> bytes:
        """A literal; asks for its bytes by NeedMore. Empty and oversized ones make Bridge drop the connection."""
        self.position += 1
        size = self.number()
        self.expect(b"}", "expected '}' for literal end")
        self.expect(b"\r", "expected CR")
        self.expect(b"\n", "expected LF after CR")
        if size == 0 or size >= MAX_LITERAL:
            raise Dropped
        self.prompt(self.position, b"+ Ready\r\n")
        end = self.position + size
        if len(self.data) < end:
            raise NeedMore(end)
        taken = bytes(self.data[self.position : end])
        self.position = end
        return taken

    def string(self) -> bytes:
        """A quoted string or a literal."""
        if self.peek() == 0x22:
            return self.quoted()
        if self.peek() == 0x7B:
            return self.literal()
        raise self.fault("unexpected character, expected start of quote or literal")

    def astring(self) -> bytes:
        """An atom, quoted string or literal; nothing at all where none of them begins."""
        if self.peek() in b'"{':
            return self.string()
        return self.run(ASTRING | frozenset(range(0x80, 0x100)))

    def end_of_line(self) -> None:
        """The CR LF that ends a command; anything else loses the tag."""
        if self.peek() != _CR:
            raise self.fault("expected CR", tagged=False)
        self.position += 1
        if self.peek() != _LF:
            raise self.fault("expected LF after CR", tagged=False)
        self.position += 1


_LINE_END = re.compile(rb"\r\n")


def line_end_after(data: bytes | bytearray, position: int) -> int | None:
    """Where the line that holds a position ends (after its CR LF); None if it hasn't come."""
    found = _LINE_END.search(data, max(0, position))
    return found.end() if found else None
