"""What makes two mails the same to Bridge: for half an hour it answers 250 to the second and sends nothing (B-04).

Compared are the subject, the addresses of From, To, Cc, Reply-To and In-Reply-To, of every leaf its type with parameters,
its disposition and its content (text decoded and trimmed, anything else as encoded, without CR), and the recipients.
Not compared: Message-ID, Date, Bcc, References, boundaries, the encoding of text.
"""

from __future__ import annotations

import hashlib
from binascii import a2b_base64, a2b_qp
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from mcp_proton.mime.header.addresses import addresses
from mcp_proton.mime.header.headers import Headers
from mcp_proton.mime.header.parameters import parameters, token
from mcp_proton.mime.structure.leafstream import LeafReader

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_proton.domain.outgoing import Octets
    from mcp_proton.mime.header.parameters import Parametrised

WITHIN = timedelta(minutes=30)
_PEOPLE = ("From", "To", "Cc", "Reply-To", "In-Reply-To")
_WHITE = b" \t\n\r\x0b\x0c"
_BASE64 = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
_NO_BASE64 = bytes(set(range(256)) - _BASE64)


@dataclass(frozen=True, slots=True)
class Content:
    """A mail read through: its header, the key of its content, and what is wrong with it, in a word.

    `nameless_image`: an inline image without Content-ID, for which Bridge rewrites the whole mail. `texts` are the texts in
    it, each as a digest that white space does not change: what is left of a mail in the copy that Sent shows.
    """

    header: Headers
    key: str
    damaged: str | None
    nameless_image: bool
    texts: frozenset[bytes]


async def read(mail: Octets) -> Content:
    """Read a mail through, holding no more than a chunk of it."""
    reader = _Reader()
    async for chunk in mail.chunks():
        reader.leaves.feed(chunk)
    reader.leaves.finish()
    return reader.content()


def key_for(content: Content, recipients: Sequence[str]) -> str:
    """The key of a mail to these: the same people, each as often, in whatever order."""
    named = "\n".join([str(len(recipients)), *sorted(set(recipients))])
    return hashlib.sha256(f"{content.key}\n{named}".encode()).hexdigest()


class _Reader:
    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self._nameless_image = False
        self._texts: list[_Leaf] = []
        self.leaves = LeafReader(self._leaf)

    def content(self) -> Content:
        header = self.leaves.top or Headers(b"")
        whole = hashlib.sha256()
        for piece in (_plain(header.get("Subject")), *(_people(header.get(name)) for name in _PEOPLE)):
            _add(whole, piece)
        whole.update(self._hash.digest())
        texts = frozenset(leaf.words.digest() for leaf in self._texts)
        return Content(header, whole.hexdigest(), self.leaves.damaged, self._nameless_image, texts)

    def _leaf(self, header: Headers, kind: Parametrised) -> _Leaf:
        disposition = header.get("Content-Disposition")
        inline = parameters(disposition).value == "inline"
        if inline and kind.value.startswith("image/") and not (header.get("Content-ID") or b"").strip(b" <>"):
            self._nameless_image = True
        _add(self._hash, kind.value.encode())
        for name in sorted(kind.parameters.keys() - {"boundary"}):
            _add(self._hash, f"{name}={kind.parameters[name]}".encode("utf-8", "surrogatepass"))
        _add(self._hash, _plain(disposition))
        is_text = kind.value.startswith("text/")
        leaf = _Leaf(self._hash, token(header.get("Content-Transfer-Encoding")) if is_text else None)
        if is_text:
            self._texts.append(leaf)
        return leaf


class _Leaf:
    """The content of one leaf on its way into the hash. `encoding` None: not text, taken as it is but for CR."""

    def __init__(self, into: hashlib._Hash, encoding: str | None) -> None:
        self._into, self._encoding = into, encoding
        self._body, self.words = hashlib.sha256(), hashlib.sha256()
        self._rest, self._white = b"", bytearray()
        self._begun = False

    def write(self, piece: bytes) -> None:
        """More of it."""
        if self._encoding is None:
            self._body.update(piece.replace(b"\r", b""))
        elif self._encoding == "base64":
            text = self._rest + piece.translate(None, _NO_BASE64)
            whole = len(text) - len(text) % 4
            self._rest = text[whole:]
            self._text(a2b_base64(text[:whole]))
        elif self._encoding == "quoted-printable":
            text = self._rest + piece
            whole = text.rfind(b"\n") + 1
            self._rest = text[whole:]
            self._text(a2b_qp(text[:whole]))
        else:
            self._text(piece)

    def end(self) -> None:
        """All of it."""
        if self._encoding == "base64" and len(self._rest) > 1:
            self._text(a2b_base64(self._rest + b"=" * (-len(self._rest) % 4)))
        elif self._encoding == "quoted-printable":
            self._text(a2b_qp(self._rest))
        self._into.update(self._body.digest())

    def _text(self, decoded: bytes) -> None:
        """Hash it without the white space before and behind."""
        self.words.update(decoded.translate(None, _WHITE))
        text = decoded.replace(b"\r", b"")
        if not self._begun:
            text = text.lstrip(_WHITE)
        kept = text.rstrip(_WHITE)
        if kept:
            self._begun = True
            self._body.update(self._white)
            self._body.update(kept)
            self._white.clear()
        self._white += text[len(kept) :]


def _people(value: bytes | None) -> bytes:
    found = [one.email for one in addresses(value) if one.email]
    return "\0".join(found).encode("utf-8", "surrogatepass") if found else _plain(value)


def _plain(value: bytes | None) -> bytes:
    return b" ".join((value or b"").split())


def _add(into: hashlib._Hash, piece: bytes) -> None:
    into.update(len(piece).to_bytes(8, "big") + piece)
