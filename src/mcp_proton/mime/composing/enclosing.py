"""Enclosures, streamed: what an enclosure must know of its octets, and its octets on their way into a message.

Memory is bounded by the chunk, whatever the size. An enclosure whose octets are not those that were pinned ends in
`Conflict` before the message around it is complete.
"""

from __future__ import annotations

import binascii
import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcp_proton.domain.errors import Conflict
from mcp_proton.domain.outgoing import Enclosure, Passage

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Sequence

LONGEST_LINE = 998
"""Octets before CRLF (RFC 5322 §2.1.1)."""

_ENCODED_LINE = 76
_GROUP = 57
"""Octets that fill one line of base64."""
_PIECE = _GROUP * 1024
_BARE_LF = re.compile(rb"(?<!\r)\n")


@dataclass(frozen=True, slots=True)
class Slot:
    """Where the octets of an enclosure go, and how they are written: base64, or 7bit or 8bit for a whole message."""

    enclosure: Enclosure
    encoding: str

    @property
    def size(self) -> int:
        """How many octets will stand there."""
        if self.encoding != "base64":
            return self.enclosure.size + self.enclosure.line_feeds
        letters = -(-self.enclosure.size // 3) * 4
        return letters + max(0, -(-letters // _ENCODED_LINE) - 1) * 2


class Survey:
    """Looks at octets as they pass by, once, and tells what an `Enclosure` has to know of them."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()
        self._size = 0
        self._line = 0
        self._line_feeds = 0
        self._carriage_return = False
        self._eight_bit = False
        self._binary = False

    def feed(self, chunk: bytes) -> None:
        """Look at the next octets, in chunks of any size."""
        self._digest.update(chunk)
        self._size += len(chunk)
        if self._binary or not chunk:
            return
        seen = b"\r" + chunk if self._carriage_return else chunk
        self._carriage_return = seen.endswith(b"\r")
        seen = seen[:-1] if self._carriage_return else seen
        pairs = seen.count(b"\r\n")
        self._line_feeds += seen.count(b"\n") - pairs
        first, *others = seen.replace(b"\r\n", b"\n").split(b"\n")
        longest = max(self._line + len(first), *map(len, others), 0)
        self._line = len(others[-1]) if others else self._line + len(first)
        self._eight_bit = self._eight_bit or not seen.isascii()
        self._binary = longest > LONGEST_LINE or b"\0" in seen or seen.count(b"\r") > pairs

    def enclosure(self, filename: str, media_type: str, content_id: str | None = None) -> Enclosure:
        """Return the enclosure whose octets these were, pinned by size and digest."""
        binary = self._binary or self._carriage_return
        passage = Passage.BINARY if binary else Passage.EIGHT_BIT if self._eight_bit else Passage.SEVEN_BIT
        return Enclosure(
            filename=filename,
            media_type=media_type,
            size=self._size,
            sha256=self._digest.hexdigest(),
            content_id=content_id,
            passage=passage,
            line_feeds=0 if binary else self._line_feeds,
        )


class SlotEncoder:
    """Writes one enclosure into its slot, as its octets arrive in chunks of any sizes."""

    def __init__(self, slot: Slot) -> None:
        self._slot = slot
        self._digest = hashlib.sha256()
        self._size = 0
        self._held = b""
        self._begun = False

    def feed(self, chunk: bytes) -> bytes:
        """Take octets as they are, return what of the slot they make."""
        self._digest.update(chunk)
        self._size += len(chunk)
        if self._size > self._slot.enclosure.size:
            raise _changed()
        seen = self._held + chunk
        if self._slot.encoding == "base64":
            whole = len(seen) - len(seen) % _GROUP
            self._held = seen[whole:]
            return self._lines(seen[:whole])
        self._held = b"\r" if seen.endswith(b"\r") else b""
        return _BARE_LF.sub(b"\r\n", seen[: len(seen) - len(self._held)])

    def finish(self) -> bytes:
        """Return the rest. Raises `Conflict` if the octets are not those that were pinned."""
        enclosure = self._slot.enclosure
        if self._size != enclosure.size or self._digest.hexdigest() != enclosure.sha256.lower():
            raise _changed()
        return self._lines(self._held) if self._slot.encoding == "base64" else self._held

    def _lines(self, octets: bytes) -> bytes:
        lines = [binascii.b2a_base64(octets[at : at + _GROUP], newline=False) for at in range(0, len(octets), _GROUP)]
        if lines and self._begun:
            lines.insert(0, b"")
        self._begun = self._begun or bool(lines)
        return b"\r\n".join(lines)


async def streamed(
    pieces: Sequence[bytes | Slot], opened: Callable[[Enclosure], AsyncIterator[bytes]]
) -> AsyncIterator[bytes]:
    """Yield a composed message from its start, fetching the octets of each enclosure when its turn comes."""
    for piece in pieces:
        if isinstance(piece, bytes):
            yield piece
            continue
        encoder = SlotEncoder(piece)
        async for chunk in opened(piece.enclosure):
            for part in _portions(chunk):
                if octets := encoder.feed(part):
                    yield octets
        if octets := encoder.finish():
            yield octets


def _portions(chunk: bytes) -> Iterator[bytes]:
    for at in range(0, len(chunk), _PIECE):
        yield chunk[at : at + _PIECE]


def _changed() -> Conflict:
    return Conflict("an attachment is no longer what it was when the mail was prepared", code="attachment_changed")
