"""The mailbox a session has selected, as that session knows it: its list of messages and flags may lag behind the view."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from mcp_proton.simulator.updates import DELETED, RECENT, Appeared, FlagChange, Vanished

if TYPE_CHECKING:
    from mcp_proton.simulator.served import ServedMessage
    from mcp_proton.simulator.store import Entry, Mailbox
    from mcp_proton.simulator.updates import Update


@dataclass
class Told:
    """One untagged response to send: `EXISTS`, `RECENT`, `EXPUNGE` or `FETCH` with its number."""

    what: str
    number: int
    flags: frozenset[str] = frozenset()
    uid: int = 0

    def line(self, *, with_uid: bool) -> bytes:
        """The response as it goes out, without its line end."""
        if self.what != "FETCH":
            return f"* {self.number} {self.what}".encode()
        uid = f" UID {self.uid}" if with_uid else ""
        return f"* {self.number} FETCH (FLAGS ({flag_list(self.flags)}){uid})".encode()


@lru_cache(maxsize=4096)
def flag_list(flags: frozenset[str]) -> str:
    """Flags in the order Bridge's recordings are written in."""
    return " ".join(sorted(flags))


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
        self._leaving: dict[ServedMessage, Entry] = {}
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
        """Where a message is in the list."""
        for entry in (self._leaving.get(message), self.mailbox.entries.get(message)):
            position = self.position_of_uid(entry.uid) if entry is not None else None
            if position is not None:
                return position
        return None

    def shows(self, message: ServedMessage) -> bool:
        """Whether the list holds the message."""
        return self.position_of(message) is not None

    # -- telling

    def notify(self, update: Update) -> None:
        """Queue an update until a command may carry it."""
        if isinstance(update, Vanished):
            self._leaving[update.message] = update.entry
        self.pending.append(update)

    def notify_of_own(self, change: FlagChange) -> None:
        """Queue what this session did to a message that is leaving its list, before it leaves."""
        leaving = (
            at
            for at, update in enumerate(self.pending)
            if isinstance(update, Vanished) and update.message is change.message
        )
        self.pending.insert(next(leaving, len(self.pending)), change)

    def flush(self, *, expunges: bool, teller: object) -> list[Told]:
        """Take over the queued updates and say what to send; without `expunges` those stay queued, and all after them."""
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
            (later if update.message in held else now).append(update)
        return now, later

    def _take_over(self, update: Update, teller: object) -> list[Told]:
        if isinstance(update, Appeared):
            return self._append(update)
        if isinstance(update, Vanished):
            return self._remove(update)
        return self._reflag(update, teller)

    def _append(self, update: Appeared) -> list[Told]:
        entry = update.entry
        if self.uids and entry.uid <= self.uids[-1]:
            return []
        self.entries.append(entry)
        self.uids.append(entry.uid)
        self.flags.append(_shown(update.flags, entry.deleted, entry.recent))
        self.recent_count += entry.recent
        # Whoever is told first has it, even after EXAMINE.
        entry.recent = False
        told = [Told("EXISTS", len(self.entries))]
        return [*told, Told("RECENT", self.recent_count)] if self.recent_count else told

    def _remove(self, update: Vanished) -> list[Told]:
        self._leaving.pop(update.message, None)
        position = self.position_of_uid(update.entry.uid)
        if position is None:
            return []
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
        return [Told("FETCH", position + 1, after, self.uids[position])]


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
            self.told[self._since_expunge[key]] = new
        else:
            self._since_expunge[key] = len(self.told)
            self.told.append(new)
