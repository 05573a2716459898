"""Proton's labels and what Bridge shows of them: system places, folders, labels, and Bridge's own mailboxes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Kind(Enum):
    """What a mailbox is to a message."""

    HOME = "a place that follows the message's flavour"
    PLACE = "a fixed place"
    FOLDER = "a place the owner made"
    LABEL = "a label the owner made"
    STARRED = "the star"
    ALL = "everything"
    SCHEDULED = "mail that waits to be sent"
    NODE = "the parent of folders or of labels"
    RECOVERED = "what could not be appended"


INBOX, ALL_DRAFTS, ALL_SENT, TRASH, SPAM, ALL_MAIL, ARCHIVE, SENT, DRAFTS, STARRED, SCHEDULED = (
    "0", "1", "2", "3", "4", "5", "6", "7", "8", "10", "12",
)  # fmt: skip
FOLDERS_NODE, LABELS_NODE, RECOVERED = "Folders", "Labels", "Recovered Messages"

HOMES = frozenset({INBOX, SENT, DRAFTS, SCHEDULED})
FIXED_PLACES = frozenset({ARCHIVE, SPAM, TRASH})

ACCOUNT_NAMES = {
    INBOX: "Inbox", ALL_DRAFTS: "AllDrafts", ALL_SENT: "AllSent", TRASH: "Trash", SPAM: "Spam", ALL_MAIL: "All Mail",
    ARCHIVE: "Archive", SENT: "Sent", DRAFTS: "Drafts", STARRED: "Starred", SCHEDULED: "Scheduled",
}  # fmt: skip
"""How an account names its system labels when it is asked for its state."""

GIVEN_NAMES = {name.lower().replace(" ", ""): label for label, name in ACCOUNT_NAMES.items()}


@dataclass(frozen=True)
class Fixed:
    """A mailbox that always exists: its API id, IMAP name, kind and LIST attributes."""

    id: str
    name: str
    kind: Kind
    attributes: tuple[str, ...]


FIXED = (
    Fixed(INBOX, "INBOX", Kind.HOME, ("\\Noinferiors",)),
    Fixed(DRAFTS, "Drafts", Kind.HOME, ("\\Noinferiors", "\\Drafts")),
    Fixed(SENT, "Sent", Kind.HOME, ("\\Noinferiors", "\\Sent")),
    Fixed(STARRED, "Starred", Kind.STARRED, ("\\Noinferiors", "\\Flagged")),
    Fixed(ARCHIVE, "Archive", Kind.PLACE, ("\\Noinferiors", "\\Archive")),
    Fixed(SPAM, "Spam", Kind.PLACE, ("\\Noinferiors", "\\Junk")),
    Fixed(TRASH, "Trash", Kind.PLACE, ("\\Noinferiors", "\\Trash")),
    Fixed(ALL_MAIL, "All Mail", Kind.ALL, ("\\Noinferiors", "\\All")),
    Fixed(SCHEDULED, "Scheduled", Kind.SCHEDULED, ("\\Noinferiors",)),
    Fixed(FOLDERS_NODE, "Folders", Kind.NODE, ("\\Noselect",)),
    Fixed(LABELS_NODE, "Labels", Kind.NODE, ("\\Noselect",)),
    Fixed(RECOVERED, "Recovered Messages", Kind.RECOVERED, ("\\Noinferiors",)),
)
