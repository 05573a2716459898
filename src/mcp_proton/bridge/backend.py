"""BridgeBackend: an account on Proton Mail Bridge. Only what is true of Bridge and of no other server is here."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from mcp_proton.bridge import evidence, roles
from mcp_proton.bridge.sync import Look, SyncWatch
from mcp_proton.domain.mail import Role
from mcp_proton.domain.ports import Health
from mcp_proton.imap import commands, health
from mcp_proton.imap.backend import ImapBackend
from mcp_proton.imap.criteria import CHEAP, Kind
from mcp_proton.imap.errors import Rejected
from mcp_proton.imap.mailboxes import wire_name
from mcp_proton.imap.search import Habits

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mcp_proton.bridge.evidence import Version
    from mcp_proton.domain.mail import Mailbox
    from mcp_proton.domain.ports import Standing
    from mcp_proton.imap.responses import ListEntry

ADVICE: Mapping[str, str] = {
    **health.ADVICE,
    "connection_refused": "ask the owner to start Proton Mail Bridge, and to look whether it has a network: it closes its "
    "port without one",
    "auth_failed": "ask the owner to look into Proton Mail Bridge: the account may be signed out or still starting, or its "
    "Bridge password is another one by now; then to run `mcp-proton doctor`",
    "untrusted_server": "nothing was sent; a reinstalled Bridge has a new certificate, so ask the owner to run "
    "`mcp-proton doctor` and to compare the fingerprint with the one Bridge exports",
}


class BridgeBackend(ImapBackend):
    """Reading on Bridge: SEARCH for flags only beside text (its text search decrypts the whole mailbox every time and
    reads raw octets), sections as one literal (it reads the whole message for every range)."""

    package = "mcp_proton.bridge"
    search_habits = Habits(asked=CHEAP, asked_beside_text=frozenset({Kind.FLAG, Kind.SIZE}), bodies_by_server=False)
    step = None
    advice = ADVICE
    _watch: SyncWatch | None = None

    @property
    def version(self) -> Version | None:
        """The version of the Bridge that answered last; None before the first login."""
        return None if self._made is None else evidence.version_in(self._made.greeting.decode("utf-8", "replace"))

    def features(self) -> Mapping[str, Standing]:
        """Standing of every word of `imap.features.WORDS`, by what was recorded of this version."""
        return evidence.features_of(self.version, self._capabilities())

    def _arranged(self, entries: Iterable[ListEntry]) -> list[Mailbox]:
        return roles.mailboxes(self.name, entries)

    def _is_dear(self, mailbox: Mailbox) -> bool:
        """All Mail: STATUS loads the list of the whole mailbox, and this one holds everything."""
        return mailbox.role is Role.ALL

    async def _well(self) -> Health:
        version = self.version
        if self._watch is None:
            self._watch = SyncWatch(self._look, asyncio.sleep)
        return Health(
            connected=True,
            server="Proton Mail Bridge" if version else "a server that does not say it is Proton Mail Bridge",
            version=str(version or ""),
            # Combined and split mode look alike over IMAP: either shows one tree.
            mode=None,
            capabilities=tuple(sorted(self._capabilities() or ())),
            syncing=await self._watch.syncing(),
        )

    async def _look(self) -> Look:
        boxes = await self._list.mailboxes(self._pool(), counts=False, fresh=False)
        largest = next((box for box in boxes if box.role is Role.ALL), None)
        name = b"INBOX" if largest is None else wire_name(largest)
        try:
            told = (await self._pool().run(commands.StatusOf(name, ("MESSAGES", "UIDNEXT")))).items
        except Rejected:
            told = {}
        return Look(asyncio.get_running_loop().time(), told.get("MESSAGES", 0), told.get("UIDNEXT", 0))
