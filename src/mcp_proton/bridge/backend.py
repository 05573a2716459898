"""BridgeBackend: an account on Proton Mail Bridge. Only what is true of Bridge and of no other server is here."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from mcp_proton.bridge import evidence, filing, proof, roles, sending
from mcp_proton.bridge.appending import BridgeAppending
from mcp_proton.bridge.departed import Departed
from mcp_proton.bridge.destroying import Destroying
from mcp_proton.bridge.labelling import Labelling
from mcp_proton.bridge.looking import MARKS
from mcp_proton.bridge.mailbox_changes import MailboxChanges
from mcp_proton.bridge.occurrences import Occurrences
from mcp_proton.bridge.outbox import BridgeOutbox
from mcp_proton.bridge.reattaching import Reattaching
from mcp_proton.bridge.sent_lately import SentLately
from mcp_proton.bridge.sync import Look, SyncWatch
from mcp_proton.domain.errors import Unsupported
from mcp_proton.domain.mail import Role
from mcp_proton.domain.ports import Health
from mcp_proton.imap import commands, health
from mcp_proton.imap.backend import ImapBackend
from mcp_proton.imap.criteria import CHEAP, Kind
from mcp_proton.imap.errors import Rejected
from mcp_proton.imap.flagging import Flagging
from mcp_proton.imap.mailboxes import wire_name
from mcp_proton.imap.search import Habits

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime
    from typing import Unpack

    from mcp_proton.bridge.evidence import Version
    from mcp_proton.domain.handles import Handle
    from mcp_proton.domain.mail import Mailbox
    from mcp_proton.domain.outcome import Fate
    from mcp_proton.domain.outgoing import Octets
    from mcp_proton.domain.ports import FlagChange, Home, Standing
    from mcp_proton.imap.backend import Settings
    from mcp_proton.imap.endpoint import Credentials, Endpoint
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
    """`guarded_trash`: a star guards what is moved to Trash (the owner's choice; see `guarding`).

    Reading on Bridge: SEARCH for flags only beside text (its text search decrypts the whole mailbox every time and
    reads raw octets), sections as one literal (it reads the whole message for every range).
    """

    package = "mcp_proton.bridge"
    search_habits = Habits(asked=CHEAP, asked_beside_text=frozenset({Kind.FLAG, Kind.SIZE}), bodies_by_server=False)
    step = None
    _marks = MARKS
    advice = ADVICE
    _watch: SyncWatch | None = None

    def __init__(
        self,
        name: str,
        endpoint: Endpoint,
        credentials: Credentials,
        *,
        guarded_trash: bool = False,
        **settings: Unpack[Settings],
    ) -> None:
        super().__init__(name, endpoint, credentials, **settings)
        self._writer = asyncio.Lock()
        known = Occurrences(self._pool, self._known)
        moving = filing.Filing(self._pool, self._mailbox_of, self._homes, known, guarded=guarded_trash)
        self._flagging = Flagging(self._pool, self._mailbox_of, page=sending.PAGE)
        self._moving = moving
        self._labelling = Labelling(self._pool, self._mailbox_of, self._homes, known)
        self._reattaching = Reattaching(self._pool, self._mailbox_of, self._homes, known)
        self._destroying = Destroying(self._pool, self._mailbox_of, self._homes, known, moving)
        self._proof = proof.Proving(self._pool, self._mailbox_of, known, self._flagging.set_flags)
        self._changes = MailboxChanges(self._pool, self._listed)
        departed = Departed()
        sent_lately = SentLately(self._searches, self._known, self.fetch)
        self._appending = BridgeAppending(self._pool, departed, sent_lately)
        outlet = settings.get("outlet")
        if outlet is not None:
            self._outbox = BridgeOutbox(outlet, self._tracing, self._pool, self._mailbox_of, departed)

    # --- changing: one writer at a time, since two that do the same MOVE lose the message --------------------------

    async def identify(self, handles: Sequence[Handle]) -> Mapping[Handle, str]:
        """Size, date and Proton's own id."""
        return await self._proof.identify(handles)

    async def set_flags(self, handles: Sequence[Handle], change: FlagChange) -> Sequence[Fate]:
        """For every mailbox that shows the message."""
        async with self._writer:
            return await self._flagging.set_flags(handles, change)

    async def move(self, handles: Sequence[Handle], to: Mailbox | Home) -> Sequence[Fate]:
        """From the message's own place into another."""
        async with self._writer:
            return await self._moving.move(handles, to)

    async def copy(self, handles: Sequence[Handle], to: Mailbox) -> Sequence[Fate]:
        """Nothing to offer: a copy into a folder moves."""
        raise Unsupported(
            "a copy does not exist on Proton: a message is in one place",
            next="nothing was done; move it, or give it a label to have it in two mailboxes",
        )

    async def reattach(self, handles: Sequence[Handle], to: Mailbox | Home) -> Sequence[Fate]:
        """From All Mail into a place, what has none."""
        async with self._writer:
            return await self._reattaching.reattach(handles, to)

    async def label(self, handles: Sequence[Handle], to: Mailbox) -> Sequence[Fate]:
        """COPY into the label."""
        async with self._writer:
            return await self._labelling.label(handles, to)

    async def unlabel(self, handles: Sequence[Handle]) -> Sequence[Fate]:
        """UID EXPUNGE in the label."""
        async with self._writer:
            return await self._labelling.unlabel(handles)

    async def destroy(self, handles: Sequence[Handle]) -> Sequence[Fate]:
        """In Trash and, for drafts, in Drafts; spam by way of Trash."""
        async with self._writer:
            return await self._destroying.destroy(handles)

    async def prove(self, fates: Sequence[Fate], to: Mailbox | Home | None, age: float) -> Sequence[Fate]:
        """Looks; and takes off the star that guarded what has arrived in Trash."""
        async with self._writer:
            return await self._proof.prove(fates, to, age)

    async def append(
        self, to: Mailbox, mail: Octets, *, flags: frozenset[str] = frozenset(), received: datetime | None = None
    ) -> Handle:
        """An import, or a draft; refused where Bridge would move a message it has."""
        async with self._writer:
            return await super().append(to, mail, flags=flags, received=received)

    async def create(self, path: str, role: Role) -> Mailbox:
        """A folder or a label."""
        async with self._writer:
            return await super().create(path, role)

    async def rename(self, box: Mailbox, path: str) -> Mailbox:
        """A folder with what is below it, or a label."""
        async with self._writer:
            return await super().rename(box, path)

    async def remove(self, box: Mailbox) -> None:
        """A label, or an empty folder."""
        async with self._writer:
            await super().remove(box)

    # --- what is known ---------------------------------------------------------------------------------------------

    @property
    def version(self) -> Version | None:
        """The version of the Bridge that answered last; None before the first login."""
        return None if self._made is None else evidence.version_in(self._made.greeting.decode("utf-8", "replace"))

    def features(self) -> Mapping[str, Standing]:
        """Standing of every word of `imap.features.WORDS`, by what was recorded of this version."""
        return self._with_sending(evidence.features_of(self.version, self._capabilities()))

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
