"""JmapBackend: an account on any JMAP server, behind the port `MailBackend`. Nothing is opened before it is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_proton.domain.errors import MailError, Unsupported
from mcp_proton.domain.ports import Health
from mcp_proton.imap import effect_tables, health
from mcp_proton.imap.errors import printable
from mcp_proton.imap.submission import senders
from mcp_proton.jmap import features
from mcp_proton.jmap.changing.appending import Appending
from mcp_proton.jmap.changing.filing import Filing
from mcp_proton.jmap.changing.mailbox_changes import MailboxChanges
from mcp_proton.jmap.changing.proving import Proving
from mcp_proton.jmap.finding.idwalk import IdWalk
from mcp_proton.jmap.finding.search import Searches
from mcp_proton.jmap.mailboxes import FRESH, Mailboxes
from mcp_proton.jmap.messages import Messages
from mcp_proton.jmap.occurrences import Occurrences
from mcp_proton.jmap.powers import JmapPowers
from mcp_proton.jmap.protocol.client import Client
from mcp_proton.jmap.protocol.web import Web
from mcp_proton.jmap.quotas import quotas
from mcp_proton.jmap.submission.blobs import Blobs
from mcp_proton.jmap.submission.identities import Identities
from mcp_proton.jmap.submission.outbox import Outbox
from mcp_proton.jmap.touching import Touching
from mcp_proton.jmap.watching import Watch

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence
    from datetime import datetime

    from mcp_proton.domain.consequences import EffectTable
    from mcp_proton.domain.handles import Handle
    from mcp_proton.domain.mail import Envelope, Identity, Mailbox, Role, Structure
    from mcp_proton.domain.outcome import Fate
    from mcp_proton.domain.outgoing import Octets, Submits
    from mcp_proton.domain.ports import FlagChange, Found, Home, Page, Standing
    from mcp_proton.domain.query import Query
    from mcp_proton.domain.transfer import Whole
    from mcp_proton.domain.walk import Interval, Stretch
    from mcp_proton.jmap.protocol.endpoint import Credentials, Endpoint
    from mcp_proton.jmap.protocol.web import Timing
    from mcp_proton.jmap.watching import Habits


class JmapBackend:
    """See `MailBackend` for what each method promises. `name` is the account's slug.

    `labels` is the path below which mailboxes are labels: JMAP itself does not tell labels from folders. A list of
    mailboxes is good for `listed_for` seconds. `configured` are addresses the owner sends as, `sends` whether at all.
    """

    advice = health.ADVICE
    lag = 0.0
    trashes_drafts = False

    def __init__(
        self,
        name: str,
        endpoint: Endpoint,
        credentials: Credentials,
        *,
        labels: str | None = None,
        listed_for: float = FRESH,
        sends: bool = True,
        configured: Sequence[Identity] = (),
        timing: Timing | None = None,
        attention: Habits | None = None,
    ) -> None:
        self.name, self._attention = name, attention
        self.web = Web(endpoint, credentials, timing)
        self._credentials, self._labels = credentials, labels
        self._client = Client(endpoint, self.web)
        self._table = effect_tables.load("mcp_proton.jmap")
        self._mailboxes = Mailboxes(name, self._client, labels, listed_for)
        occurrences = Occurrences(self._client, self._mailboxes)
        self._searches = Searches(self._client)
        self._walk = IdWalk(self._client)
        self._messages = Messages(self._client, occurrences)
        self._filing = Filing(self._client, occurrences, self._mailboxes, self._own_addresses)
        self._proving = Proving(self._client, occurrences, self._mailboxes)
        self._changes = MailboxChanges(self._client, self._mailboxes, labels)
        self._appending = Appending(self._client, self._mailboxes)
        self._configured, self._sends = tuple(configured), sends
        self._identities = Identities(self._client, self._mailboxes)
        self._outbox = Outbox(self._client, self._mailboxes, self._searches, self._identities, Blobs(self._client))
        self.powers = JmapPowers(self._client, self._identities, self._mailboxes)

    # --- what is known without asking ------------------------------------------------------------------------------

    def features(self) -> Mapping[str, Standing]:
        """By the session, once it is known."""
        return features.of(
            self._client.known,
            labels=self._labels is not None,
            makes_identities=self._identities.made_here,
            pushes=self._client.pushes,
        )

    def consequences(self) -> EffectTable:
        """The effect table of a JMAP server."""
        return self._table

    @property
    def connections(self) -> tuple[int, int]:
        """How many connections are open, and how many of them are used."""
        return self.web.connections

    # --- looking ---------------------------------------------------------------------------------------------------

    async def health(self) -> Health:
        """Ask for the session anew, and say how it is."""
        try:
            session = await self._client.session(fresh=True)
            full = await quotas(self._client, session)
        except MailError as error:
            return health.trouble(error, self.advice)
        words = tuple(sorted(printable(word.encode("utf-8", "replace")) for word in session.capabilities))
        return Health(
            connected=True,
            server="JMAP",
            capabilities=words[:50],
            syncing=False,
            login=session.username,
            quotas=tuple(full),
        )

    async def unsettled(self, *, look: bool = True) -> str | None:
        """Never: the server's view is the account."""
        return None

    async def mailboxes(self, *, counts: bool = False, fresh: bool = False) -> Sequence[Mailbox]:
        """All mailboxes, parents first."""
        return await self._mailboxes.all(counts=counts, fresh=fresh)

    async def search(self, scope: Sequence[Mailbox], query: Query, page: Page) -> Found:
        """Matching envelopes by date."""
        return await self._searches.search(scope, query, page)

    async def ids(self, box: Mailbox, within: Interval, position: int, limit: int) -> Stretch:
        """Handles by date received."""
        return await self._walk.ids(box, within, position, limit)

    async def envelopes(self, handles: Sequence[Handle]) -> Sequence[Envelope]:
        """Envelopes of what is still there."""
        return await self._messages.envelopes(handles)

    async def structure(self, handle: Handle) -> Structure:
        """Envelope and parts of one message."""
        return await self._messages.structure(handle)

    def fetch(
        self, handle: Handle, part: str = "", *, start: int = 0, limit: int | None = None
    ) -> AsyncIterator[bytes]:
        """Octets of a section, in chunks."""
        return self._messages.fetch(handle, part, start, limit)

    def whole(self, handles: Sequence[Handle]) -> AsyncIterator[Whole]:
        """Whole messages, one after the other."""
        return self._messages.whole(handles)

    async def headers(self, handles: Sequence[Handle]) -> Mapping[Handle, bytes]:
        """Header blocks of what is still there."""
        return await self._messages.headers(handles)

    def watch(self) -> Touching:
        """EventSource, or a question now and then."""
        return Touching(self._client, self._mailboxes, Watch(self._client, self._attention))

    # --- changing --------------------------------------------------------------------------------------------------

    async def identify(self, handles: Sequence[Handle]) -> Mapping[Handle, str]:
        """The ids, which stay whatever becomes of a message."""
        return await self._proving.identify(handles)

    async def set_flags(self, handles: Sequence[Handle], change: FlagChange) -> Sequence[Fate]:
        """Keywords."""
        return await self._filing.set_flags(handles, change)

    async def move(self, handles: Sequence[Handle], to: Mailbox | Home) -> Sequence[Fate]:
        """From one mailbox to another; further ones stay."""
        return await self._filing.move(handles, to)

    async def copy(self, handles: Sequence[Handle], to: Mailbox) -> Sequence[Fate]:
        """Into one more mailbox."""
        return await self._filing.copy(handles, to)

    async def reattach(self, handles: Sequence[Handle], to: Mailbox | Home) -> Sequence[Fate]:
        """No orphans: every message is in a mailbox (RFC 8621 §4)."""
        raise Unsupported("there are no messages without a mailbox here", next="nothing was done; move or copy it")

    async def label(self, handles: Sequence[Handle], to: Mailbox) -> Sequence[Fate]:
        """Into a label's mailbox."""
        self._check_labels()
        return await self._filing.label(handles, to)

    async def unlabel(self, handles: Sequence[Handle]) -> Sequence[Fate]:
        """Out of a label's mailbox."""
        self._check_labels()
        return await self._filing.unlabel(handles)

    async def destroy(self, handles: Sequence[Handle]) -> Sequence[Fate]:
        """For good, out of Trash and Spam."""
        return await self._filing.destroy(handles)

    async def prove(self, fates: Sequence[Fate], to: Mailbox | Home | None, age: float) -> Sequence[Fate]:
        """Look for what is uncertain. The server's view is never older than a change, so `age` says nothing here."""
        return await self._proving.prove(fates, to)

    async def create(self, path: str, role: Role) -> Mailbox:
        """A folder or label."""
        return await self._changes.create(path, role)

    async def rename(self, box: Mailbox, path: str) -> Mailbox:
        """A folder or label, and what is below it. Handles into it stay good: ids do not change."""
        return await self._changes.rename(box, path)

    async def remove(self, box: Mailbox) -> None:
        """A label, or a folder that is empty."""
        await self._changes.remove(box)

    async def append(
        self, to: Mailbox, mail: Octets, *, flags: frozenset[str] = frozenset(), received: datetime | None = None
    ) -> Handle:
        """Blob and Email/import."""
        return await self._appending.append(to, mail, flags, received)

    async def subscribe(self, box: Mailbox, *, on: bool) -> None:
        """For other programs."""
        await self._changes.subscribe(box, on=on)

    async def identities(self) -> Sequence[Identity]:
        """What the server lets this login send as, and what the owner configured."""
        try:
            told = [one for _, one in await self._identities.all() if "@" in one.email and "*" not in one.email]
        except Unsupported:
            told = []
        known = {one.email.lower() for one in self._configured}
        told = list({one.email.lower(): one for one in told if one.email.lower() not in known}.values())
        return [*told, *self._configured] if told else senders.identities(self._credentials.username, self._configured)

    @property
    def submits(self) -> Submits | None:
        """None where the owner switched sending off."""
        return self._outbox if self._sends else None

    async def check_sending(self) -> None:
        """Ask who may be sent as. Raises `Unavailable` or `Unsupported`."""
        await self._outbox.check_login()

    async def aclose(self) -> None:
        """Close every connection."""
        await self.web.aclose()

    # --- parts ------------------------------------------------------------------------------------------------------

    async def _own_addresses(self) -> frozenset[str]:
        session = await self._client.session()
        named = (session.username, *senders.own(self._credentials.username, self._configured))
        return frozenset(one.lower() for one in named if "@" in one)

    def _check_labels(self) -> None:
        if self._labels is None:
            raise Unsupported(
                "this account tells no labels from folders",
                next="nothing was done; copy it into a folder, or ask the owner to name the labels' mailbox",
            )
