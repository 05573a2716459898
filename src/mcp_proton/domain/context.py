"""Context: what a handler may touch. Everything a handler reads or changes comes through here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol
from zoneinfo import ZoneInfo

from .caller import Caller
from .effects import Effect
from .handles import Handle
from .mail import Mailbox
from .ports import Artifacts, Clock, Journal, MailBackend

if TYPE_CHECKING:
    from .operation import Request, Result
    from .outcome import Outcome


class Context(Protocol):
    """The world as one call sees it."""

    caller: Caller
    clock: Clock
    artifacts: Artifacts
    journal: Journal
    timezone: ZoneInfo

    def accounts(self) -> Sequence[str]:
        """Return the accounts this caller may know of."""
        ...

    def account(self, name: str | None) -> str:
        """Resolve an account: the one named, else the only one, else the owner's default. Else `NotFound` or `Invalid`."""
        ...

    def backend(self, account: str) -> MailBackend:
        """Return the account's backend."""
        ...

    async def mailbox(self, account: str, reference: str) -> Mailbox:
        """Resolve a mailbox by role word, path or tag. `NotFound` otherwise."""
        ...

    async def mailbox_of(self, handle: Handle) -> Mailbox:
        """Resolve the mailbox a handle names. `Stale` when it is gone."""
        ...

    def allows(self, effect: Effect, account: str, mailbox: Mailbox | None = None) -> bool:
        """Whether the caller could do this there unasked: for leaving out of an answer what is not the caller's."""
        ...

    async def progress(self, done: int, total: int | None, what: str) -> None:
        """Tell how far it has got, to whoever listens."""
        ...

    async def submit(self, request: Request) -> Outcome[Result]:
        """Go through the door again, as the same caller: for resuming and undoing."""
        ...
