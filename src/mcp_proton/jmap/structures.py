"""bodyStructure → the outline of a message (RFC 8621 §4.1.4). For messages that are too large to be read whole.

Parts are told, and fetched, as the server hands them out: decoded (`encoding` binary). What is inside a message that is
attached is not listed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_proton.domain.mail import Part
from mcp_proton.jmap.protocol import values
from mcp_proton.mime.decoding.words import decode_words
from mcp_proton.mime.header.parameters import parameters

if TYPE_CHECKING:
    from mcp_proton.jmap.protocol.values import Object

CONTENT_TYPE = "header:Content-Type:asRaw"
PROPERTIES = ("partId", "blobId", "size", "name", "type", "charset", "disposition", "cid", "subParts", CONTENT_TYPE)
MOST_PARTS = 1_000
DEEPEST = 60


class Outline:
    """The tree of parts, and the blob of each by its path."""

    def __init__(self, told: object) -> None:
        self.blobs: dict[str, str] = {}
        self._count = 0
        self.root = self._part(values.mapping(told), "", 0)

    def _part(self, told: Object, path: str, depth: int) -> Part:
        self._count += 1
        media_type = values.text(told.get("type")).lower() or "application/octet-stream"
        below = values.sequence(told.get("subParts") or [])
        if media_type.startswith("multipart/"):
            children = []
            for number, child in enumerate(below, 1):
                if self._count >= MOST_PARTS or depth >= DEEPEST:
                    break
                children.append(self._part(values.mapping(child), f"{path}.{number}".lstrip("."), depth + 1))
            return Part(path, media_type, children=tuple(children))
        path = path or "1"
        blob = told.get("blobId")
        if blob is not None:
            self.blobs[path] = values.identifier(blob)
        charset = values.text(told.get("charset")) or None
        name = values.text(told.get("name"))
        said = parameters(values.text(told.get(CONTENT_TYPE)).encode())[1]
        return Part(
            path=path,
            media_type=media_type,
            size=values.number(told.get("size")),
            encoding="binary",
            charset=charset,
            parameters=said,
            disposition=values.text(told.get("disposition")).lower() or None,
            filename=decode_words(name) or None,
            content_id=values.text(told.get("cid")).strip("<>") or None,
        )
