"""ImapBackend: an account on any IMAP server, behind the port `MailBackend`. Nothing is opened before it is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from mcp_proton.domain.errors import Invalid, MailError, Stale, Unavailable, Unsupported
from mcp_proton.domain.ports import Health, Standing
from mcp_proton.imap import effect_tables, features, gmail, health, roles
from mcp_proton.imap.changing.appending import Appending
from mcp_proton.imap.changing.filing import GMAIL, STANDARD, Filing, Manners
from mcp_proton.imap.changing.flagging import Flagging
from mcp_proton.imap.changing.homes import Homes
from mcp_proton.imap.changing.mailbox_changes import MailboxChanges
from mcp_proton.imap.changing.marks import Marks, MessageIdToken
from mcp_proton.imap.changing.proving import Proving
from mcp_proton.imap.errors import ConnectionLost, printable
from mcp_proton.imap.finding.idwalk import IdWalk
from mcp_proton.imap.finding.indexing import DateIndexes
from mcp_proton.imap.finding.search import Habits, Searches
from mcp_proton.imap.login.providers import PROVIDERS
from mcp_proton.imap.mailboxes import MailboxList, wire_name
from mcp_proton.imap.messages import Messages
from mcp_proton.imap.protocol.pool import Pool
from mcp_proton.imap.protocol.streaming import STEP
from mcp_proton.imap.submission import senders
from mcp_proton.imap.submission.outbox import Outbox
from mcp_proton.imap.tracing import Tracing
from mcp_proton.imap.watching import Watch

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager
    from datetime import datetime

    from mcp_proton.domain.consequences import EffectTable
    from mcp_proton.domain.handles import Handle
    from mcp_proton.domain.mail import Envelope, Identity, Mailbox, Role, Structure
    from mcp_proton.domain.outcome import Fate
    from mcp_proton.domain.outgoing import Octets, Submits
    from mcp_proton.domain.ports import FlagChange, Found, Home, Page
    from mcp_proton.domain.query import Query
    from mcp_proton.domain.transfer import Whole
    from mcp_proton.domain.walk import Interval, Stretch
    from mcp_proton.imap.finding.indexing import DateIndexStore
    from mcp_proton.imap.limits import Limits, Timing
    from mcp_proton.imap.login import providers
    from mcp_proton.imap.login.endpoint import Credentials, Endpoint
    from mcp_proton.imap.protocol import pool as pools
    from mcp_proton.imap.protocol.box import Box
    from mcp_proton.imap.protocol.responses import ListEntry
    from mcp_proton.imap.submission.outlet import Outlet

IDENTITY: Mapping[str, str] = {"name": "mcp-proton", "version": "1"}


class Settings(TypedDict, total=False):
    """What a backend may be given beside its account."""

    identity: Mapping[str, str]
    dates: DateIndexStore | None
    sessions: pools.Habits | None
    limits: Limits | None
    timing: Timing | None
    outlet: Outlet | None
    configured: Sequence[Identity]
    provider: providers.Name | None


class ImapBackend:
    """See `MailBackend` for what each method promises. `name` is the account's slug, `dates` outlives the process."""

    package = "mcp_proton.imap"
    search_habits = Habits()
    step: int | None = STEP
    _marks = Marks(MessageIdToken())
    advice = health.ADVICE
    lag = 0.0

    def __init__(
        self,
        name: str,
        endpoint: Endpoint,
        credentials: Credentials,
        *,
        identity: Mapping[str, str] = IDENTITY,
        dates: DateIndexStore | None = None,
        sessions: pools.Habits | None = None,
        limits: Limits | None = None,
        timing: Timing | None = None,
        outlet: Outlet | None = None,
        configured: Sequence[Identity] = (),
        provider: providers.Name | None = None,
    ) -> None:
        self.name = name
        self._provider_name, self._provider = provider, None if provider is None else PROVIDERS[provider]
        self._configured = tuple(configured)
        self._endpoint, self._credentials, self._identity = endpoint, credentials, identity
        self._session_habits, self._limits, self._timing = sessions, limits, timing
        self._made: Pool | None = None
        self._table = effect_tables.load(self.package)
        self._list = MailboxList(self._arranged, self._is_dear)
        self._indexes = DateIndexes(self._open, dates)
        self._walk = IdWalk(self._open, self._indexes)
        self._searches = Searches(self._open, self._indexes, self.search_habits)
        self._messages = Messages(self._pool, self._mailbox_of, step=self.step)
        self._homes = Homes(self._known, senders.own(credentials.username, configured))
        self._flagging = Flagging(self._pool, self._mailbox_of)
        self._filing = Filing(self._pool, self._mailbox_of, self._homes, self._marks, self._manners)
        self._proving = Proving(self._pool, self._mailbox_of, self._known, self._marks)
        self._changes = MailboxChanges(self._pool, self._listed)
        self._appending = Appending(self._pool)
        self._tracing = Tracing(self._searches, self._known)
        self._outbox: Outbox | None = None
        if outlet is not None:
            self._outbox = Outbox(outlet, self._tracing, self._pool, self._provider)

    # --- what is known without asking ------------------------------------------------------------------------------

    def features(self) -> Mapping[str, Standing]:
        """Standing of every word of `features.WORDS`, by what the server advertised at the last login, and of what is
        known of its provider beside that."""
        known = features.of_provider(self._capabilities(), self._provider, self._provider_name)
        return self._with_sending(known)

    def consequences(self) -> EffectTable:
        """The effect table of a standard IMAP server, or Gmail's where it is Gmail."""
        return gmail.table() if self._is_gmail() else self._table

    # --- looking ---------------------------------------------------------------------------------------------------

    async def health(self) -> Health:
        """Log in if need be, and say how it is."""
        try:
            try:
                await self._greet()
            except Unavailable as lost:
                if lost.code != ConnectionLost.code:
                    raise
                await self._greet()  # a kept connection that died unseen says nothing of how the server is now
            return await self._well()
        except MailError as error:
            return health.trouble(error, self.advice)

    async def _greet(self) -> None:
        async with self._pool().session() as session:
            await session.noop()

    async def unsettled(self, *, look: bool = True) -> str | None:
        """Never: the server is where the mail is."""
        return None

    async def mailboxes(self, *, counts: bool = False, fresh: bool = False) -> Sequence[Mailbox]:
        """All mailboxes, parents first."""
        return await self._list.mailboxes(self._pool(), counts=counts, fresh=fresh)

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
        """Whole messages, many at once."""
        return self._messages.whole(handles)

    async def headers(self, handles: Sequence[Handle]) -> Mapping[Handle, bytes]:
        """Header blocks of what is still there."""
        return await self._messages.headers(handles)

    def watch(self) -> Watch:
        """IDLE, NOTIFY or STATUS, on a connection of its own."""
        return Watch(self._pool(), self._arranged, self._is_dear)

    # --- changing --------------------------------------------------------------------------------------------------

    async def identify(self, handles: Sequence[Handle]) -> Mapping[Handle, str]:
        """Size, date and a hash of the Message-ID."""
        return await self._proving.identify(handles)

    async def set_flags(self, handles: Sequence[Handle], change: FlagChange) -> Sequence[Fate]:
        """Add and remove flags."""
        return await self._flagging.set_flags(handles, change)

    async def move(self, handles: Sequence[Handle], to: Mailbox | Home) -> Sequence[Fate]:
        """UID MOVE, or COPY and UID EXPUNGE."""
        return await self._filing.move(handles, to)

    async def copy(self, handles: Sequence[Handle], to: Mailbox) -> Sequence[Fate]:
        """UID COPY."""
        return await self._filing.copy(handles, to)

    async def reattach(self, handles: Sequence[Handle], to: Mailbox | Home) -> Sequence[Fate]:
        """No orphans: on a server of mailboxes every message is in one."""
        raise Unsupported("there are no messages without a mailbox here", next="nothing was done; move or copy it")

    async def label(self, handles: Sequence[Handle], to: Mailbox) -> Sequence[Fate]:
        """No labels."""
        raise Unsupported("this account has no labels", next="nothing was done; set a flag, or copy it into a folder")

    async def unlabel(self, handles: Sequence[Handle]) -> Sequence[Fate]:
        """No labels."""
        raise Unsupported("this account has no labels", next="nothing was done")

    async def destroy(self, handles: Sequence[Handle]) -> Sequence[Fate]:
        r"""\Deleted and UID EXPUNGE."""
        return await self._filing.destroy(handles)

    async def prove(self, fates: Sequence[Fate], to: Mailbox | Home | None, age: float) -> Sequence[Fate]:
        """Look for what is uncertain."""
        return await self._proving.prove(fates, to, age)

    async def create(self, path: str, role: Role) -> Mailbox:
        """A folder."""
        return await self._changes.create(path, role)

    async def rename(self, box: Mailbox, path: str) -> Mailbox:
        """A folder and what is below it."""
        return await self._changes.rename(box, path)

    async def remove(self, box: Mailbox) -> None:
        """A folder that is empty."""
        await self._changes.remove(box)

    async def append(
        self, to: Mailbox, mail: Octets, *, flags: frozenset[str] = frozenset(), received: datetime | None = None
    ) -> Handle:
        """One APPEND."""
        return await self._appending.append(to, mail, flags, received)

    async def subscribe(self, box: Mailbox, *, on: bool) -> None:
        """For other programs."""
        await self._changes.subscribe(box, on=on)

    async def identities(self) -> Sequence[Identity]:
        """The login name, where it is an address, and what the owner configured: IMAP knows of no others."""
        return senders.identities(self._credentials.username, self._configured)

    @property
    def submits(self) -> Submits | None:
        """By SMTP, where the owner configured it."""
        return self._outbox

    @property
    def powers(self) -> None:
        """None."""

    async def check_sending(self) -> None:
        """Log in as for sending, and send nothing. Raises `Unsupported` without an SMTP server, or an `Unavailable`."""
        if self._outbox is None:
            raise Unsupported("this account does not send")
        await self._outbox.check_login()

    async def aclose(self) -> None:
        """Stop what runs behind, close every connection."""
        await self._indexes.aclose()
        if self._made is not None:
            await self._made.aclose()

    # --- what a kind of server changes ------------------------------------------------------------------------------

    def _with_sending(self, standing: Mapping[str, Standing]) -> Mapping[str, Standing]:
        """The same, for an account that may be without an SMTP server."""
        without = dict.fromkeys(("send", "files_sent"), Standing.UNAVAILABLE)
        return standing if self._outbox is not None else {**standing, **without}

    def _arranged(self, entries: Iterable[ListEntry]) -> list[Mailbox]:
        return roles.mailboxes(self.name, entries, None if self._provider is None else self._provider.roles)

    def _is_dear(self, mailbox: Mailbox) -> bool:
        """Whether counting this mailbox costs so much that it is done only when asked for."""
        return False

    async def _well(self) -> Health:
        told = self._pool().server_id
        server = " ".join(filter(None, (told.get("name"), told.get("version"))))
        return Health(
            connected=True,
            server=printable(server.encode()) or "IMAP",
            version=printable(told.get("version", "").encode()),
            capabilities=tuple(sorted(self._capabilities() or ())),
            syncing=False,
        )

    @property
    def trashes_drafts(self) -> bool:
        """On Gmail, where an expunge does what a setting says, and where named messages cannot be expunged."""
        return self.features().get("exact_removal") is Standing.UNAVAILABLE

    def _is_gmail(self) -> bool:
        return gmail.is_meant(self._capabilities(), self._provider)

    def _manners(self) -> Manners:
        return GMAIL if self._is_gmail() else STANDARD

    @property
    def connections(self) -> tuple[int, int]:
        """How many connections are open, and how many of them are used."""
        return (0, 0) if self._made is None else (self._made.open_sessions, self._made.busy_sessions)

    # --- parts ------------------------------------------------------------------------------------------------------

    def _pool(self) -> Pool:
        if self._made is None:
            self._made = Pool(
                self._endpoint,
                self._credentials,
                identity=self._identity,
                habits=self._session_habits,
                limits=self._limits,
                timing=self._timing,
            )
        return self._made

    def _capabilities(self) -> frozenset[str] | None:
        return None if self._made is None else self._made.capabilities

    def _open(self, mailbox: Mailbox) -> AbstractAsyncContextManager[Box]:
        return self._pool().reading(wire_name(mailbox))

    async def _known(self) -> Sequence[Mailbox]:
        return await self._list.mailboxes(self._pool(), counts=False, fresh=False)

    async def _listed(self, fresh: bool) -> Sequence[Mailbox]:
        return await self._list.mailboxes(self._pool(), counts=False, fresh=fresh)

    async def _mailbox_of(self, handle: Handle) -> Mailbox:
        if handle.account != self.name:
            raise Invalid("this handle belongs to another account", code="invalid_handle")
        for fresh in (False, True):
            for box in await self._list.mailboxes(self._pool(), counts=False, fresh=fresh):
                if box.tag == handle.tag:
                    return box
        raise Stale("the mailbox this handle names is gone")
