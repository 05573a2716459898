"""Bridge's local view of an account: mailboxes with UIDs, the messages it knows, and the sessions that look at them.

The view is what IMAP shows. It changes at once by what sessions do and by events from the account, and can be wrong in
between (ghosts). Nothing here talks to the API.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from mcp_proton.simulator.proton import labels as ids
from mcp_proton.simulator.view.updates import Appeared, FlagChange, Vanished

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from mcp_proton.simulator.proton.labels import Kind
    from mcp_proton.simulator.view.served import ServedMessage
    from mcp_proton.simulator.view.updates import Update, Watcher

NO_FLAGS: frozenset[str] = frozenset()
UIDVALIDITY_EPOCH = 1_675_209_600
"""2023-02-01T00:00:00Z, from which gluon counts its UIDVALIDITY."""


class Entry:
    """A message in one mailbox: its UID there and what belongs to this mailbox only."""

    __slots__ = ("deleted", "message", "recent", "uid")

    def __init__(self, uid: int, message: ServedMessage) -> None:
        self.uid = uid
        self.message = message
        self.deleted = False
        self.recent = True


class Mailbox:
    """A mailbox of the local view; `entries` are in UID order."""

    def __init__(
        self, mailbox_id: str, path: str, kind: Kind, uidvalidity: int, attributes: tuple[str, ...] = ()
    ) -> None:
        self.id = mailbox_id
        self.path = path
        self.kind = kind
        self.uidvalidity = uidvalidity
        self.attributes = attributes
        self.row = 0
        self.uidnext = 1
        self.entries: dict[ServedMessage, Entry] = {}
        self.subscribed = True
        self.takes_forwarded = True
        self.is_gone = False

    def add(self, message: ServedMessage) -> Entry:
        """Put a message in under a new UID; what held it before is replaced."""
        self.entries.pop(message, None)
        entry = Entry(self.uidnext, message)
        self.uidnext += 1
        self.entries[message] = entry
        return entry

    @property
    def permanent_flags(self) -> list[str]:
        """The flags SELECT announces; nothing enforces them."""
        flags = ["\\Flagged", "\\Seen"]
        if self.kind is not ids.Kind.ALL:
            flags.append("\\Deleted")
        if self.takes_forwarded:
            flags += ["$Forwarded", "Forwarded"]
        return sorted(flags)


class WriteGate:
    """One writer at a time, and nobody reads meanwhile: Bridge's lock on an account's database, API calls included."""

    def __init__(self) -> None:
        self._writing = False
        self._free = asyncio.Condition()
        self.waiting = 0

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[None]:
        """Enter when no write is under way."""
        await self._wait()
        yield

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[None]:
        """Hold everybody else out."""
        await self._wait()
        self._writing = True
        try:
            yield
        finally:
            self._writing = False
            async with self._free:
                self._free.notify_all()

    async def _wait(self) -> None:
        while self._writing:
            self.waiting += 1
            try:
                async with self._free:
                    await self._free.wait_for(lambda: not self._writing)
            finally:
                self.waiting -= 1


class LocalView:
    """The mailboxes and messages of one IMAP login (an account, or one address in split mode)."""

    def __init__(self, draw_uidvalidity: Callable[[], int]) -> None:
        self.draw_uidvalidity = draw_uidvalidity
        self._next_row = 1
        self.gate = WriteGate()
        self.watchers: list[Watcher] = []
        self.mailboxes: dict[str, Mailbox] = {}
        self.messages: dict[str, ServedMessage] = {}
        self.deleted_subscriptions: set[str] = set()
        self.recovered_hashes: set[bytes] = set()
        self.reset()

    def reset(self) -> None:
        """Forget everything and start with Bridge's own mailboxes, each with a new UIDVALIDITY."""
        self.mailboxes = {}
        self.messages = {}
        self.recovered_hashes = set()
        self.deleted_subscriptions = set()
        for fixed in ids.FIXED:
            self.add_mailbox(fixed.id, fixed.name, fixed.kind, fixed.attributes)
        # Seen in every recording of a first run; the tokens are there after a restart.
        self.mailboxes[ids.ALL_MAIL].takes_forwarded = False

    def restarted(self) -> None:
        """What a restart of Bridge changes in the view: All Mail now announces the forwarded keywords."""
        self.mailboxes[ids.ALL_MAIL].takes_forwarded = True

    # -- mailboxes

    def add_mailbox(
        self,
        mailbox_id: str,
        path: str,
        kind: Kind,
        attributes: tuple[str, ...] = (),
        *,
        uidvalidity: int | None = None,
    ) -> Mailbox:
        """Make a mailbox, with a UIDVALIDITY of its own if none is given."""
        mailbox = Mailbox(mailbox_id, path, kind, uidvalidity or self.draw_uidvalidity(), attributes)
        mailbox.row = self._next_row
        self._next_row += 1
        self.mailboxes[mailbox_id] = mailbox
        self.deleted_subscriptions.discard(path)
        return mailbox

    def number_rows(self) -> None:
        """Number the database's tables in the order Bridge makes them in: the two parents, what is below, the fixed ones."""
        ranks = {ids.Kind.RECOVERED: 0, ids.Kind.NODE: 1, ids.Kind.LABEL: 2, ids.Kind.FOLDER: 3}
        made = sorted(self.mailboxes.values(), key=lambda mailbox: ranks.get(mailbox.kind, 4))
        for row, mailbox in enumerate(made, 1):
            mailbox.row = row
        self._next_row = len(made) + 1

    def by_path(self, path: str) -> Mailbox | None:
        """The mailbox of that exact path."""
        return next((mailbox for mailbox in self.mailboxes.values() if mailbox.path == path), None)

    def drop_mailbox(self, mailbox: Mailbox, *, keep_subscription: bool = False) -> None:
        """Remove a mailbox; sessions that have it selected find out at their next command."""
        mailbox.is_gone = True
        self.mailboxes.pop(mailbox.id, None)
        if keep_subscription and mailbox.subscribed:
            self.deleted_subscriptions.add(mailbox.path)

    # -- messages

    def put(self, mailbox: Mailbox, message: ServedMessage, *, by: Watcher | None = None) -> Entry:
        """Show a message in a mailbox and tell the sessions there; `by` is the one that asked for it."""
        entry = mailbox.add(message)
        self.tell(mailbox, Appeared(entry, message.flags, by))
        return entry

    def take(self, mailbox: Mailbox, message: ServedMessage) -> None:
        """Stop showing a message in a mailbox and tell the sessions there."""
        entry = mailbox.entries.pop(message, None)
        if entry is not None:
            self.tell(mailbox, Vanished(entry))

    def forget(self, message: ServedMessage) -> None:
        """Remove a message from every mailbox."""
        for mailbox in list(self.mailboxes.values()):
            self.take(mailbox, message)
        self.messages.pop(message.remote_id, None)

    def places_of(self, message: ServedMessage) -> list[Mailbox]:
        """The mailboxes that show a message."""
        return [mailbox for mailbox in self.mailboxes.values() if message in mailbox.entries]

    def tell(self, mailbox: Mailbox, update: Update) -> None:
        """Queue an update for every session that has the mailbox selected."""
        for watcher in self.watchers:
            if watcher.selected_mailbox is mailbox:
                watcher.notify(update)

    def tell_flags(self, change: FlagChange, *, origin: Mailbox) -> None:
        """Queue a change of flags that a session made there for every session that has anything selected."""
        for watcher in self.watchers:
            mailbox = watcher.selected_mailbox
            if mailbox is not None:
                watcher.notify(change if mailbox is origin else change.seen_from_elsewhere())

    def tell_flags_of_event(self, change: FlagChange) -> None:
        """Queue a change of flags by an event, for every session that lists the message: not where it is yet to appear."""
        for watcher in self.watchers:
            if watcher.shows(change.message):
                watcher.notify(change)
