"""The power to send through Bridge: what `Submits` means where a 250 may be a silence and a 554 a mail that is out."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING

from mcp_proton.bridge.changing.looking import ID_HEADER, InternalIdToken
from mcp_proton.bridge.changing.proof import MISMATCH
from mcp_proton.bridge.handing_over import resend
from mcp_proton.bridge.handing_over.appending import LARGEST
from mcp_proton.domain.outgoing import Capacity, Repetition, Trace
from mcp_proton.imap import keys
from mcp_proton.imap.errors import gone
from mcp_proton.imap.mailboxes import wire_name
from mcp_proton.imap.protocol.fetching import Items
from mcp_proton.imap.submission.outbox import Outbox

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from mcp_proton.bridge.handing_over.departed import Departed
    from mcp_proton.bridge.handing_over.submit import BridgeSubmitting
    from mcp_proton.domain.handles import Handle
    from mcp_proton.domain.mail import Mailbox
    from mcp_proton.domain.outgoing import Octets
    from mcp_proton.imap.protocol.pool import Pool
    from mcp_proton.imap.submission.outlet import Outlet
    from mcp_proton.imap.tracing import Tracing

LARGEST_SENT = 36_000_000
"""octets: a mail with the 25 MiB of attachments that Proton documents (not measured), in base64, and a text"""
SETTLED = timedelta(seconds=MISMATCH)
"""two polls: after that, what Sent does not show was not sent"""


class BridgeOutbox(Outbox):
    """`resolve` gives a handle's mailbox, `departed` remembers what went, `unsettled` says why Bridge is not up to date."""

    def __init__(
        self,
        outlet: Outlet,
        tracing: Tracing,
        pool: Callable[[], Pool],
        resolve: Callable[[Handle], Awaitable[Mailbox]],
        departed: Departed,
        unsettled: Callable[[], Awaitable[str | None]],
    ) -> None:
        super().__init__(outlet, tracing, pool)
        self._resolve, self._departed, self._unsettled = resolve, departed, unsettled

    @cached_property
    def _submitting(self) -> BridgeSubmitting:
        from mcp_proton.bridge.handing_over.submit import BridgeSubmitting  # here, since most processes never send

        return BridgeSubmitting(self._outlet, self._departed)

    async def capacity(self) -> Capacity:
        """Bridge names no limit for sending, and Proton's comes after all is uploaded; what can be stored was measured."""
        said = await self._submitting.limit()
        return Capacity(LARGEST_SENT if said is None else min(said, LARGEST_SENT), LARGEST)

    async def anchor(self, handle: Handle) -> str | None:
        """Proton's id of the message: the last such reference decides about the thread, and which draft is replaced."""
        found = (await self._ids([handle])).get(handle)
        if found is None:
            raise gone()
        return f"<{found}@protonmail.internalid>"

    async def repetition(self, recipients: Sequence[str], mail: Octets) -> Repetition | None:
        """The key of Bridge's own rule."""
        return Repetition(resend.key_for(await resend.read(mail), recipients), resend.WITHIN)

    async def trace(self, message_id: str, since: datetime) -> Trace:
        """A draft that is also in Sent is a ghost until the next event, and left out: removing it would destroy the mail."""
        found = await super().trace(message_id, since)
        if found.sent is not None and found.drafts:
            ids = await self._ids([found.sent, *found.drafts])
            real = tuple(one for one in found.drafts if ids.get(one) != ids.get(found.sent))
            found = replace(found, drafts=real)
        settled = datetime.now(UTC) - since >= SETTLED and await self._unsettled() is None
        return replace(found, settled=found.sent is not None or settled)

    @property
    def files_sent(self) -> bool:
        """Always: the copy comes with the event."""
        return True

    async def _ids(self, handles: Sequence[Handle]) -> dict[Handle, str]:
        ids: dict[Handle, str] = {}
        for handle in handles:
            uidvalidity, uid = keys.read(handle.key)
            box = await self._resolve(handle)
            async with self._pool().reading(wire_name(box), uidvalidity=uidvalidity) as opened:
                rows = await opened.fetch_all([uid], Items(sections=(ID_HEADER,)))
            token = InternalIdToken().read(rows[0]) if rows else ""
            if token:
                ids[handle] = token
        return ids
