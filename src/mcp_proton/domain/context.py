"""Context: what a handler may touch. Everything a handler reads or changes comes through here."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from zoneinfo import ZoneInfo

from mcp_proton.domain.caller import Caller
from mcp_proton.domain.consequences import Consequence
from mcp_proton.domain.documents import Documents
from mcp_proton.domain.draft_notes import DraftNotes
from mcp_proton.domain.effects import Effect
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.lease import Lease
from mcp_proton.domain.links import Links
from mcp_proton.domain.mail import Mailbox, Role
from mcp_proton.domain.outcome import Fate, Tally
from mcp_proton.domain.outgoing import Letter, Octets
from mcp_proton.domain.plan import Doubt
from mcp_proton.domain.ports import Artifacts, Clock, Journal, MailBackend
from mcp_proton.domain.remote import Remote
from mcp_proton.domain.sendings import Sending, Sendings
from mcp_proton.domain.transfer import MailFiles

Act = Callable[[MailBackend, Mailbox, Sequence[Handle]], Awaitable[Sequence[Fate]]]
"""Acts on some messages of one mailbox, all at once, and tells how each ended."""
Known = Callable[[MailBackend, Sequence[Handle]], Awaitable[Mapping[Handle, str]]]
"""Says what each can be found again by: asked of a chunk before its intent is written."""

if TYPE_CHECKING:
    from mcp_proton.domain.operation import Result
    from mcp_proton.domain.outcome import Outcome, Record
    from mcp_proton.domain.plan import ReviewLine


@dataclass(frozen=True, slots=True)
class Right:
    """What the rules say of one effect: allow, ask or deny, and where that comes from in the owner's words."""

    effect: Effect
    verdict: str
    source: str


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a query found, fixed: occurrences in the order found, and how many messages they are at least.

    A message without a Message-ID is one of its own: occurrences are never merged on a guess (P-91). `complete` is False
    where the server may have left out some that match.
    """

    handles: tuple[Handle, ...]
    messages: int
    complete: bool = True


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A letter and its octets, ready to leave. `wire` is their digest; `draft` is the draft it was made from."""

    account: str
    letter: Letter
    octets: Octets
    wire: str
    draft: Handle | None = None


class Context(Protocol):
    """The world as one call sees it."""

    caller: Caller
    found: Snapshot | None

    @property
    def clock(self) -> Clock:
        """The service's clock."""
        ...

    @property
    def artifacts(self) -> Artifacts:
        """The managed store."""
        ...

    @property
    def files(self) -> MailFiles:
        """The owner's folders, as far as they are open for mail."""
        ...

    @property
    def remote(self) -> Remote:
        """Files on the internet."""
        ...

    @property
    def links(self) -> Links:
        """One-time links, where the service is reached over HTTP."""
        ...

    @property
    def journal(self) -> Journal:
        """The journal; it scopes records by the caller it is given."""
        ...

    @property
    def sendings(self) -> Sendings:
        """What is remembered of mail that was about to leave."""
        ...

    @property
    def draft_notes(self) -> DraftNotes:
        """What servers do not keep of drafts."""
        ...

    @property
    def documents(self) -> Documents | None:
        """The readers of documents; None where there are none."""
        ...

    @property
    def spool(self) -> Path | None:
        """Where mail is held on its way."""
        ...

    @property
    def timezone(self) -> ZoneInfo:
        """The owner's time zone: dates without an offset are read in it."""
        ...

    def accounts(self) -> Sequence[str]:
        """Return the accounts this caller may know of."""
        ...

    def account(self, name: str | None) -> str:
        """Resolve: the one named, else the owner's default or the only one. `NotFound` or `Invalid` otherwise."""
        ...

    def backend(self, account: str) -> MailBackend:
        """Return the account's backend."""
        ...

    def foresee(self, account: str, verb: str, source: Role, target: Role | None = None) -> Consequence:
        """Return what a verb really does on an account: for planning, where the backend is out of reach.

        What is not proved on the account's server is noted, and the plan says so. `Unsupported` where it is not known.
        """
        ...

    @property
    def doubts(self) -> frozenset[Doubt]:
        """What was foreseen without proof."""
        ...

    async def mailboxes(self, account: str) -> Sequence[Mailbox]:
        """Return the account's mailboxes: for planning and pinning, where the backend is out of reach."""
        ...

    async def mailbox(self, account: str, reference: str) -> Mailbox:
        """Resolve a mailbox by role word, path or tag. `NotFound` otherwise."""
        ...

    async def mailbox_of(self, handle: Handle) -> Mailbox:
        """Resolve the mailbox a handle names. `Stale` when it is gone."""
        ...

    def denies(self, effect: Effect, account: str, mailbox: Mailbox | None = None) -> bool:
        """Whether the caller may not do this there at all."""
        ...

    def rights(self, account: str) -> Sequence[Right]:
        """Return what the rules say of every effect on an account for this caller, and where it comes from (P-13)."""
        ...

    def allows(self, effect: Effect, account: str, mailbox: Mailbox | None = None) -> bool:
        """Whether the caller could do this there unasked: for leaving out of an answer what is not the caller's."""
        ...

    async def counted(self, account: str) -> Sequence[Mailbox]:
        """Return the account's mailboxes with how much they hold: for a plan that must say so."""
        ...

    async def earlier(self) -> Sequence[Fate]:
        """Return how items of this operation ended before it was interrupted; none where nothing interrupted it."""
        ...

    async def batch(
        self,
        handles: Sequence[Handle],
        act: Act,
        what: str,
        *,
        provable: bool = False,
        known: Mapping[Handle, str] | Known | None = None,
        step: int | None = None,
        into: str | None = None,
    ) -> Tally:
        """Act on many messages, a chunk at a time: intent, act, fate. The only way to change messages.

        Stops between chunks when asked to, when the rules say no by now, and when the account cannot be reached;
        what was not begun is SKIPPED. `provable`: identities are noted with the intent, so that a chunk whose
        answer is lost can be settled by looking; `known` gives those that the backend does not know. `step`: how many
        at once, where that is not what is usual. `into`: another account that is changed by it, and held with the
        messages' own. A repeated handle is acted upon once.
        """
        ...

    def writing(self, account: str) -> AbstractAsyncContextManager[Lease]:
        """Be the only one who changes mail in an account; or who does what else is named so, while others go on."""
        ...

    async def send(self, mail: Outgoing) -> Sending:
        """Hand one mail over, once, and say what became of it. The only way to send.

        Refused before anything is sent: `Conflict` (`would_be_suppressed`, `may_be_sent_already`). Written down before it
        leaves; a lost answer is stage UNKNOWN, and it is never sent again.
        """
        ...

    async def undo(self, operation_id: str) -> Outcome[Result]:
        """Take back what an operation of the caller's did, as far as that is possible: judged like any request (P-76)."""
        ...

    async def settled(self, record: Record) -> Record:
        """Look what became of a record whose process is gone or whose items are uncertain or unproved."""
        ...

    async def progress(self, done: int, total: int | None, what: str) -> None:
        """Tell how far it has got, to whoever listens."""
        ...

    async def decide(self, operation_id: str, *, approve: bool) -> Outcome[Result]:
        """Answer a waiting operation as its owner."""
        ...

    async def resume(self, operation_id: str) -> Outcome[Result]:
        """Run the stored request of an approved operation, once: re-planned, re-judged, claimed (P-32, P-37, P-38)."""
        ...

    async def shown(self, operation_id: str) -> Sequence[ReviewLine]:
        """Return everything a waiting operation would do, for the owner to see."""
        ...
