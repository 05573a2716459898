"""Single messages: envelopes, structure, octets, header blocks.

A message of up to `WHOLE` octets is fetched once and read by our own parser, exactly as it was received. Of a larger one
the server tells the structure, and only the part that is asked for is fetched, as a blob of its own.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import TYPE_CHECKING

from mcp_proton.domain.errors import NotFound
from mcp_proton.domain.mail import Structure
from mcp_proton.domain.transfer import Whole
from mcp_proton.jmap import envelopes, structures
from mcp_proton.jmap.errors import LimitExceeded
from mcp_proton.jmap.protocol import values
from mcp_proton.mime.structure import selecting
from mcp_proton.mime.structure.outline import outline, section

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from mcp_proton.domain.handles import Handle
    from mcp_proton.domain.mail import Envelope, Mailbox
    from mcp_proton.jmap.occurrences import Occurrences
    from mcp_proton.jmap.protocol.client import Client
    from mcp_proton.jmap.protocol.values import Object

WHOLE = 256 * 1024
"""octets up to which a message is read whole"""
KEPT = 16
"""such messages that are remembered: their octets never change (RFC 8621 §4)"""
JUST_SEEN = 5.0
"""seconds for which a message that was looked at is taken to be where it was"""
AT_ONCE = 100
"""messages whose envelopes are held while they are handed out"""
LONGEST_HEADER = 256 * 1024
PROPERTIES = (*envelopes.PROPERTIES, "blobId", "bodyStructure")


class Messages:
    """One account's messages."""

    def __init__(self, client: Client, occurrences: Occurrences) -> None:
        self._client, self._occurrences = client, occurrences
        self._raw: OrderedDict[str, bytes] = OrderedDict()
        self._seen: OrderedDict[Handle, tuple[float, Object]] = OrderedDict()

    async def envelopes(self, handles: Sequence[Handle]) -> list[Envelope]:
        """Those of handles that still point at a message, in the order asked."""
        looked = await self._occurrences.look(handles, envelopes.PROPERTIES)
        return [envelopes.envelope(looked.boxes[one], looked.emails[one]) for one in handles if one in looked.emails]

    async def structure(self, handle: Handle) -> Structure:
        """Envelope and parts of one message."""
        box, email = await self._look(handle)
        if values.number(email.get("size")) <= WHOLE:
            root = outline(await self._whole(email)).root
        else:
            root = structures.Outline(email.get("bodyStructure")).root
        shown: Envelope = envelopes.envelope(box, email)
        return Structure(shown._replace(has_attachments=selecting.has_attachments(root)), root)

    async def fetch(self, handle: Handle, part: str, start: int, limit: int | None) -> AsyncIterator[bytes]:
        """Octets of a section, piece by piece. Raises `Stale` or `NotFound` (`no_such_part`)."""
        if limit is not None and limit <= 0:
            return
        email = self._recent(handle) or (await self._look(handle))[1]
        if part and values.number(email.get("size")) <= WHOLE:
            found = section(await self._whole(email), part)
            if found is None:
                raise no_such_part()
            piece = found[start : None if limit is None else start + limit]
            if piece:
                yield piece
            return
        async for piece in self._large(email, part, start, limit):
            yield piece

    async def whole(self, handles: Sequence[Handle]) -> AsyncIterator[Whole]:
        """Those that are still there, one after the other, each as a stream of its blob."""
        for start in range(0, len(handles), AT_ONCE):
            some = list(dict.fromkeys(handles[start : start + AT_ONCE]))
            looked = await self._occurrences.look(some, (*envelopes.PROPERTIES, "blobId"))
            for one in some:
                if one in looked.emails:
                    email = looked.emails[one]
                    octets = self._client.blob(values.identifier(email.get("blobId")))
                    yield Whole(envelopes.envelope(looked.boxes[one], email), octets)

    async def headers(self, handles: Sequence[Handle]) -> dict[Handle, bytes]:
        """Header blocks: of what was just read, as it was received; else as the server tells them, where octets outside ASCII
        that no encoding explains may be lost."""
        found = {one: block for one in handles if (block := self._held_block(one)) is not None}
        left = [one for one in handles if one not in found]
        looked = await self._occurrences.look(left, ("headers",))
        return found | {one: _block(looked.emails[one]) for one in left if one in looked.emails}

    # --- parts -----------------------------------------------------------------------------------------------------

    async def _look(self, handle: Handle) -> tuple[Mailbox, Object]:
        box, email = await self._occurrences.one(handle, PROPERTIES, bodyProperties=structures.PROPERTIES)
        self._seen[handle] = time.monotonic(), email
        while len(self._seen) > KEPT:
            self._seen.popitem(last=False)
        return box, email

    def _recent(self, handle: Handle) -> Object | None:
        at, email = self._seen.get(handle, (float("-inf"), None))
        return email if time.monotonic() - at < JUST_SEEN else None

    def _held_block(self, handle: Handle) -> bytes | None:
        """The header block of a message whose octets are held, as long as it is taken to be where it was."""
        email = self._recent(handle)
        raw = None if email is None else self._raw.get(values.text(email.get("blobId")))
        return None if raw is None else section(raw, "HEADER")

    async def _whole(self, email: Object) -> bytes:
        blob = values.identifier(email.get("blobId"))
        if blob not in self._raw:
            held = bytearray()
            async for piece in self._client.blob(blob):
                held += piece
                if len(held) > 2 * WHOLE:
                    raise LimitExceeded("a message is larger than the mail server said")
            self._raw[blob] = bytes(held)
        self._raw.move_to_end(blob)
        while len(self._raw) > KEPT:
            self._raw.popitem(last=False)
        return self._raw[blob]

    async def _large(self, email: Object, part: str, start: int, limit: int | None) -> AsyncIterator[bytes]:
        blob = values.identifier(email.get("blobId"))
        if part in {"HEADER", "TEXT"}:
            header = await self._header(blob)
            if part == "HEADER":
                yield header[start : None if limit is None else start + limit]
                return
            start += len(header)
        elif part:
            found = structures.Outline(email.get("bodyStructure")).blobs.get(part)
            if found is None:
                raise no_such_part()
            blob = found
        async for piece in self._client.blob(blob, start, limit):
            yield piece

    async def _header(self, blob: str) -> bytes:
        held = b""
        async for piece in self._client.blob(blob, 0, LONGEST_HEADER):
            held += piece
        found = section(held, "HEADER")
        return held if found is None else found


def no_such_part() -> NotFound:
    """The error for a section that a message does not have."""
    return NotFound("this message has no such part", code="no_such_part")


def _block(email: Object) -> bytes:
    lines = bytearray()
    for told in values.sequence(email.get("headers") or []):
        field = values.mapping(told)
        lines += f"{values.text(field.get('name'))}:{values.text(field.get('value'))}\r\n".encode()
        if len(lines) > LONGEST_HEADER:
            break
    return bytes(lines[:LONGEST_HEADER]) + b"\r\n"
