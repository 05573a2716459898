"""Deciding what an envelope does not tell: header fields, structure or body text, as much as a query needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_proton.domain.query import Candidate, Contains, Field, HasAttachment, HeaderContains, Query, leaves, matches
from mcp_proton.jmap import envelopes, structures
from mcp_proton.jmap.protocol import values
from mcp_proton.jmap.protocol.client import Call
from mcp_proton.mime import searching
from mcp_proton.mime.excerpt import excerpt
from mcp_proton.mime.header.headers import Headers
from mcp_proton.mime.hypertext import html
from mcp_proton.mime.structure import selecting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_proton.domain.mail import Mailbox
    from mcp_proton.jmap.protocol.client import Client
    from mcp_proton.jmap.protocol.values import Object

LONGEST_TEXT = 2 << 20
"""octets of one text that are searched"""
AT_ONCE = 8 << 20
"""octets of messages asked for in one request"""
DIFFICULT = 1 << 20
"""a message up to this size is read whole where the server could not decode it"""
_OF_BODIES = frozenset({Field.BODY, Field.TEXT})
_TEXTS = {
    "properties": ["id", "textBody", "htmlBody", "bodyValues"],
    "bodyProperties": ["partId", "type"],
    "fetchTextBodyValues": True,
    "fetchHTMLBodyValues": True,
    "maxBodyValueBytes": LONGEST_TEXT,
}


class Contents:
    """Looks into messages for one query."""

    def __init__(self, client: Client, query: Query) -> None:
        self._client, self._query = client, query
        found = list(leaves(query))
        self._headers = any(isinstance(leaf, HeaderContains) for leaf in found)
        self._outline = any(isinstance(leaf, HasAttachment) for leaf in found)
        self._wanted = [leaf.text for leaf in found if isinstance(leaf, Contains) and leaf.field in _OF_BODIES]
        self.excerpts: dict[str, str] = {}
        """by message, the words around what was found in its text"""
        self.cut = 0
        """large messages of which only the beginning was searched"""

    @property
    def wanted(self) -> Object:
        """What is asked of Email/get for each candidate."""
        more = (*(("headers",) if self._headers else ()), *(("bodyStructure",) if self._outline else ()), "blobId")
        asked: Object = {"properties": [*envelopes.PROPERTIES, *more]}
        return asked | ({"bodyProperties": structures.PROPERTIES} if self._outline else {})

    async def matching(self, mailbox: Mailbox, emails: Sequence[Object]) -> list[Object]:
        """Those that match, in their order."""
        decided = {
            values.identifier(email["id"]): matches(self._query, self._known(mailbox, email)) for email in emails
        }
        unclear = [email for email in emails if decided[email["id"]] is None]
        if self._wanted:
            for some in await self._batches(unclear):
                for email, texts in zip(some, await self._texts(some), strict=True):
                    body = await self._body(mailbox, email, texts)
                    decided[email["id"]] = matches(self._query, body)
                    if decided[email["id"]]:
                        self.excerpts[email["id"]] = excerpt(body.texts.get(Field.BODY) or "", self._wanted)
        return [email for email in emails if decided[email["id"]]]

    def _known(self, mailbox: Mailbox, email: Object, body: str | None = None) -> Candidate:
        headers = Headers(_header_lines(email)) if self._headers else None
        attached = None
        if self._outline:
            attached = selecting.has_attachments(structures.Outline(email.get("bodyStructure")).root)
        return searching.of_envelope(envelopes.envelope(mailbox, email), headers=headers, body=body, attached=attached)

    async def _batches(self, emails: Sequence[Object]) -> list[Sequence[Object]]:
        most = (await self._client.limits()).objects_in_get
        batches: list[list[Object]] = []
        octets = AT_ONCE
        for email in emails:
            size = min(values.number(email.get("size")), 2 * LONGEST_TEXT)
            if octets + size > AT_ONCE or len(batches[-1]) == most:
                batches.append([])
                octets = 0
            batches[-1].append(email)
            octets += size
        return list(batches)

    async def _texts(self, emails: Sequence[Object]) -> list[Object]:
        (answer,) = await self._client.demand(Call("Email/get", {"ids": [email["id"] for email in emails], **_TEXTS}))
        by_id = {one.get("id"): one for one in values.listed(answer)}
        return [by_id.get(email["id"], {}) for email in emails]

    async def _body(self, mailbox: Mailbox, email: Object, told: Object) -> Candidate:
        texts: list[str] = []
        known = values.mapping(told.get("bodyValues") or {})
        parts = [*values.sequence(told.get("textBody") or []), *values.sequence(told.get("htmlBody") or [])]
        kinds = {values.text(part.get("partId")): values.text(part.get("type")) for part in map(values.mapping, parts)}
        for part_id, value in known.items():
            found = values.mapping(value)
            if found.get("isEncodingProblem") is True and values.number(email.get("size")) <= DIFFICULT:
                return await self._by_octets(mailbox, email)
            self.cut += found.get("isTruncated") is True
            text = values.text(found.get("value"))
            is_html = kinds.get(part_id, "").lower() in {"text/html", "application/xhtml+xml"}
            texts.append(html.to_text(text).text if is_html else text)
        return self._known(mailbox, email, "\n".join(texts))

    async def _by_octets(self, mailbox: Mailbox, email: Object) -> Candidate:
        """A message the server could not decode, by our own reading."""
        held = bytearray()
        async for piece in self._client.blob(values.identifier(email.get("blobId")), 0, DIFFICULT):
            held += piece
        return searching.candidate(bytes(held), envelopes.envelope(mailbox, email))


def _header_lines(email: Object) -> bytes:
    told = map(values.mapping, values.sequence(email.get("headers") or []))
    lines = [f"{values.text(one.get('name'))}:{values.text(one.get('value'))}\r\n" for one in told]
    return "".join(lines).encode() + b"\r\n"
