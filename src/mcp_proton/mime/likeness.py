"""Whether two messages are the same, though a server rebuilt one of them: digests of what must be alike, never the whole.

A server that stores what it is given keeps every octet. One that rebuilds (Bridge) may encode text anew, add an empty text,
wrap parts, and drop lines of the header; who wrote what to whom and when, every text but for its white space, and every
attachment to the octet must be there all the same.
"""

from __future__ import annotations

import codecs
import hashlib
from dataclasses import dataclass
from datetime import UTC
from typing import TYPE_CHECKING

from mcp_proton.mime.decoding.charset import codec_name
from mcp_proton.mime.decoding.encoding import Decoder
from mcp_proton.mime.decoding.words import decode_words
from mcp_proton.mime.header.addresses import addresses
from mcp_proton.mime.header.dates import date
from mcp_proton.mime.header.headers import Headers, message_ids
from mcp_proton.mime.header.parameters import parameters, token
from mcp_proton.mime.structure.leafstream import LeafReader

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_proton.mime.header.parameters import Parametrised

_PEOPLE = ("From", "To", "Cc", "Reply-To")
_OURS = "@protonmail.internalid>"
"""what Bridge adds to References"""
_MODULUS = 1 << 256


@dataclass(frozen=True, slots=True)
class Likeness:
    """What two messages are compared by: `octets` are all of it, `content` is what must be alike.

    `names` (of attachments) and `thread` (what it answers) may be lost without the message being another.
    """

    octets: str
    content: str
    names: str
    thread: str


class LikenessReader:
    """Feed it a message; at the end it says what it is like. Memory does not grow with the message."""

    def __init__(self) -> None:
        self._octets = hashlib.sha256()
        self._contents = self._names = 0
        self._leaves = LeafReader(self._leaf)
        self.size = 0

    def feed(self, chunk: bytes) -> None:
        """Take the next octets."""
        self.size += len(chunk)
        self._octets.update(chunk)
        self._leaves.feed(chunk)

    def finish(self) -> Likeness:
        """There is no more."""
        self._leaves.finish()
        header = self._leaves.top or Headers(b"")
        answered = [one for name in ("In-Reply-To", "References") for one in _ids(header, name)]
        return Likeness(
            self._octets.hexdigest(),
            _digest(*_said(header), str(self._contents)),
            str(self._names),
            _digest(*sorted(set(answered))),
        )

    def _leaf(self, header: Headers, kind: Parametrised) -> _Text | _File:
        disposition = parameters(header.get("Content-Disposition"))
        encoding = token(header.get("Content-Transfer-Encoding"))
        if kind.value.startswith("text/") and disposition.value != "attachment":
            return _Text(kind, encoding, self._add)
        name = disposition.parameters.get("filename") or kind.parameters.get("name") or ""
        return _File(kind.value, name, encoding, self._add)

    def _add(self, content: str, name: str) -> None:
        """Parts count in whatever order they come, each as often as it is there."""
        self._contents = (self._contents + int(content, 16)) % _MODULUS
        if name:
            self._names = (self._names + int(_digest(content, name), 16)) % _MODULUS


class _Text:
    """A text, but for its white space; an empty one is none."""

    def __init__(self, kind: Parametrised, encoding: str, add: Callable[[str, str], None]) -> None:
        charset = codec_name(kind.parameters.get("charset")) or "utf-8"
        self._kind, self._add = kind.value, add
        self._decoder = Decoder(encoding)
        self._characters = codecs.getincrementaldecoder(charset)("replace")
        self._words, self._empty = hashlib.sha256(), True

    def write(self, piece: bytes) -> None:
        """More of it."""
        self._text(self._decoder.feed(piece), final=False)

    def end(self) -> None:
        """All of it."""
        self._text(self._decoder.finish(), final=True)
        if not self._empty:
            self._add(_digest(self._kind, self._words.hexdigest()), "")

    def _text(self, octets: bytes, *, final: bool) -> None:
        try:
            text = self._characters.decode(octets, final)
        except (ValueError, OverflowError):  # a codec that refuses even so: then it is the octets that count
            text = octets.decode("latin-1")
        words = "".join(text.replace("\ufeff", "").split()).encode("utf-8", "surrogatepass")
        self._empty = self._empty and not words
        self._words.update(words)


class _File:
    """Anything else, to the octet; but of what travels as lines not its CRs, since line ends differ from server to server."""

    def __init__(self, kind: str, name: str, encoding: str, add: Callable[[str, str], None]) -> None:
        self._kind, self._name, self._add = kind, name, add
        self._decoder = Decoder(encoding)
        self._octets = hashlib.sha256()
        self._lines = kind.startswith(("text/", "message/")) or encoding != "base64"

    def write(self, piece: bytes) -> None:
        """More of it."""
        self._take(self._decoder.feed(piece))

    def end(self) -> None:
        """All of it."""
        self._take(self._decoder.finish())
        self._add(_digest(self._kind, self._octets.hexdigest()), self._name)

    def _take(self, octets: bytes) -> None:
        self._octets.update(octets.replace(b"\r", b"") if self._lines else octets)


def _said(header: Headers) -> list[str]:
    """Who wrote what to whom, and when."""
    when = date(header.get("Date"))
    people = [[one.email for value in header.all(name) for one in addresses(value)] for name in _PEOPLE]
    return [
        next(iter(message_ids(header.get("Message-ID"))), ""),
        "".join(decode_words(header.get("Subject") or b"").split()),
        "" if when is None else when.astimezone(UTC).isoformat(),
        *(",".join(some) for some in people),
    ]


def _ids(header: Headers, name: str) -> list[str]:
    return [one for one in message_ids(b" ".join(header.all(name))) if not one.endswith(_OURS)]


def _digest(*pieces: str) -> str:
    whole = hashlib.sha256()
    for piece in pieces:
        octets = piece.encode("utf-8", "surrogatepass")
        whole.update(len(octets).to_bytes(8, "big") + octets)
    return whole.hexdigest()
