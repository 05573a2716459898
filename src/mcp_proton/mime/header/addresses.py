"""Address lists (RFC 5322 §3.4) → addresses: groups are opened, comments become names, malformed ones give what they hold."""

from __future__ import annotations

import re

from mcp_proton.domain.mail import Address
from mcp_proton.mime.decoding.characters import line
from mcp_proton.mime.decoding.words import decode_words

MOST = 10_000
"""Addresses of one field that are read."""

_TOKEN = re.compile(
    r'"(?P<quoted>(?:[^"\\]|\\.)*)"|<(?P<angle>[^<>]*)>?|(?P<comment>\()|\[(?P<literal>[^\]\[]{0,100})\]'
    r'|(?P<mark>[,;:])|(?P<text>[^",;:<>()\[\]\\]+)|(?P<other>.)',
    re.DOTALL,
)
_PARENTHESIS = re.compile(r"\\.|[()]", re.DOTALL)
_QUOTED_PAIR = re.compile(r"\\(.)", re.DOTALL)
_ROUTE = re.compile(r"@[^:]*:")
_SPEC = re.compile(r'[^\s@]+@[^\s@]+|"[^"]*"@[^\s@]+')


def addresses(raw: bytes | str | None) -> tuple[Address, ...]:
    """Return the addresses of a From, To, Cc, Bcc, Sender or Reply-To field. Never raises.

    Names are visible text; an `email` is empty where the entry held none. At most `MOST` are read.
    """
    text = raw.decode("utf-8", "surrogateescape") if isinstance(raw, bytes) else raw or ""
    return tuple(_Reader(text).read())


class _Reader:
    """One pass over a field, gathering the entry that is being read."""

    def __init__(self, text: str) -> None:
        if _unclosed_quote(text):
            text = text.replace('"', " ")
        self.text = text
        self.found: list[Address] = []
        self.clear()

    def clear(self) -> None:
        """Begin a new entry."""
        self.words: list[str] = []
        self.bare: list[str] = []
        self.comments: list[str] = []
        self.angle: str | None = None

    def read(self) -> list[Address]:
        """Read to the end of the field."""
        at = 0
        while at < len(self.text) and len(self.found) < MOST:
            token = _TOKEN.match(self.text, at)
            if token is None:
                break
            at = self.comment(token.end()) if token["comment"] else token.end()
            self.take(token)
        self.finish()
        return self.found[:MOST]

    def take(self, token: re.Match[str]) -> None:
        """Add one token to the entry, or end the entry."""
        kind = token.lastgroup
        if kind == "quoted":
            self.words.append(_QUOTED_PAIR.sub(r"\1", token["quoted"]))
            self.bare.append(token[0])
        elif kind == "angle":
            self.angle = token["angle"] if self.angle is None else self.angle
        elif kind in {"text", "literal"}:
            self.words.append(token[0])
            self.bare.append(token[0])
        elif kind == "mark" and token["mark"] == ":":
            self.clear()  # the name of a group
        elif kind == "mark":
            self.finish()

    def comment(self, at: int) -> int:
        """Read a comment, which may hold comments, and return where it ends; an unclosed one is passed over."""
        depth = 1
        for mark in _PARENTHESIS.finditer(self.text, at):
            depth += {"(": 1, ")": -1}.get(mark[0], 0)
            if depth == 0:
                self.comments.append(self.text[at : mark.start()])
                return mark.end()
        self.text = self.text[:at] + self.text[at:].replace("(", " ")
        return at

    def finish(self) -> None:
        """End the entry, keeping it if it holds anything."""
        name, email = "", ""
        if self.angle is not None:
            name, email = " ".join(self.words), _ROUTE.sub("", self.angle, count=1)
        else:
            spec = _SPEC.search("".join(self.bare))
            email = spec[0] if spec else ""
            name = "" if spec else " ".join(self.words)
        name = decode_words(name) or decode_words(" ".join(self.comments))
        email = line(email).replace(" ", "")
        if name or email:
            self.found.append(Address(name, email))
        self.clear()


def _unclosed_quote(text: str) -> bool:
    return '"' in text and re.sub(r"\\.", "", text, flags=re.DOTALL).count('"') % 2 == 1
