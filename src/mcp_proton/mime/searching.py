"""What a search looks at: decoded text, so that encodings, soft breaks and charsets hide nothing (N-3, B-02)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_proton.domain.query import Candidate, Field
from mcp_proton.mime.decoding.words import decode_words
from mcp_proton.mime.structure.outline import outline
from mcp_proton.mime.structure.reading import shown
from mcp_proton.mime.structure.selecting import Readable, has_attachments, readable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from mcp_proton.domain.mail import Address, Envelope, Part
    from mcp_proton.mime.header.headers import Headers


def candidate(raw: bytes, envelope: Envelope) -> Candidate:
    """Return all that is known of a message whose octets are at hand."""
    found = outline(raw)
    chosen = readable(found.root)
    octets = {part.path: (found.octets(part), True) for part in (*chosen.plain, *chosen.html)}
    return of_envelope(
        envelope,
        headers=found.headers,
        body=body_text(chosen, octets),
        attached=has_attachments(found.root),
    )


def of_envelope(
    envelope: Envelope, *, headers: Headers | None = None, body: str | None = None, attached: bool | None = None
) -> Candidate:
    """Return what is known from an envelope, and whatever else was fetched."""
    texts: dict[Field, str | None] = {
        Field.SUBJECT: envelope.subject,
        Field.FROM: people(envelope.sender),
        Field.TO: people(envelope.to),
        Field.CC: people(envelope.cc),
        Field.BCC: people(envelope.bcc),
        Field.BODY: body,
    }
    return Candidate(
        texts=texts,
        headers=_values(headers) if headers is not None else None,
        received=envelope.received,
        size=envelope.size,
        flags=envelope.flags,
        has_attachments=envelope.has_attachments if attached is None else attached,
        message_id=envelope.message_id,
        in_reply_to=envelope.in_reply_to,
    )


def body_text(chosen: Readable, octets: Mapping[str, tuple[bytes, bool]]) -> str | None:
    """Return every text of a body, plain and HTML, from encoded octets by path with whether they are complete.

    None while a part is missing. Text that ends early still answers, as what was fetched.
    """
    parts: dict[str, Part] = {part.path: part for part in (*chosen.plain, *chosen.html)}
    if parts.keys() - octets.keys():
        return None
    return "\n".join(shown(part, octets[path][0], complete=octets[path][1]).text for path, part in parts.items())


def people(addresses: Iterable[Address]) -> str:
    """Return names and addresses as a search reads them."""
    return "\n".join(f"{one.name} {one.email}" for one in addresses)


def _values(headers: Headers) -> Callable[[str], Sequence[str]]:
    return lambda name: [decode_words(value) for value in headers.all(name)]
