"""Address lists as Bridge understands them: gluon's lenient reading of RFC 5322, Go's way of printing."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from mcp_proton.simulator.texts.go_text import decode_word, encode_words

_ATOM = re.compile(r"[!#$%&'*+\-/0-9=?A-Z^_`a-z{|}~\x80-\U0010ffff]+")
_ENCODED = re.compile(r"=\?([^\x00-\x20()<>@,;:\"/\[\]?.=\x7f]*)\?([bBqQ])\?([^\x00-\x20?\x7f-\U0010ffff]*)\?=")
_BLANK = re.compile(r"[ \t]*(?:\r\n[ \t]+)*")
_QUOTED = re.compile(r'"((?:[^"\\\r\n]|\\.|\r\n[ \t])*)"', re.DOTALL)
_COMMENT_TEXT = re.compile(r"(?:[^()\\\r\n]|\\.|\r\n[ \t])*", re.DOTALL)
_DOMAIN_LITERAL = re.compile(r"\[[ \t]*((?:[^\x00-\x20\[\]\\\x7f][ \t]*)*)\]")
_COMMENT_DEPTH = 50


@dataclass(frozen=True, slots=True)
class Address:
    """A display name (may be empty) and `local@domain` (empty for `<>`)."""

    name: str
    address: str

    def __str__(self) -> str:
        local, _, domain = self.address.rpartition("@")
        if not self.address.count("@"):
            local, domain = self.address, ""
        if not _plain_local(local):
            local = '"' + re.sub(r'(["\\])', r"\\\1", local) + '"'
        spec = f"<{local}@{domain}>"
        if not self.name:
            return spec
        if self.name.isascii() and self.name.replace("\t", " ").isprintable():
            return '"' + re.sub(r'(["\\])', r"\\\1", self.name) + f'" {spec}'
        needs_base64 = any(char in "\"#$%&'(),.:;<>@[]^`{|}~" for char in self.name)
        return encode_words(self.name, "b" if needs_base64 else "q") + f" {spec}"


def _plain_local(local: str) -> bool:
    return not local or all(part and _ATOM.fullmatch(part) for part in local.split("."))


class AddressError(ValueError):
    """The text is no address list that Bridge accepts."""


def parse_addresses(value: str) -> list[Address]:
    """Every mailbox of a list, those of groups included; AddressError if the text doesn't parse as a whole.

    As in Bridge, text after the last address that starts no other one is ignored.
    """
    return list(_parsed(value)) if value else []


@lru_cache(maxsize=4096)
def _parsed(value: str) -> tuple[Address, ...]:
    # The same few people are in every header of a mailbox, and an ENVELOPE names each sender three times.
    return tuple(_Reader(value).address_list())


class _Reader:
    def __init__(self, value: str) -> None:
        self._value = value
        self._at = 0

    def address_list(self) -> list[Address]:
        self._separators()
        found, closed = self._address()
        while self._take(",;") or (closed and self._at < len(self._value)):
            before = self._at
            self._skip()
            if self._at >= len(self._value):
                break
            if self._at > before and self._peek() in ",;":
                continue
            more, closed = self._address()
            found += more
        return found

    def _separators(self) -> None:
        self._skip()
        while self._take(",;"):
            self._skip()

    def _address(self) -> tuple[list[Address], bool]:
        self._skip()
        start = self._at
        try:
            return [self._mailbox()], False
        except AddressError:
            if self._value.startswith("<", start):
                raise
            self._at = start
            return self._group()

    def _mailbox(self) -> Address:
        start = self._at
        try:
            self._skip()
            name = "" if self._peek() == "<" else self._phrase()
            return Address(name, self._angle())
        except AddressError:
            self._at = start
            return Address("", self._spec())

    def _group(self) -> tuple[list[Address], bool]:
        quoted = self._take('"')
        self._phrase()
        self._expect(":")
        found: list[Address] = []
        if closed := self._take(";"):
            return self._group_end(found, closed=closed, quoted=quoted)
        self._skip()
        while self._take(","):
            self._skip()
        if self._at < len(self._value) and self._peek() not in ';"':
            found.append(self._mailbox())
            while self._take(","):
                before = self._at
                self._skip()
                # A blank after the comma ends the group for gluon: the members that follow are lost.
                if self._at == before:
                    found.append(self._mailbox())
        return self._group_end(found, closed=self._take(";"), quoted=quoted)

    def _group_end(self, found: list[Address], *, closed: bool, quoted: bool) -> tuple[list[Address], bool]:
        self._skip()
        if quoted:
            self._expect('"')
        return found, closed

    def _angle(self) -> str:
        self._skip()
        self._expect("<")
        if self._take(">"):
            return ""
        self._skip()
        while self._take(","):
            self._skip()
        if self._take("@"):
            self._route()
        spec = self._spec()
        self._expect(">")
        self._skip()
        return spec

    def _route(self) -> None:
        self._domain()
        while self._take(","):
            self._skip()
            if self._take("@"):
                self._domain()
        self._expect(":")

    def _spec(self) -> str:
        words = [self._word()]
        while self._take("."):
            words += [(".", "glue"), self._word()]
        local = _joined(words)
        self._expect("@")
        spec = f"{local}@{self._domain()}"
        return f"{spec}:{self._atom()}" if self._take(":") else spec

    def _domain(self) -> str:
        self._skip()
        if literal := _DOMAIN_LITERAL.match(self._value, self._at):
            self._at = literal.end()
            self._skip()
            return "[" + re.sub("[ \t]", "", literal[1]) + "]"
        labels = self._atom(skip_after=False)
        while self._take("."):
            labels += "."
            if self._peek() == ".":
                raise AddressError("two dots in a domain")
            if not _ATOM.match(self._value, self._at):
                break
            labels += self._atom(skip_after=False)
        self._skip()
        return labels

    def _phrase(self) -> str:
        words = [self._word()]
        while True:
            if self._peek() in (".", "@"):
                words.append((self._peek(), "glue"))
                self._at += 1
                continue
            self._skip()
            if not (self._peek() == '"' or _ATOM.match(self._value, self._at)):
                return _joined(words)
            words.append(self._word())

    def _word(self) -> tuple[str, str]:
        self._skip()
        if self._peek() == "=":
            return self._encoded_word()
        if self._peek() == '"':
            return self._quoted(), "word"
        return self._atom(), "word"

    def _encoded_word(self) -> tuple[str, str]:
        match = _ENCODED.match(self._value, self._at)
        decoded = decode_word(match[1], match[2], match[3]) if match else None
        if match is None or decoded is None:
            raise AddressError("a broken encoded word")
        self._at = match.end()
        self._skip()
        return decoded, "encoded"

    def _quoted(self) -> str:
        match = _QUOTED.match(self._value, self._at)
        if not match:
            raise AddressError("an open quote")
        self._at = match.end()
        self._skip()
        folded = re.sub(r"(?:[ \t]|\r\n[ \t])+", " ", match[1])
        return re.sub(r"\\(.)", r"\1", folded, flags=re.DOTALL)

    def _atom(self, *, skip_after: bool = True) -> str:
        self._skip()
        match = _ATOM.match(self._value, self._at)
        if not match:
            raise AddressError("an atom is missing")
        self._at = match.end()
        if skip_after:
            self._skip()
        return match.group()

    def _skip(self) -> None:
        """Past blanks, folds and comments."""
        self._at = _end(_BLANK, self._value, self._at)
        while self._peek() == "(":
            self._comment()
            self._at = _end(_BLANK, self._value, self._at)

    def _comment(self) -> None:
        depth = 0
        while True:
            if self._take("("):
                depth += 1
            elif self._take(")"):
                depth -= 1
            else:
                raise AddressError("an open comment")
            if not depth:
                return
            if depth > _COMMENT_DEPTH:
                raise AddressError("comments too deep")
            self._at = _end(_COMMENT_TEXT, self._value, self._at)

    def _peek(self) -> str:
        return self._value[self._at : self._at + 1] or "\0"

    def _take(self, chars: str) -> bool:
        if self._peek() in chars:
            self._at += 1
            return True
        return False

    def _expect(self, char: str) -> None:
        if not self._take(char):
            raise AddressError(f"expected {char}")


def _end(pattern: re.Pattern[str], value: str, at: int) -> int:
    match = pattern.match(value, at)
    return match.end() if match else at


def _joined(words: list[tuple[str, str]]) -> str:
    """Words of a phrase: a blank between them, none beside dots, none between encoded words."""
    result, before = words[0]
    for word, kind in words[1:]:
        gap = kind == "word" if before == "encoded" else before != "glue" and kind != "glue"
        result += f" {word}" if gap else word
        before = kind
    return result
