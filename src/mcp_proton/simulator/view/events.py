"""From the account to the local view: the first sync, and the events that follow (facts 2.4, 12)."""

from __future__ import annotations

import datetime as dt
import uuid
from functools import cache
from typing import TYPE_CHECKING

from mcp_proton.simulator.proton import literal
from mcp_proton.simulator.proton.labels import Kind
from mcp_proton.simulator.view.served import ServedMessage
from mcp_proton.simulator.view.updates import FORWARDED, FlagChange, with_flags, without_flags

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable

    from mcp_proton.simulator.proton.account import Account, Change, Label
    from mcp_proton.simulator.proton.message import Message
    from mcp_proton.simulator.view.served import Shelf
    from mcp_proton.simulator.view.store import LocalView, Mailbox

SYNC_BATCH = 64
"""How many messages the first sync brings at a time."""


def server_flags(message: Message) -> frozenset[str]:
    """The IMAP flags the server's state stands for."""
    return _imap_flags(message.flags, unread=message.unread, starred=message.starred)


@cache
def _imap_flags(proton: frozenset[str], *, unread: bool, starred: bool) -> frozenset[str]:
    flags: set[str] = set()
    if not unread:
        flags.add("\\Seen")
    if starred:
        flags.add("\\Flagged")
    if "replied" in proton:
        flags.add("\\Answered")
    if "forwarded" in proton:
        flags |= FORWARDED
    if not proton & {"received", "sent"}:
        flags.add("\\Draft")
    return frozenset(flags)


def merged(changes: Iterable[Change]) -> list[Change]:
    """A stretch of the log as one event carries it: of several changes of one thing the last, in its place."""
    kept: list[Change] = []
    seen: set[tuple[str, str, str]] = set()
    gone: set[tuple[str, str]] = set()
    for change in reversed(list(changes)):
        thing = (change.what, change.id)
        if thing in gone or (*thing, change.how) in seen:
            continue
        seen.add((*thing, change.how))
        if change.how == "deleted":
            gone.add(thing)
        kept.append(change)
    return kept[::-1]


class Follower:
    """Keeps one local view after the account; `address` narrows it to one address (split mode)."""

    def __init__(
        self, account: Account, view: LocalView, shelf: Shelf, ids_from: random.Random, address: str | None = None
    ) -> None:
        self._account = account
        self._view = view
        self._shelf = shelf
        self._random = ids_from
        self._address = address
        self.to_sync: list[Message] = []

    # -- first sync

    def begin_sync(self) -> None:
        """Make all mailboxes and line up the messages, the newest made first."""
        self._view.reset()
        for label in sorted(self._account.labels.values(), key=self._account.label_path):
            self._add_mailbox(label)
        self._view.number_rows()
        mine = (message for message in self._account.messages.values() if self._is_mine(message))
        self.to_sync = sorted(mine, key=lambda message: message.order)

    def sync_some(self, count: int) -> None:
        """Bring in so many more messages."""
        for _ in range(min(count, len(self.to_sync))):
            self._learn(self.to_sync.pop())

    # -- events

    def apply(self, change: Change) -> None:
        """Carry one change over into the view."""
        if change.what == "label":
            self._apply_label(change)
        elif change.how == "deleted":
            known = self._view.messages.get(change.id)
            if known is not None:
                self._view.forget(known)
        elif change.id in self._account.messages:
            self._apply_message(self._account.messages[change.id], is_new=change.how == "created")

    def _apply_label(self, change: Change) -> None:
        mailbox = self._view.mailboxes.get(change.id)
        label = self._account.labels.get(change.id)
        if label is None:
            if mailbox is not None:
                self._view.drop_mailbox(mailbox)
        elif mailbox is None:
            self._add_mailbox(label)
        else:
            for path in list(self._below(label)):
                path.path = self._account.label_path(self._account.labels[path.id])

    def _below(self, label: Label) -> Iterable[Mailbox]:
        for mailbox in self._view.mailboxes.values():
            own: Label | None = self._account.labels.get(mailbox.id)
            while own is not None:
                if own.id == label.id:
                    yield mailbox
                    break
                own = self._account.labels.get(own.parent) if own.parent else None

    def _apply_message(self, message: Message, *, is_new: bool) -> None:
        if not self._is_mine(message):
            return
        known = self._view.messages.get(message.id)
        if known is not None and known.composed is not message.composed:
            # Another text is another message to the IMAP engine: new id, new UIDs.
            self._view.forget(known)
            known = None
        if known is None:
            self._learn(message)
            return
        # New to the account and known all the same: it was appended here.
        steps = (self._apply_flags, self._apply_places) if is_new else (self._apply_places, self._apply_flags)
        for step in steps:
            step(message, known)

    def _apply_places(self, message: Message, known: ServedMessage) -> None:
        wanted = self._mailboxes_of(message)
        for mailbox in self._view.places_of(known):
            if mailbox not in wanted and mailbox.kind is not Kind.RECOVERED:
                self._view.take(mailbox, known)
        for mailbox in wanted:
            if known not in mailbox.entries:
                self._view.put(mailbox, known)

    def _apply_flags(self, message: Message, known: ServedMessage) -> None:
        flags = server_flags(message)
        if flags != known.flags:
            gone, new = without_flags(known.flags, flags), without_flags(flags, known.flags)
            known.flags = with_flags(without_flags(known.flags, gone), new)
            # What a session shows that Bridge's database doesn't have stays as it is there.
            self._view.tell_flags_of_event(FlagChange(known, "remove", gone))
            self._view.tell_flags_of_event(FlagChange(known, "add", new))

    # -- both

    def served(self, message: Message) -> ServedMessage:
        """A new served message for one of the account's."""
        gluon_id = str(uuid.UUID(int=self._random.getrandbits(128), version=4))
        flags = server_flags(message)
        return ServedMessage(
            message.id, gluon_id, flags, message.time, _Builder(message), self._shelf, message.composed
        )

    def _learn(self, message: Message) -> None:
        served = self.served(message)
        self._view.messages[message.id] = served
        for mailbox in self._mailboxes_of(message):
            self._view.put(mailbox, served)

    def _mailboxes_of(self, message: Message) -> list[Mailbox]:
        # Labels Bridge doesn't know at this moment are dropped.
        return [self._view.mailboxes[one] for one in message.label_ids if one in self._view.mailboxes]

    def _add_mailbox(self, label: Label) -> None:
        kind = Kind.FOLDER if label.folder else Kind.LABEL
        self._view.add_mailbox(label.id, self._account.label_path(label), kind)

    def _is_mine(self, message: Message) -> bool:
        return self._address is None or message.address == self._address


class _Builder:
    """Builds the literal of one message; small, because there is one for every message."""

    __slots__ = ("_message",)

    def __init__(self, message: Message) -> None:
        self._message = message

    def __call__(self, gluon_id: str) -> bytes:
        message = self._message
        time = dt.datetime.fromtimestamp(int(message.time), dt.UTC)
        if message.composed is not None:
            return literal.build(message.composed, message.id, gluon_id, time, from_lines=True)
        return literal.serve(
            message.raw,
            delivered=message.origin == "delivered",
            internal_id=message.id,
            gluon_id=gluon_id,
            api_time=time,
            appended=message.origin == "appended",
            draft="draft" in message.flags,
            sender=f"{message.address} <{message.address}>" if message.origin == "appended" else None,
        )
