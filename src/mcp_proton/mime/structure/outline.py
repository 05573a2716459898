"""A whole message → its outline: the tree of parts with the spans of their octets. Bounded in depth and number.

Nothing is decoded here; a part of 25 MB costs what its header costs.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from mcp_proton.domain.mail import Part
from mcp_proton.mime.decoding.characters import line
from mcp_proton.mime.header.headers import Headers
from mcp_proton.mime.header.parameters import parameters, token
from mcp_proton.mime.limits import DEFAULT, Limits
from mcp_proton.mime.notices import Notice
from mcp_proton.mime.structure.splitting import Span, boundary, parts

MESSAGES = frozenset({"message/rfc822", "message/global"})


@dataclass(slots=True)
class Outline:
    """What a message consists of. `spans` are the encoded octets of each leaf, `headers_at` the header of each part."""

    raw: bytes
    headers: Headers
    root: Part = field(default_factory=lambda: Part("1", "text/plain"))
    spans: dict[str, Span] = field(default_factory=dict)
    headers_at: dict[str, Span] = field(default_factory=dict)
    notices: set[str] = field(default_factory=set)

    def octets(self, part: Part) -> bytes:
        """Return a part's octets as encoded."""
        begin, end = self.spans.get(part.path, (0, 0))
        return self.raw[begin:end]


def outline(raw: bytes, limits: Limits = DEFAULT) -> Outline:
    """Return the outline. Never raises; what is beyond the limits is named in `notices`."""
    if b"\n" not in raw and b"\r" in raw:
        raw = raw.replace(b"\r", b"\n")
    headers = Headers(raw, limit=limits.header)
    found = Outline(raw, headers)
    found.headers_at[""] = (0, headers.body)
    if headers.damaged:
        found.notices.add(Notice.HEADERS_DAMAGED)
    _Builder(found, limits).build(headers, (headers.body, len(raw)))
    return found


class _Builder:
    """Walks a message top down, counting parts."""

    def __init__(self, found: Outline, limits: Limits) -> None:
        self.found = found
        self.limits = limits
        self.count = 0

    def build(self, headers: Headers, body: Span) -> None:
        """Make the root."""
        self.found.root = self.part(headers, body, "", 0, "text/plain", alone=True)

    def part(self, headers: Headers, body: Span, path: str, depth: int, default: str, *, alone: bool = False) -> Part:
        """Make one part and all below it. `alone` is a message's only part: its number is `.1` below the message."""
        self.count += 1
        media_type, said = parameters(headers.get("Content-Type"))
        media_type = media_type if "/" in media_type else default if not media_type else "text/plain"
        if media_type.startswith("multipart/"):
            children = self.children(body, path, depth, said.get("boundary", ""), media_type)
            if children is not None:
                if not alone:
                    self.found.spans[path] = body
                return Part(path, media_type, body[1] - body[0], parameters=said, children=children)
            media_type = "text/plain" if depth < self.limits.depth else media_type
        own = f"{path}.1".lstrip(".") if alone else path
        self.found.spans[own] = body
        disposition, details = parameters(headers.get("Content-Disposition"))
        encoding = token(headers.get("Content-Transfer-Encoding")) or "7bit"
        return Part(
            path=own,
            media_type=media_type,
            size=body[1] - body[0],
            encoding=encoding,
            charset=said.get("charset"),
            parameters=said,
            disposition=disposition or None,
            filename=details.get("filename") or said.get("name") or None,
            content_id=line((headers.get("Content-ID") or b"").decode("ascii", "replace")).strip("<>") or None,
            children=self.inner(body, own, depth, encoding) if media_type in MESSAGES else (),
        )

    def children(self, body: Span, path: str, depth: int, declared: str, media_type: str) -> tuple[Part, ...] | None:
        """Make the parts of a multipart; None where it cannot be opened."""
        if depth >= self.limits.depth:
            self.found.notices.add(Notice.NESTED_TOO_DEEP)
            return None
        raw = self.found.raw
        marker = boundary(raw, *body, declared)
        if marker is None:
            return None
        default = "message/rfc822" if media_type == "multipart/digest" else "text/plain"
        made: list[Part] = []
        for begin, end in parts(raw, *body, marker):
            if self.count >= self.limits.parts:
                self.found.notices.add(Notice.PARTS_LEFT_OUT)
                break
            headers = Headers(raw, begin, end, limit=self.limits.header)
            below = f"{path}.{len(made) + 1}".lstrip(".")
            self.found.headers_at[below] = (begin, headers.body)
            made.append(self.part(headers, (headers.body, end), below, depth + 1, default))
        return tuple(made)

    def inner(self, body: Span, path: str, depth: int, encoding: str) -> tuple[Part, ...]:
        """Make the body of a message in a message. One that is encoded (RFC 2046 forbids it) is not opened."""
        if encoding in {"base64", "quoted-printable"} or self.count >= self.limits.parts:
            return ()
        if depth >= self.limits.depth:
            self.found.notices.add(Notice.NESTED_TOO_DEEP)
            return ()
        headers = Headers(self.found.raw, *body, limit=self.limits.header)
        return (self.part(headers, (headers.body, body[1]), path, depth + 1, "text/plain", alone=True),)


def section(raw: bytes, path: str) -> bytes | None:
    """Return the octets of a section as FETCH names it (RFC 9051 §6.4.5): "", "HEADER", "TEXT", "1.2", "1.2.MIME" …

    None for one that is not there.
    """
    if path == "":
        return raw
    found = outline(raw)
    number, _, word = path.rpartition(".") if path[-1:].isalpha() else (path, "", "")
    begin, end = found.spans.get(number, (found.headers.body, len(found.raw)) if number == "" else (-1, -1))
    if begin < 0:
        return None
    match word:
        case "":
            return found.raw[begin:end]
        case "MIME":
            start, stop = found.headers_at.get(number, (0, found.headers.body) if number == "1" else (0, 0))
            return found.raw[start:stop]
        case "HEADER" | "TEXT":
            return _of_message(found, number, (begin, end), word)
    return None


def _of_message(found: Outline, number: str, span: Span, word: str) -> bytes | None:
    if number == "":
        return found.raw[: found.headers.body] if word == "HEADER" else found.raw[found.headers.body :]
    part = next((one for one in found.root.walk() if one.path == number), None)
    if part is None or part.media_type not in MESSAGES:
        return None
    body = Headers(found.raw, *span).body
    return found.raw[span[0] : body] if word == "HEADER" else found.raw[body : span[1]]
