"""MailBackend: the port to one mail account, with the questions it is asked and the answers it gives."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from mcp_proton.domain.consequences import EffectTable
from mcp_proton.domain.errors import Invalid
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.mail import Envelope, Identity, Mailbox, Role, Structure
from mcp_proton.domain.outcome import Fate
from mcp_proton.domain.outgoing import Octets, Submits
from mcp_proton.domain.powers import Quota, ServerPowers
from mcp_proton.domain.query import Query
from mcp_proton.domain.transfer import Whole
from mcp_proton.domain.walk import Interval, Stretch
from mcp_proton.domain.watching import Watch


class Standing(StrEnum):
    """Whether a feature can be relied upon on this server, in this version (P-09)."""

    AVAILABLE = "available"
    UNAVAILABLE = "unavailable"
    UNVERIFIED = "unverified"


LARGEST_VERSION = 2**63 - 1
"""RFC 7162 §7: mod-sequence-value"""


@dataclass(frozen=True, slots=True)
class FlagChange:
    """Flags to add and to remove. Never a replacement.

    `unchanged_since`: only of messages whose `Envelope.version` is no higher, so that nothing is overwritten that was
    changed elsewhere since it was read. It adds or removes, not both: the first of two commands would itself be the
    change that has the second refused. Raises `Invalid`.
    """

    add: frozenset[str] = frozenset()
    remove: frozenset[str] = frozenset()
    unchanged_since: int | None = None

    def __post_init__(self) -> None:
        if self.unchanged_since is None:
            return
        if not 0 < self.unchanged_since <= LARGEST_VERSION:
            raise Invalid("`unchanged_since` is a version as a read told it")
        if self.add and self.remove:
            raise Invalid("with `unchanged_since`, flags are either added or removed")


@dataclass(frozen=True, slots=True)
class Home:
    """A destination that depends on the message: where its kind belongs (received mail in INBOX, sent in Sent, drafts
    in Drafts)."""


HOME = Home()


class Order(StrEnum):
    """By date received."""

    NEWEST = "newest"
    OLDEST = "oldest"


@dataclass(frozen=True, slots=True)
class Page:
    """How much is wanted. `continuation` is the backend's own word from the page before; `budget` is in seconds."""

    limit: int = 25
    order: Order = Order.NEWEST
    continuation: str | None = None
    budget: float = 20.0


@dataclass(frozen=True, slots=True)
class Covered:
    """What of one mailbox was looked at. `ranges` is a UID set in IMAP's notation, or empty where there are no UIDs."""

    mailbox: str
    looked_at: int
    of: int | None
    ranges: str = ""


@dataclass(frozen=True, slots=True)
class Coverage:
    """How far an answer can be relied upon (N-3).

    `complete`: nothing that matches was left out up to and including the last row (or at all, without continuation).
    `order` says in words how rows are sorted. `by_server` and `by_us` name the criteria each side decided. `code` is
    `not_synced` while the server's own view is not settled.
    """

    complete: bool
    order: str
    mailboxes: tuple[Covered, ...] = ()
    why: str | None = None
    by_server: tuple[str, ...] = ()
    by_us: tuple[str, ...] = ()
    code: str | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """A page of rows. `continuation` is None only when nothing is left.

    `excerpts` are the words around what was found inside a message, where it was looked into anyway: content.
    """

    rows: Sequence[Envelope]
    coverage: Coverage
    continuation: str | None = None
    excerpts: Mapping[Handle, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Health:
    """What a look at the account showed. `mode` is combined or split (Bridge); `syncing` None: it cannot be known.

    `login` is who the server says was let in, `quotas` how full it is, where it tells that. `unproved` and `disproved`
    are families of changes whose row in the effect table is not known to hold on this version, or is known not to.
    """

    connected: bool
    server: str = ""
    version: str = ""
    mode: str | None = None
    capabilities: tuple[str, ...] = ()
    syncing: bool | None = None
    login: str = ""
    quotas: tuple[Quota, ...] = ()
    unproved: tuple[str, ...] = ()
    disproved: tuple[str, ...] = ()
    code: str | None = None
    why: str | None = None
    next: str | None = None


class MailBackend(Protocol):
    """One account. Handles in, handles out. Never marks anything read by looking.

    Every method may raise `Unavailable` (with its kinds) and nothing else that is not ours; one that takes a handle
    raises `Stale` when it no longer points at its message.
    """

    @property
    def lag(self) -> float:
        """Seconds after which what it did shows in what it lists (Bridge: its events). Younger, "not there" says nothing."""
        ...

    def features(self) -> Mapping[str, Standing]:
        """What this server can do, by our own words, without asking it anything."""
        ...

    def consequences(self) -> EffectTable:
        """What each verb really does here."""
        ...

    async def health(self) -> Health:
        """Look whether the account works. Never raises: trouble is in the answer."""
        ...

    async def unsettled(self, *, look: bool = True) -> str | None:
        """Say why the server's own view is not to be relied upon for now (N-9); None where there is no sign of that.

        It may take a second or two; without `look` it is what was seen last, at once.
        """
        ...

    async def mailboxes(self, *, counts: bool = False, fresh: bool = False) -> Sequence[Mailbox]:
        """Return all mailboxes, parents first. May be up to a minute old unless `fresh`; `counts` asks for totals."""
        ...

    async def search(self, scope: Sequence[Mailbox], query: Query, page: Page) -> Found:
        """Return matching envelopes by date. Stops at `page.limit` rows or when `page.budget` is used up."""
        ...

    async def ids(self, box: Mailbox, within: Interval, position: int, limit: int) -> Stretch:
        """Return a stretch of a mailbox's handles from `position` on, by date received, the oldest first, and nothing else.

        The same `state` in two answers: the same messages in the same order, so that stretches fit together. `NotSynced`
        while the order is not known yet.
        """
        ...

    async def envelopes(self, handles: Sequence[Handle]) -> Sequence[Envelope]:
        """Return the envelopes of those handles that still point at a message, in the order asked."""
        ...

    async def structure(self, handle: Handle) -> Structure:
        """Return envelope and parts of one message, without content."""
        ...

    def fetch(
        self, handle: Handle, part: str = "", *, start: int = 0, limit: int | None = None
    ) -> AsyncIterator[bytes]:
        """Yield octets of a section in chunks: "" is the whole message, "HEADER" its header, "1.2" a part, in the
        encoding that its structure tells (`binary` where the server hands parts out decoded).

        From octet `start`, at most `limit`. Bounded memory whatever the size. `NotFound` for a section that is not there.
        """
        ...

    def whole(self, handles: Sequence[Handle]) -> AsyncIterator[Whole]:
        """Yield those messages that are still there, whole, in any order: for many at once, in bounded memory.

        The octets of one are read before the next is asked for; what vanishes while it is read raises `Stale` there.
        """
        ...

    async def headers(self, handles: Sequence[Handle]) -> Mapping[Handle, bytes]:
        """Return the raw header blocks of those handles that still point at a message, each at most 256 KiB."""
        ...

    def watch(self) -> Watch:
        """Return what tells changes from outside. One at a time; nothing is opened before it is told what is wanted."""
        ...

    # Changing. Every verb that takes handles gives one fate a handle, in the order asked, and raises only what holds for
    # all of them, before anything is sent: `Unavailable`, `Unsupported` (not here, or not to that mailbox). A source the
    # verb is not for fails with `unsupported_semantics`, a handle that no longer points at its message with
    # `stale_handle`, what comes after a failure that makes going on unwise with `not_attempted`; a handle named twice is
    # done once. `Fate.now` is the handle afterwards, where there is a new one and the server tells it; `Fate.proof`
    # says how well it is known; `Fate.identity` is what `prove` finds the message again by.
    # INVARIANT: nothing is sent twice. When the answer is lost, or says no where that may not mean "not done", the
    # fate is UNCERTAIN (`outcome_unknown`): look (`prove`), never repeat.

    async def identify(self, handles: Sequence[Handle]) -> Mapping[Handle, str]:
        """Return what each message can be found again by when its handle is gone: opaque, no content in it.

        Left out: what no longer points at a message, and what the server gives no lasting identity. To be noted with
        an intent, so that a write whose answer was lost with the process can still be settled by looking.
        """
        ...

    async def set_flags(self, handles: Sequence[Handle], change: FlagChange) -> Sequence[Fate]:
        """Add and remove flags. Flags this server does not keep fail with `flag_not_kept`; nothing is sent then.

        Of `change.unchanged_since`: what was changed later fails with `changed`, and keeps the flags it has. Where the
        mailbox has no versions it is done all the same, and each fate that is DONE says so (`unguarded`): only named
        flags are ever added or removed, which can be taken back, and who asks for the guard cannot know beforehand
        where it is to be had.
        """
        ...

    async def move(self, handles: Sequence[Handle], to: Mailbox | Home) -> Sequence[Fate]:
        """Take messages out of the mailbox their handle names and put them into another; flags stay.

        A message that is in `to` already is SKIPPED (`already_there`, with its handle there as `now` if it was another).
        `to` is no view (all mail, starred, a label): views are changed by `label`, `unlabel`, `set_flags`. A handle of a
        view is moved from the message's own place where there is such a thing (Bridge), and fails elsewhere. For the
        effect table HOME is each of the homes: one that is possible is enough.
        """
        ...

    async def copy(self, handles: Sequence[Handle], to: Mailbox) -> Sequence[Fate]:
        """Make a second occurrence. `Unsupported` where such a thing does not exist (Bridge: a copy moves)."""
        ...

    async def reattach(self, handles: Sequence[Handle], to: Mailbox | Home) -> Sequence[Fate]:
        """Put orphans (messages that only a view shows) back into a place. The handles are of the mailbox of role ALL.

        One that has a place is SKIPPED (`has_a_place`): it was looked for in every one. `Unsupported` where no orphans
        exist.
        """
        ...

    async def label(self, handles: Sequence[Handle], to: Mailbox) -> Sequence[Fate]:
        """Add a label; `now` is the handle in the label's mailbox, the one asked stays good.

        What has the label already is SKIPPED (`already_there`). `Unsupported` where there are no labels.
        """
        ...

    async def unlabel(self, handles: Sequence[Handle]) -> Sequence[Fate]:
        """Remove the label in whose mailbox the handles are; place, star and other labels stay."""
        ...

    async def destroy(self, handles: Sequence[Handle]) -> Sequence[Fate]:
        """Delete for good, and only these: what others marked as deleted in the same mailbox stays.

        What a label or a star holds is left where it is and FAILED (`held`, `why` names what holds it). `Unsupported`
        where deleting in that mailbox would not delete (Bridge: anywhere but Trash, and Drafts for drafts).
        """
        ...

    async def prove(self, fates: Sequence[Fate], to: Mailbox | Home | None, age: float) -> Sequence[Fate]:
        """Look what became of an earlier change, and return its fates as they are known now. Changes nothing.

        `to` is where the messages were to go (None: nowhere, they were to be destroyed or unlabelled); `age` is how
        many seconds ago at least. DONE gets `proof` SEEN, ORPHANED (`now` is its handle in the mailbox of role ALL) or
        LOST, and stays as it is while the server's own view is younger than the change. UNCERTAIN becomes DONE where
        the message arrived, FAILED (`not_done`) where it is still where it was, and stays UNCERTAIN otherwise.
        """
        ...

    async def create(self, path: str, role: Role) -> Mailbox:
        """Make a mailbox of role FOLDER or LABEL, with the parents it lacks, and return it.

        `Conflict` (`name_taken`) where one of that path exists; `Invalid` for a path that no mailbox can have here.
        """
        ...

    async def rename(self, box: Mailbox, path: str) -> Mailbox:
        """Give a folder or label another path, what is below it included; handles into it go stale.

        `Unsupported` for any other role, `Conflict` (`name_taken`), `Invalid` (also: into itself, or into another kind).
        """
        ...

    async def remove(self, box: Mailbox) -> None:
        """Delete a label (its mail stays where it is), or a folder that holds neither mail nor mailboxes.

        `Conflict` (`not_empty`) for any other folder, `Unsupported` for any other role.
        """
        ...

    async def append(
        self, to: Mailbox, mail: Octets, *, flags: frozenset[str] = frozenset(), received: datetime | None = None
    ) -> Handle:
        """Put a message into a mailbox, once, and return its handle there; what the server changes in it is its own.

        Raises before anything is sent: `OverLimit` (too large; the limit is named), `Unsupported` (not into that mailbox),
        `Conflict` (`already_there`: this server would move or drop a message it has, instead of making one). Afterwards
        `Ambiguous` where nobody knows: look for its Message-ID, never repeat.
        """
        ...

    async def subscribe(self, box: Mailbox, *, on: bool) -> None:
        """Show or hide a mailbox in other mail programs. To ask for what is so already is no error."""
        ...

    async def identities(self) -> Sequence[Identity]:
        """Return the addresses this account may send as."""
        ...

    @property
    def trashes_drafts(self) -> bool:
        """Whether `destroy` is not possible for drafts, so that one that is discarded goes into Trash. As of the last login."""
        ...

    @property
    def submits(self) -> Submits | None:
        """The power to send. None: this account reads, files and drafts only."""
        ...

    @property
    def powers(self) -> ServerPowers | None:
        """What the server does beyond keeping mail. None: nothing that we know of."""
        ...

    async def aclose(self) -> None:
        """Close every connection."""
        ...
