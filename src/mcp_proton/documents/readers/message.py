"""A message that was forwarded as a file (RFC 5322) → who, what, its text, and what is attached to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

from mcp_proton.documents.decoding import beginning
from mcp_proton.documents.kinds import MOST_OF_A_TEXT
from mcp_proton.mime.limits import Limits
from mcp_proton.mime.notices import Notice
from mcp_proton.mime.structure.parse import parse

if TYPE_CHECKING:
    from mcp_proton.documents.pages import Pages
    from mcp_proton.domain.documents import Claim

_LIMITS = Limits(text=MOST_OF_A_TEXT)
_SHOWN = frozenset({"from", "to", "cc", "date", "subject"})


def read(file: BinaryIO, pages: Pages, claim: Claim) -> None:
    """Read a message; its own attachments are named, not opened."""
    octets, complete = beginning(file, claim)
    message = parse(octets, limits=_LIMITS)
    header = [f"{name}: {value}" for name, value in message.headers if name.lower() in _SHOWN]
    attached = [f"[attachment: {one.filename}, {one.media_type}]" for one in message.attachments if not one.inline]
    blocks = ["\n".join(header), message.text.strip(), "\n".join(attached)]
    pages.notices |= message.notices - {Notice.FILE_NAME_CHANGED}
    if not complete:
        pages.notices.add(Notice.TRUNCATED)
    pages.alone("\n\n".join(block for block in blocks if block))
