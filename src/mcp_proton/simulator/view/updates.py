"""What sessions are told of changes: queued, put off while sequence numbers must not move, merged when sent (gluon)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from mcp_proton.simulator.view.served import ServedMessage
    from mcp_proton.simulator.view.store import Entry, Mailbox

DELETED = "\\Deleted"
RECENT = "\\Recent"
SEEN = "\\Seen"
FLAGGED = "\\Flagged"
FORWARDED = frozenset({"$Forwarded", "Forwarded"})


@dataclass(frozen=True)
class Appeared:
    """A message was added to the selected mailbox, with these flags; `by` is the session that put it there, if one did."""

    entry: Entry
    flags: frozenset[str]
    by: object = None

    @property
    def message(self) -> ServedMessage:
        """The message that appeared."""
        return self.entry.message


@dataclass(frozen=True)
class Vanished:
    """A message left the selected mailbox."""

    entry: Entry

    @property
    def message(self) -> ServedMessage:
        """The message that vanished."""
        return self.entry.message


@dataclass(frozen=True)
class FlagChange:
    """Flags of a message were added, removed or replaced.

    `quiet_for` is the session that asked not to be told, `with_uid_for` the one that changed them by a UID command: it alone
    is told the UID.
    """

    message: ServedMessage
    how: Literal["add", "remove", "replace"]
    flags: frozenset[str]
    keeps_deleted: bool = False
    quiet_for: object = None
    with_uid_for: object = None

    def seen_from_elsewhere(self) -> FlagChange:
        """The same as another mailbox sees it: \\Deleted belongs to one mailbox only."""
        return replace(self, flags=self.flags - {DELETED}, keeps_deleted=True, quiet_for=None, with_uid_for=None)

    def apply_to(self, flags: frozenset[str]) -> frozenset[str]:
        """The flags after this change."""
        if self.how == "add":
            return with_flags(flags, self.flags)
        if self.how == "remove":
            return without_flags(flags, self.flags)
        kept = {flag for flag in flags if flag == RECENT or (flag == DELETED and self.keeps_deleted)}
        return self.flags | kept


Update = Appeared | Vanished | FlagChange


class Watcher(Protocol):
    """A session as the view sees it."""

    @property
    def selected_mailbox(self) -> Mailbox | None:
        """The mailbox it has selected."""
        ...

    def notify(self, update: Update) -> None:
        """Queue an update for it."""
        ...

    def shows(self, message: ServedMessage) -> bool:
        """Whether its list still holds the message."""
        ...


def same_flag(one: str, other: str) -> bool:
    """Flags are equal whatever their case."""
    return one.lower() == other.lower()


def has_flag(flags: frozenset[str], flag: str) -> bool:
    """Whether a set holds a flag in any case."""
    return flag in flags or any(same_flag(flag, one) for one in flags)


def with_flags(flags: frozenset[str], added: frozenset[str]) -> frozenset[str]:
    """Add flags; the spelling that is there already stays."""
    new = {flag for flag in added if not has_flag(flags, flag)}
    return flags | new if new else flags


def without_flags(flags: frozenset[str], removed: frozenset[str]) -> frozenset[str]:
    """Remove flags in any case."""
    gone = {flag.lower() for flag in removed}
    return frozenset(flag for flag in flags if flag.lower() not in gone)
