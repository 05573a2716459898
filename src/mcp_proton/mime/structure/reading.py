"""The text of a message from its text parts, whoever fetched them: the plain view first, HTML where that says nothing."""

from __future__ import annotations

import html as escaping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcp_proton.mime.decoding import text
from mcp_proton.mime.hypertext import html
from mcp_proton.mime.notices import Decoded, Notice
from mcp_proton.mime.structure.selecting import Readable, is_stub

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mcp_proton.domain.mail import Part

HTML = frozenset({"text/html", "application/xhtml+xml"})


@dataclass(frozen=True, slots=True)
class Body:
    """The readable text, the HTML source behind it where it was read, and what happened on the way."""

    text: str
    html: str | None = None
    notices: frozenset[str] = frozenset()


def shown(part: Part, encoded: bytes, *, complete: bool = True) -> Decoded:
    """Return a text part as plain text; HTML is converted."""
    decoded = text.decode(part, encoded, complete=complete)
    if part.media_type not in HTML:
        return decoded
    rendered = html.to_text(decoded.text)
    return Decoded(rendered.text, decoded.notices | rendered.notices)


def as_html(part: Part, encoded: bytes, *, complete: bool = True) -> Decoded:
    """Return a text part as HTML source; plain text is quoted in `pre`."""
    decoded = text.decode(part, encoded, complete=complete)
    if part.media_type in HTML:
        return decoded
    return Decoded(f"<pre>{escaping.escape(decoded.text, quote=False)}</pre>", decoded.notices)


def body(readable: Readable, octets: Callable[[Part], bytes], *, limit: int) -> Body:
    """Read the body: its plain parts, or its HTML parts where there are no plain ones or they say nothing."""
    plain = [shown(part, octets(part)) for part in readable.plain]
    source = [text.decode(part, octets(part)) for part in readable.html if part.media_type in HTML]
    read, ignored = plain, frozenset[str]()
    if readable.html and is_stub(_joined(plain)):
        read = [shown(part, octets(part)) for part in readable.html]
        ignored = frozenset({Notice.ALTERNATIVE_IGNORED}) if _joined(plain) else frozenset()
    said = _joined(read)
    notices = ignored.union(*(one.notices for one in read))
    if len(said) > limit:
        said, notices = said[:limit], notices | {Notice.TRUNCATED}
    return Body(said, "\n".join(one.text for one in source) if source else None, notices)


def _joined(texts: Sequence[Decoded]) -> str:
    return "\n\n".join(one.text.strip("\n") for one in texts if one.text.strip())
