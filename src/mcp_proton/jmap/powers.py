"""What a JMAP server does beyond keeping mail, as far as its session says that it does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_proton.jmap.finding.correspondence import Correspondents
from mcp_proton.jmap.threads import Threads
from mcp_proton.jmap.vacations import Vacations

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_proton.domain.handles import Handle
    from mcp_proton.domain.mail import Identity, Mailbox
    from mcp_proton.domain.powers import Conversation, Correspondence, Vacation
    from mcp_proton.jmap.mailboxes import Mailboxes
    from mcp_proton.jmap.protocol.client import Client
    from mcp_proton.jmap.submission.identities import Identities


class JmapPowers:
    """See `ServerPowers`."""

    def __init__(self, client: Client, identities: Identities, mailboxes: Mailboxes) -> None:
        self._vacations, self._identities = Vacations(client), identities
        self._threads = Threads(client, mailboxes)
        self._correspondents = Correspondents(client, mailboxes)

    async def conversation(self, handle: Handle, scope: Sequence[Mailbox]) -> Conversation:
        """Thread/get."""
        return await self._threads.conversation(handle, scope)

    async def correspondence(self, addresses: Sequence[str]) -> Correspondence:
        """Email/query over Sent, and over what was received."""
        return await self._correspondents.correspondence(addresses)

    async def vacation(self) -> Vacation:
        """VacationResponse/get."""
        return await self._vacations.get()

    async def set_vacation(self, vacation: Vacation) -> Vacation:
        """VacationResponse/set."""
        return await self._vacations.set(vacation)

    async def create_identity(self, identity: Identity) -> Identity:
        """Identity/set."""
        return await self._identities.create(identity)
