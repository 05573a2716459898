"""A letter → the octets of its message (RFC 5322, RFC 2045–2049): the same letter, the same octets.

Nothing here depends on the clock or on chance. Lines end with CRLF and hold at most 998 octets; multiparts are closed;
an inline part always has its Content-ID; no value can add a field; only a draft names Bcc. Enclosures are left open as
`Slot`s, so that they are never held as a whole.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from email.utils import format_datetime
from typing import TYPE_CHECKING

from mcp_proton.domain.errors import Invalid
from mcp_proton.domain.mail import Address
from mcp_proton.mime.calendar import method
from mcp_proton.mime.composing import fields
from mcp_proton.mime.composing.addressing import addressed, travelling
from mcp_proton.mime.composing.enclosing import Slot
from mcp_proton.mime.composing.enclosures import enclosed, inline
from mcp_proton.mime.composing.transfer import transferred
from mcp_proton.mime.hypertext import html

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mcp_proton.domain.outgoing import Enclosure, Letter


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A part with content."""

    header: bytes
    content: bytes | Slot
    encoding: str


@dataclass(frozen=True, slots=True)
class _Several:
    """A multipart (RFC 2046 §5.1) of at least two parts."""

    subtype: str
    parts: Sequence[_Leaf | _Several]
    parameters: dict[str, str] = field(default_factory=dict)


_Part = _Leaf | _Several


def compose(letter: Letter, *, bcc: bool = False) -> tuple[bytes | Slot, ...]:
    """Return the message, whole but for its enclosures. `bcc=True` keeps the Bcc field: for drafts only.

    Raises `Invalid` naming the field that no message can hold, never its value.
    """
    letter = addressed(letter)
    header = _header(letter, bcc=bcc)
    body = _body(letter)
    seed = hashlib.sha256(b"\0".join([letter.message_id.encode(), *_fingerprints(body)]))
    return tuple(_joined([header, *_written(body, seed.digest())]))


def composed_size(letter: Letter, *, bcc: bool = False) -> int:
    """Return how many octets `compose` and its enclosures will make, exactly."""
    return sum(len(piece) if isinstance(piece, bytes) else piece.size for piece in compose(letter, bcc=bcc))


def needs_eight_bit(letter: Letter) -> bool:
    """Whether a message goes along whose octets only a server with 8BITMIME takes as they are (RFC 6152)."""
    return any(enclosed("", one).encoding == "8bit" for one in letter.enclosures)


def message_id(sender: str, token: str) -> str:
    """Return a Message-ID under the sender's domain; `token` is what makes it unique, in letters and digits."""
    domain = travelling("sender", Address("", sender)).email.rpartition("@")[2]
    made = f"<{token}@{domain.strip('[]')}>"
    if not token.replace("-", "").replace(".", "").isalnum() or not fields.writable_id(made):
        raise Invalid("`message_id` cannot be made of that")
    return made


def _header(letter: Letter, *, bcc: bool) -> bytes:
    """Return every field that is not about the content."""
    if not letter.message_id:
        raise Invalid("`message_id` is missing")
    if letter.date is None or letter.date.utcoffset() is None:
        raise Invalid("`date` is missing, or does not say its time zone")
    said = [fields.addresses("From", [letter.sender], "sender")]
    for name, given in (("To", "to"), ("Cc", "cc"), ("Bcc", "bcc"), ("Reply-To", "reply_to")):
        if getattr(letter, given) and (bcc or given != "bcc"):
            said.append(fields.addresses(name, getattr(letter, given), given))
    said.append(fields.unstructured("Subject", letter.subject, "subject"))
    said.append(fields.folded("Date", [f" {format_datetime(letter.date)}"]))
    said.append(fields.ids("Message-ID", [letter.message_id], "message_id"))
    if letter.in_reply_to:
        said.append(fields.ids("In-Reply-To", [letter.in_reply_to], "in_reply_to"))
    if letter.references:
        said.append(fields.ids("References", letter.references, "references"))
    return b"".join([*said, b"MIME-Version: 1.0\r\n"])


def _body(letter: Letter) -> _Part:
    """Return the tree: mixed[alternative[plain, related[HTML, inline parts], calendar], attachments]."""
    within = [one for one in letter.enclosures if inline(letter, one)]
    if len({one.content_id for one in within}) < len(within):
        raise Invalid("`enclosures` hold one `content_id` twice", next="give every inline part an id of its own")
    beside = [one for one in letter.enclosures if not inline(letter, one)]
    views: list[_Part] = [_text("plain", _plain(letter), "text")]
    if letter.html is not None:
        page = _text("html", letter.html, "html")
        views.append(_several("related", [page, *_enclosed(letter, within)], {"type": "text/html"}))
    if letter.calendar is not None:
        views.append(_answer(letter.calendar))
    return _several("mixed", [_several("alternative", views), *_enclosed(letter, beside)])


def _plain(letter: Letter) -> str:
    """Return the text as it was given, or made from the HTML where only that was."""
    if letter.text or letter.html is None:
        return letter.text
    return html.to_text(letter.html).text


def _answer(source: str) -> _Leaf:
    """Return the part by which a calendar program knows what is asked of it (RFC 6047 §2.4)."""
    said = method(source)
    if not said:
        raise Invalid(
            "`calendar` names no METHOD", next="give a whole calendar object, such as an answer to an invitation"
        )
    return _text("calendar", source, "calendar", method=said)


def _text(subtype: str, text: str, field: str, *, method: str = "") -> _Leaf:
    encoding, octets = transferred(text, field)
    said = {"charset": "utf-8"} | ({"method": method} if method else {})
    content_type = fields.parametrised("Content-Type", f"text/{subtype}", said, field)
    return _Leaf(content_type + f"Content-Transfer-Encoding: {encoding}\r\n".encode(), octets, encoding)


def _enclosed(letter: Letter, chosen: Sequence[Enclosure]) -> list[_Part]:
    """Return the parts of some of the letter's enclosures."""
    parts: list[_Part] = []
    for one in chosen:
        made = enclosed(f"enclosures[{letter.enclosures.index(one)}]", one, inline=inline(letter, one))
        parts.append(_Leaf(made.header, Slot(one, made.encoding), made.encoding))
    return parts


def _several(subtype: str, parts: list[_Part], parameters: dict[str, str] | None = None) -> _Part:
    return parts[0] if len(parts) == 1 else _Several(subtype, parts, parameters or {})


def _fingerprints(part: _Part) -> Iterator[bytes]:
    """Yield what tells the content apart from any other: headers, texts, digests."""
    if isinstance(part, _Several):
        for one in part.parts:
            yield from _fingerprints(one)
        return
    yield hashlib.sha256(part.header).digest()
    content = part.content
    yield content.enclosure.sha256.encode() if isinstance(content, Slot) else hashlib.sha256(content).digest()


def _written(part: _Part, seed: bytes) -> Iterator[bytes | Slot]:
    """Yield a part, its header and blank line first.

    INVARIANT: a boundary is a hash over everything it encloses, so nothing enclosed can contain it, whoever wrote it.
    """
    if isinstance(part, _Leaf):
        yield part.header + b"\r\n"
        yield part.content
        return
    boundary = f"=_{hashlib.sha256(seed + part.subtype.encode()).hexdigest()[:40]}"
    said = part.parameters | {"boundary": boundary}
    yield fields.parametrised("Content-Type", f"multipart/{part.subtype}", said, "subtype")
    yield f"Content-Transfer-Encoding: {_widest(part)}\r\n\r\n".encode()
    for one in part.parts:
        yield f"--{boundary}\r\n".encode()
        yield from _written(one, seed)
        yield b"\r\n"
    yield f"--{boundary}--\r\n".encode()


def _widest(part: _Part) -> str:
    """Return the encoding of a multipart: as wide as its widest part's (RFC 2045 §6.4)."""
    if isinstance(part, _Leaf):
        return part.encoding if part.encoding == "8bit" else "7bit"
    return "8bit" if "8bit" in map(_widest, part.parts) else "7bit"


def _joined(pieces: list[bytes | Slot]) -> Iterator[bytes | Slot]:
    held: list[bytes] = []
    for piece in pieces:
        if isinstance(piece, bytes):
            held.append(piece)
            continue
        yield b"".join(held)
        yield piece
        held = []
    yield b"".join(held)
