"""Context: what a handler may touch. Everything a handler reads or changes comes through here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol
from zoneinfo import ZoneInfo

from .caller import Caller
from .consequences import EffectTable
from .effects import Effect
from .handles import Handle
from .mail import Mailbox
from .ports import Artifacts, Clock, Journal, MailBackend

if TYPE_CHECKING:
    from .operation import Result
    from .outcome import Outcome
    from .plan import Plan


@dataclass(frozen=True, slots=True)
class Right:
    """What the rules say of one effect: allow, ask or deny, and where that comes from in the owner's words."""

    effect: Effect
    verdict: str
    source: str


class Context(Protocol):
    """The world as one call sees it."""

    caller: Caller

    @property
    def clock(self) -> Clock:
        """The service's clock."""
        ...

    @property
    def artifacts(self) -> Artifacts:
        """The managed store."""
        ...

    @property
    def journal(self) -> Journal:
        """The journal; it scopes records by the caller it is given."""
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

    def consequences(self, account: str) -> EffectTable:
        """Return what each verb really does on an account: for planning, where the backend is out of reach."""
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

    async def progress(self, done: int, total: int | None, what: str) -> None:
        """Tell how far it has got, to whoever listens."""
        ...

    async def decide(self, operation_id: str, *, approve: bool) -> Outcome[Result]:
        """Answer a waiting operation as its owner."""
        ...

    async def resume(self, operation_id: str) -> Outcome[Result]:
        """Run the stored request of an approved operation, once: re-planned, re-judged, claimed (P-32, P-37, P-38)."""
        ...

    async def review(self, operation_id: str) -> Plan:
        """Plan a waiting operation again, for the owner to see."""
        ...
