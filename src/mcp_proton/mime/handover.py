"""A message on its way from one server to another: as it is, but for what a server wrote into it to name its own occurrence.

To give those lines (`X-Pm-…`) to a server would name another message. Line ends are CRLF, as every server wants them. A
missing Message-ID is made of the content, so that the message is known again; a missing Date is when it was received.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mcp_proton.mime import incoming
from mcp_proton.mime.header.headers import Headers, message_ids

if TYPE_CHECKING:
    from datetime import datetime

_OCCURRENCE = re.compile(rb"^X-Pm-[!-9;-~]+[ \t]*:[^\n]*(?:\n[ \t][^\n]*)*(?:\n|\Z)", re.IGNORECASE | re.MULTILINE)


class Handover:
    """Feed it a message, and pass on what comes out. `added` names the header lines that were missing.

    `message_id` is for one that has none; `dated` for one without Date.
    """

    def __init__(self, message_id: str = "", dated: datetime | None = None) -> None:
        self.added: tuple[str, ...] = ()
        self._message_id, self._dated = message_id, dated
        self._block: bytearray | None = bytearray()
        self._ends = incoming.LineEnds()

    def feed(self, chunk: bytes) -> bytes:
        """Return what is certain by now."""
        if self._block is None:
            return self._ends.feed(chunk)
        self._block += chunk
        end = incoming.header_end(self._block)
        if end is not None:
            return self._headed(end)
        if len(self._block) <= incoming.LONGEST_HEADER:
            return b""
        endless, self._block = bytes(self._block), None
        return self._ends.feed(endless)

    def finish(self) -> bytes:
        """Return the rest."""
        rest = b"" if self._block is None else self._headed(len(self._block))
        return rest + self._ends.finish()

    def _headed(self, end: int) -> bytes:
        block, self._block = bytes(self._block or b""), None
        text = block[:end].replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        fields = Headers(text)
        made = "" if message_ids(fields.get("Message-ID")) else self._message_id
        dated = self._dated if fields.get("Date") is None else None
        self.added = (*(("Message-ID",) if made else ()), *(("Date",) if dated else ()))
        kept = _OCCURRENCE.sub(b"", text)
        head = incoming.completed(kept.replace(b"\n", b"\r\n"), message_id=made or None, dated=dated)
        return head + self._ends.feed(block[end:])
