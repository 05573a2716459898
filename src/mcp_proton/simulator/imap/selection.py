"""The mailbox a session has selected, as that session knows it: its list of messages and flags may lag behind the view."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from mcp_proton.simulator.view.updates import DELETED, RECENT, Appeared, FlagChange, Vanished

if TYPE_CHECKING:
    from mcp_proton.simulator.view.served import ServedMessage
    from mcp_proton.simulator.view.store import Entry, Mailbox
    from mcp_proton.simulator.view.updates import Update


@dataclass
class Told:
    """One untagged response to send: `EXISTS`, `RECENT`, `EXPUNGE` or `FETCH` with its number; `uid` 0 isn't shown."""

    what: str
    number: int
    flags: frozenset[str] = frozenset()
    uid: int = 0

    def line(self) -> bytes:
        """The response as it goes out, without its line end."""
        if self.what != "FETCH":
            return f"* {self.number} {self.what}".encode()
        uid = f" UID {self.uid}" if self.uid else ""
        return f"* {self.number} FETCH (FLAGS ({flag_list(self.flags)}){uid})".encode()


@lru_cache(maxsize=4096)
def flag_list(flags: frozenset[str]) -> str:
    """Flags in the order Bridge's recordings are written in."""
    return " ".join(sorted(flags))


class OutOfOrderError(Exception):
    """A session's own message would come before one that its list holds already: the engine gives up telling."""


class Selection:
    """A session's list of one mailbox; positions count from 0, sequence numbers from 1.

    `recent_count` says how many messages are \\Recent in this session.
    """

    def __init__(self, mailbox: Mailbox, *, read_only: bool) -> None:
        self.mailbox = mailbox
        self.read_only = read_only
        self.entries: list[Entry] = list(mailbox.entries.values())
        self.uids: list[int] = [entry.uid for entry in self.entries]
        self.pending: list[Update] = []
        self._uid_of: dict[ServedMessage, int] = {entry.message: entry.uid for entry in self.entries}
        self.flags: list[frozenset[str]] = self._all_flags()
        self.recent_count = sum(RECENT in flags for flags in self.flags)

    def _all_flags(self) -> list[frozenset[str]]:
        made: dict[tuple[frozenset[str], bool, bool], frozenset[str]] = {}
        flags: list[frozenset[str]] = []
        for entry in self.entries:
            key = (entry.message.flags, entry.deleted, entry.recent)
            known = made.get(key)
            if known is None:
                known = made[key] = _shown(*key)
            flags.append(known)
            if not self.read_only:
                entry.recent = False
        return flags

    @property
    def first_unseen(self) -> int | None:
        """The sequence number of the first message without \\Seen."""
        return next((number for number, flags in enumerate(self.flags, 1) if "\\Seen" not in flags), None)

    def position_of_uid(self, uid: int) -> int | None:
        """Where a UID is in the list; None if it isn't."""
        position = bisect_left(self.uids, uid)
        return position if position < len(self.uids) and self.uids[position] == uid else None

    def position_of(self, message: ServedMessage) -> int | None:
        """Where a message is in the list, whatever UID the mailbox has it under by now."""
        uid = self._uid_of.get(message)
        return None if uid is None else self.position_of_uid(uid)

    def shows(self, message: ServedMessage) -> bool:
        """Whether the list holds the message."""
        return message in self._uid_of

    # -- telling

    def notify(self, update: Update) -> None:
        """Queue an update until a command may carry it.

        That a message left is dropped unless the list holds it: one that came and went in between stays as a ghost.
        """
        if not isinstance(update, Vanished) or self.shows(update.message):
            self.pending.append(update)

    def flush(self, *, expunges: bool, teller: object) -> list[Told]:
        """Take over the queued updates and say what to send; without `expunges` those stay queued, and what came back."""
        now, self.pending = self._split(expunges=expunges)
        merged = _Merger()
        for update in now:
            for response in self._take_over(update, teller):
                merged.add(response)
        return merged.told

    @property
    def expunge_is_due(self) -> bool:
        """Whether an EXPUNGE waits for a command that may carry it."""
        return any(isinstance(update, Vanished) for update in self.pending)

    def _split(self, *, expunges: bool) -> tuple[list[Update], list[Update]]:
        if expunges:
            return self.pending, []
        now: list[Update] = []
        later: list[Update] = []
        held: set[ServedMessage] = set()
        for update in self.pending:
            if isinstance(update, Vanished):
                held.add(update.message)
                later.append(update)
            elif isinstance(update, Appeared) and update.message in held:
                held.discard(update.message)
                later.append(update)
            else:
                now.append(update)
        return now, later

    def _take_over(self, update: Update, teller: object) -> list[Told]:
        if isinstance(update, Appeared):
            return self._append(update, teller)
        if isinstance(update, Vanished):
            return self._remove(update)
        return self._reflag(update, teller)

    def _append(self, update: Appeared, teller: object) -> list[Told]:
        entry = update.entry
        if self.shows(update.message):
            return []
        position = bisect_left(self.uids, entry.uid)
        if update.by is teller and position < len(self.uids):
            raise OutOfOrderError(f"UID-Last={self.uids[-1]} UID-Msg={entry.uid}: UIDs must be strictly ascending")
        self._uid_of[update.message] = entry.uid
        self.entries.insert(position, entry)
        self.uids.insert(position, entry.uid)
        self.flags.insert(position, _shown(update.flags, deleted=False, recent=entry.recent))
        self.recent_count += entry.recent
        # Whoever is told first has it, even after EXAMINE.
        entry.recent = False
        told = [Told("EXISTS", len(self.entries))]
        return [*told, Told("RECENT", self.recent_count)] if self.recent_count else told

    def _remove(self, update: Vanished) -> list[Told]:
        position = self.position_of(update.message)
        if position is None:
            return []
        del self._uid_of[update.message]
        self.recent_count -= RECENT in self.flags[position]
        del self.entries[position], self.uids[position], self.flags[position]
        return [Told("EXPUNGE", position + 1)]

    def _reflag(self, update: FlagChange, teller: object) -> list[Told]:
        position = self.position_of(update.message)
        if position is None:
            return []
        before = self.flags[position]
        after = update.apply_to(before)
        if after == before:
            return []
        self.flags[position] = after
        if update.quiet_for is teller:
            return []
        uid = self.uids[position] if update.with_uid_for is teller else 0
        return [Told("FETCH", position + 1, after, uid)]


def _shown(flags: frozenset[str], deleted: bool, recent: bool) -> frozenset[str]:
    extra = {flag for flag, on in ((DELETED, deleted), (RECENT, recent)) if on}
    return flags | extra if extra else flags


class _Merger:
    """Responses to send; a later count or flag list takes an earlier one's place unless an EXPUNGE lies between."""

    def __init__(self) -> None:
        self.told: list[Told] = []
        self._since_expunge: dict[tuple[str, int], int] = {}

    def add(self, new: Told) -> None:
        """Add a response, or replace the one it makes obsolete."""
        if new.what == "EXPUNGE":
            self._since_expunge.clear()
            self.told.append(new)
            return
        key = (new.what, new.number if new.what == "FETCH" else 0)
        if key in self._since_expunge:
            before = self.told[self._since_expunge[key]]
            self.told[self._since_expunge[key]] = replace(new, uid=new.uid or before.uid)
        else:
            self._since_expunge[key] = len(self.told)
            self.told.append(new)
