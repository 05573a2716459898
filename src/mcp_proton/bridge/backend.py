"""BridgeBackend: an account on Proton Mail Bridge. Only what is true of Bridge and of no other server is here."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from mcp_proton.bridge import roles
from mcp_proton.bridge.changing import filing, proof, sending
from mcp_proton.bridge.changing.destroying import Destroying
from mcp_proton.bridge.changing.labelling import Labelling
from mcp_proton.bridge.changing.looking import MARKS
from mcp_proton.bridge.changing.mailbox_changes import MailboxChanges
from mcp_proton.bridge.changing.occurrences import SHOWING, Occurrences
from mcp_proton.bridge.changing.reach import Reach
from mcp_proton.bridge.changing.reattaching import Reattaching
from mcp_proton.bridge.handing_over.appending import BridgeAppending
from mcp_proton.bridge.handing_over.departed import Departed
from mcp_proton.bridge.handing_over.outbox import BridgeOutbox
from mcp_proton.bridge.handing_over.sent_lately import SentLately
from mcp_proton.bridge.sync import Look, SyncWatch
from mcp_proton.bridge.trying import evidence
from mcp_proton.domain.errors import MailError, NotSynced, Unsupported
from mcp_proton.domain.findings import NoFindings
from mcp_proton.domain.mail import Role
from mcp_proton.domain.outcome import Ending
from mcp_proton.domain.ports import Health, Standing
from mcp_proton.imap import health
from mcp_proton.imap.backend import ImapBackend
from mcp_proton.imap.changing.flagging import Flagging
from mcp_proton.imap.changing.marks import Mark
from mcp_proton.imap.errors import Rejected
from mcp_proton.imap.finding.criteria import CHEAP, Kind
from mcp_proton.imap.finding.search import Habits
from mcp_proton.imap.mailboxes import wire_name
from mcp_proton.imap.protocol import commands

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime
    from typing import Unpack

    from mcp_proton.bridge.sync import Sightings
    from mcp_proton.bridge.trying.evidence import Version
    from mcp_proton.domain.consequences import EffectTable
    from mcp_proton.domain.findings import Finding, KnownFindings
    from mcp_proton.domain.handles import Handle
    from mcp_proton.domain.mail import Mailbox
    from mcp_proton.domain.outcome import Fate
    from mcp_proton.domain.outgoing import Octets
    from mcp_proton.domain.ports import Coverage, FlagChange, Found, Home, Page
    from mcp_proton.domain.query import Query
    from mcp_proton.imap.backend import Settings
    from mcp_proton.imap.login.endpoint import Credentials, Endpoint
    from mcp_proton.imap.protocol.responses import ListEntry


_RECOVERED = b"Recovered Messages"
_CALM, _RESTLESS = 60.0, 2.0
"""seconds after which a look is old, for reads"""
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
    """`guarded_trash`: a star guards what is moved to Trash (the owner's choice; see `guarding`). `findings`: what trials
    on this account showed (see `canary`).

    Reading on Bridge: SEARCH for flags only beside text (its text search decrypts the whole mailbox every time and
    reads raw octets), sections as one literal (it reads the whole message for every range).
    """

    package = "mcp_proton.bridge"
    search_habits = Habits(asked=CHEAP, asked_beside_text=frozenset({Kind.FLAG, Kind.SIZE}), bodies_by_server=False)
    step = None
    _marks = MARKS
    advice = ADVICE
    lag = proof.EVENT
    trashes_drafts = False

    def __init__(
        self,
        name: str,
        endpoint: Endpoint,
        credentials: Credentials,
        *,
        guarded_trash: bool = False,
        findings: KnownFindings | None = None,
        sightings: Sightings | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        super().__init__(name, endpoint, credentials, **settings)
        self._writer = asyncio.Lock()
        self._findings: KnownFindings = findings or NoFindings()
        self._watch = SyncWatch(self._look, asyncio.sleep, account=name, sightings=sightings)
        self._glancing: asyncio.Task[None] | None = None
        self._judged: tuple[object, EffectTable] | None = None
        known = self._occurrences = Occurrences(self._pool, self._known)
        self._flagging = Flagging(self._pool, self._mailbox_of, page=sending.PAGE)
        unstar = self._flagging.set_flags
        reach = Reach(self._pool, self._mailbox_of, self._homes, known)
        self._moving = filing.Filing(reach, unstar, guarded=guarded_trash)
        self._labelling = Labelling(reach)
        self._reattaching = Reattaching(reach)
        # A star would hold what is destroyed.
        self._destroying = Destroying(reach, filing.Filing(reach, unstar))
        self._proof = proof.Proving(reach, unstar, guarded=guarded_trash)
        self._changes = MailboxChanges(self._pool, self._listed)
        departed = Departed()
        sent_lately = SentLately(self._searches, self._known, self.fetch)
        self._appending = BridgeAppending(self._pool, departed, sent_lately)
        outlet = settings.get("outlet")
        if outlet is not None:
            self._outbox = BridgeOutbox(
                outlet, self._tracing, self._pool, self._mailbox_of, departed, lambda: self.unsettled(look=False)
            )

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
            fates = await self._destroying.destroy(handles)
        self._watch.removed(sum(fate.ending is not Ending.FAILED for fate in fates))
        return fates

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

    # --- for trials ------------------------------------------------------------------------------------------------

    async def put(self, box: Mailbox, message: bytes) -> None:
        """Put a message of our own making into a mailbox."""
        async with self._writer:
            await self._pool().run(commands.Append(wire_name(box), message))

    async def shown(self, identity: str, roles: Iterable[Role] = SHOWING) -> Mapping[str, Handle]:
        """Every mailbox of these roles that shows a message, by path, with its handle there; each looked at anew."""
        mark = Mark.parse(identity)
        found: dict[str, Handle] = {}
        for box in await self._occurrences.of_roles(roles):
            here = (await self._occurrences.within(box, [mark])).get(mark)
            if here is not None:
                found[box.path] = here.handle
        return found

    # --- what is known ---------------------------------------------------------------------------------------------

    @property
    def version(self) -> Version | None:
        """The version of the Bridge that answered last; None before the first login."""
        return None if self._made is None else evidence.version_in(self._made.greeting.decode("utf-8", "replace"))

    def features(self) -> Mapping[str, Standing]:
        """Standing of every word of `imap.features.WORDS`, by what was recorded of this version."""
        return self._with_sending(evidence.features_of(self.version, self._capabilities(), self._found()))

    def consequences(self) -> EffectTable:
        """Bridge's effect table, as far as its version is known to keep to it. The same object while nothing new is known."""
        version, found = self.version, self._found()
        if self._judged is None or self._judged[0] != (version, found):
            self._judged = (version, found), evidence.judged(self._table, version, found)
        return self._judged[1]

    def _found(self) -> Mapping[str, Finding] | None:
        return self._findings.of(self.name, str(self.version or evidence.UNKNOWN))

    def _arranged(self, entries: Iterable[ListEntry]) -> list[Mailbox]:
        return roles.mailboxes(self.name, entries)

    def _is_dear(self, mailbox: Mailbox) -> bool:
        """All Mail: STATUS loads the list of the whole mailbox, and this one holds everything."""
        return mailbox.role is Role.ALL

    async def _well(self) -> Health:
        version = self.version
        families = evidence.standings(version, self._found())
        why = await self._watch.unsettled()
        return Health(
            connected=True,
            server="Proton Mail Bridge" if version else "a server that does not say it is Proton Mail Bridge",
            version=str(version or ""),
            # Combined and split mode look alike over IMAP: either shows one tree.
            mode=None,
            capabilities=tuple(sorted(self._capabilities() or ())),
            syncing=True if why else None,
            code=NotSynced.code if why else None,
            why=why,
            next=NotSynced.advice if why else None,
            unproved=tuple(name for name, one in families.items() if one is Standing.UNVERIFIED),
            disproved=tuple(name for name, one in families.items() if one is Standing.UNAVAILABLE),
        )

    # --- whether it is to be relied upon ---------------------------------------------------------------------------

    async def search(self, scope: Sequence[Mailbox], query: Query, page: Page) -> Found:
        """Matching envelopes by date; while Bridge's own view is not settled, the coverage says so."""
        found = await super().search(scope, query, page)
        if not self._watch.looked:  # the first answer of a run says already what happened since the one before
            await self._glance()
        why = await self.unsettled(look=False)
        return found if why is None else replace(found, coverage=_unsettled(found.coverage, why))

    async def unsettled(self, *, look: bool = True) -> str | None:
        """From counts, UIDVALIDITY and Recovered Messages. Without `look` the next look is taken behind."""
        if look:
            return await self._watch.unsettled()
        old = _RESTLESS if self._watch.unrest else _CALM
        if self._watch.age(time.time()) > old and (self._glancing is None or self._glancing.done()):
            self._glancing = asyncio.get_running_loop().create_task(self._glance())
        return self._watch.why

    async def aclose(self) -> None:
        """Stop what runs behind, close every connection."""
        if self._glancing is not None:
            self._glancing.cancel()
            await asyncio.gather(self._glancing, return_exceptions=True)
        await super().aclose()

    async def _glance(self) -> None:
        with suppress(MailError):
            await self._watch.glance()

    async def _look(self) -> Look | None:
        boxes = await self._list.mailboxes(self._pool(), counts=False, fresh=False)
        largest = next((box for box in boxes if box.role is Role.ALL), None)
        name = b"INBOX" if largest is None else wire_name(largest)
        told = await self._counted(name, ("MESSAGES", "UIDNEXT", "UIDVALIDITY"))
        if "MESSAGES" not in told:
            return None
        recovered = (await self._counted(_RECOVERED, ("MESSAGES",))).get("MESSAGES", 0)
        uidnext, uidvalidity = told.get("UIDNEXT", 0), told.get("UIDVALIDITY", 0)
        return Look(time.time(), told["MESSAGES"], uidnext, uidvalidity, recovered)

    async def _counted(self, name: bytes, items: tuple[str, ...]) -> Mapping[str, int]:
        try:
            return (await self._pool().run(commands.StatusOf(name, items))).items
        except Rejected:
            return {}


def _unsettled(coverage: Coverage, why: str) -> Coverage:
    told = f"{why}, so mail may be missing" + (f"; {coverage.why}" if coverage.why else "")
    return replace(coverage, complete=False, why=told, code=NotSynced.code)
