"""Named messages: their envelopes, outlines, header blocks and octets.

A handle's UIDVALIDITY is compared with the mailbox as it is opened, and a UID that is not there makes it be opened again
before anybody is told that the message is gone. Reading is EXAMINE and PEEK only.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mcp_proton.domain.errors import MailError, NotFound, Stale
from mcp_proton.domain.mail import Structure
from mcp_proton.imap import envelopes, keys, structures
from mcp_proton.imap.bulk import SUMMARY, Bulk
from mcp_proton.imap.errors import Rejected, gone
from mcp_proton.imap.finding.contents import OUTLINE
from mcp_proton.imap.groups import grouped
from mcp_proton.imap.mailboxes import wire_name
from mcp_proton.imap.protocol.fetching import FetchRange, Items
from mcp_proton.imap.protocol.streaming import STEP
from mcp_proton.mime.structure import selecting

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

    from mcp_proton.domain.handles import Handle
    from mcp_proton.domain.mail import Envelope, Mailbox
    from mcp_proton.domain.transfer import Whole
    from mcp_proton.imap.groups import Group
    from mcp_proton.imap.protocol.box import Box
    from mcp_proton.imap.protocol.pool import Pool

LONGEST_HEADER = 256 * 1024
AT_ONCE = 50


class Messages:
    """Reads the messages that handles name. `resolve` gives the mailbox of a tag, or raises `Stale`.

    `step` is the size of a range; None has long sections come as one literal, which is cheaper where the server reads
    the whole message for every range.
    """

    def __init__(
        self, pool: Callable[[], Pool], resolve: Callable[[Handle], Awaitable[Mailbox]], *, step: int | None = STEP
    ) -> None:
        self._pool = pool
        self._resolve = resolve
        self._step = step

    async def envelopes(self, handles: Sequence[Handle]) -> list[Envelope]:
        """Envelopes of what is still there, in the order asked."""
        found: dict[Handle, Envelope] = {}
        for group in await self._grouped(handles):
            try:
                async with self._pool().reading(wire_name(group.mailbox), uidvalidity=group.uidvalidity) as box:
                    rows = await box.fetch_all(group.uids, replace(SUMMARY, version=box.versioned))
            except Stale:
                continue
            for row in rows:
                shown = envelopes.envelope(group.mailbox, group.uidvalidity, row)
                found[shown.handle] = shown
        return [found[handle] for handle in handles if handle in found]

    async def headers(self, handles: Sequence[Handle]) -> dict[Handle, bytes]:
        """Header blocks of what is still there, each cut at 256 KiB."""
        found: dict[Handle, bytes] = {}
        for group in await self._grouped(handles):
            try:
                async with self._pool().reading(wire_name(group.mailbox), uidvalidity=group.uidvalidity) as box:
                    blocks = await _header_blocks(box, group.uids)
            except Stale:
                continue
            found |= {group.handle(uid): block for uid, block in blocks.items()}
        return {handle: found[handle] for handle in handles if handle in found}

    async def whole(self, handles: Sequence[Handle]) -> AsyncIterator[Whole]:
        """Whole messages: small ones many at once, each large one as a stream. What is gone is left out."""
        for group in await self._grouped(handles):
            try:
                async with self._pool().reading(wire_name(group.mailbox), uidvalidity=group.uidvalidity) as box:
                    async for one in Bulk(box, group, step=self._step).messages():
                        yield one
            except Stale:
                continue

    async def structure(self, handle: Handle) -> Structure:
        """Envelope and outline. Raises `Stale`."""
        mailbox, uidvalidity, uid = await self._place(handle)
        async with self._pool().reading(wire_name(mailbox), uidvalidity=uidvalidity) as box:
            rows = await box.fetch_all([uid], replace(OUTLINE, version=box.versioned))
        if not rows:
            raise gone()
        root = structures.outline(rows[0].bodystructure)
        shown = envelopes.envelope(mailbox, uidvalidity, rows[0])
        return Structure(shown._replace(has_attachments=selecting.has_attachments(root)), root)

    async def fetch(self, handle: Handle, part: str, start: int, limit: int | None) -> AsyncIterator[bytes]:
        """Octets of a section, piece by piece. Raises `Stale` or `NotFound` (`no_such_part`)."""
        mailbox, uidvalidity, uid = await self._place(handle)
        if limit is not None and limit <= 0:
            return
        step = self._step if self._step is not None or limit is None or limit > STEP else STEP
        async with self._pool().reading(wire_name(mailbox), uidvalidity=uidvalidity) as box:
            stream = box.stream(uid, part, start, limit, step=step)
            empty = True
            try:
                async for piece in stream:
                    empty = False
                    yield piece
            except (NotFound, Rejected):
                raise await _missing(box, uid) from None
            finally:
                stream.leave()
            if empty and start == 0 and not await _has_part(box, uid, part):
                raise no_such_part()

    async def _place(self, handle: Handle) -> tuple[Mailbox, int, int]:
        uidvalidity, uid = keys.read(handle.key)
        return await self._resolve(handle), uidvalidity, uid

    async def _grouped(self, handles: Sequence[Handle]) -> list[Group]:
        """Handles by mailbox and UIDVALIDITY; those whose mailbox is gone are left out."""
        groups, wrong = await grouped(handles, self._resolve)
        for error in wrong.values():
            if not isinstance(error, Stale):
                raise error
        return groups


def no_such_part() -> NotFound:
    """The error for a section that a message does not have."""
    return NotFound("this message has no such part", code="no_such_part")


async def _missing(box: Box, uid: int) -> MailError:
    """What it means that a section could not be had: is the message gone, or only the part not there?

    Asked by FETCH: Bridge refuses a SEARCH that names UIDs in an empty mailbox.
    """
    return no_such_part() if await box.fetch_all([uid], Items(flags=True)) else gone()


async def _has_part(box: Box, uid: int, section: str) -> bool:
    """Whether a section that came empty is there at all: Dovecot sends nothing for a part that is not."""
    number = section.rstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ").rstrip(".")
    if not number:
        return True
    rows = await box.fetch_all([uid], Items(structure=True))
    return any(part.path == number for row in rows for part in structures.outline(row.bodystructure).walk())


async def _header_blocks(box: Box, uids: Sequence[int]) -> dict[int, bytes]:
    found: dict[int, bytes] = {}
    for start in range(0, len(uids), AT_ONCE):
        some = uids[start : start + AT_ONCE]
        answers = await box.pipeline([FetchRange(uid, "HEADER", 0, LONGEST_HEADER) for uid in some])
        found |= {uid: block for uid, block in zip(some, answers, strict=True) if isinstance(block, bytes)}
    if len(found) < len(uids):
        await box.look_again()
    return found
