"""What is done in the matrix: every operation that changes mail, and what it is to come to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from mcp_proton.services.door import registry
from mcp_proton.services.door.registry import primitive
from tests.matrix.world import MAILBOXES, Truth

CATALOG = registry.load()
TARGETS = ("target-0", "target-1", "target-2")
BYSTANDERS = ("bystander-0", "bystander-1")
Goal = Callable[[Truth], "Truth | None"]


@dataclass(frozen=True)
class Act:
    """An operation on messages. `places` are where the targets lie, `goal` what becomes of one that it was done to."""

    operation: str
    mailbox: str
    goal: Goal
    arguments: dict[str, Any] = field(default_factory=dict)
    places: tuple[str, ...] = ("inbox",)
    unread: bool = True
    names: bool = True
    """whether it names the messages, or a query or a mailbox that means them"""
    guarded: bool = False
    elsewhere: str = "Folders/Other"
    """where another device puts the first target meanwhile"""
    reads: tuple[str, ...] = ("LOGIN", "SELECT", "UID FETCH")

    @property
    def writes(self) -> tuple[str, ...]:
        """The kinds of commands that change something."""
        if self.guarded:
            return ("UID STORE", "UID MOVE")
        if self.operation == "messages_destroy" and self.mailbox == "Spam":
            return ("UID MOVE", "UID STORE", "UID EXPUNGE")
        return ("UID COPY",) if self.mailbox == "All Mail" else _WRITES[_verb(self.operation)]


@dataclass(frozen=True)
class BoxAct:
    """An operation on a folder or a label."""

    operation: str
    arguments: dict[str, Any]
    takes: frozenset[str] = frozenset()
    gives: frozenset[str] = frozenset()
    elsewhere: str = "Folders/Other"
    reads: tuple[str, ...] = ("LOGIN", "LIST")

    @property
    def writes(self) -> tuple[str, ...]:
        """The command that changes something."""
        return (_BOX_WRITES[self.operation.partition("_")[2]],)

    @property
    def goal(self) -> frozenset[str]:
        """The folders and labels there are afterwards."""
        return (frozenset(MAILBOXES) - self.takes) | self.gives


_WRITES = {
    "flag": ("UID STORE",),
    "move": ("UID MOVE",),
    "destroy": ("UID STORE", "UID EXPUNGE"),
    "apply": ("UID COPY",),
    "remove": ("UID STORE", "UID EXPUNGE"),
}
_BOX_WRITES = {
    "create": "CREATE",
    "rename": "RENAME",
    "move": "RENAME",
    "delete": "DELETE",
    "subscribe": "UNSUBSCRIBE",
}


def _verb(operation: str) -> str:
    """The primitive's last word: `messages_archive` is a move."""
    return primitive(CATALOG.by_name[operation]).name.partition("_")[2]


def to(place: str) -> Goal:
    """Into a place; Proton takes labels, stars and the unread mark off in Trash, labels and stars in Spam."""

    def moved(was: Truth) -> Truth:
        now = replace(was, places=frozenset({place}))
        if place in ("Trash", "Spam"):
            now = replace(now, labels=frozenset(), starred=False, unread=was.unread and place != "Trash")
        return now

    return moved


def _starred(on: bool) -> Goal:
    return lambda was: replace(was, starred=on)


def _unread(on: bool) -> Goal:
    return lambda was: replace(was, unread=on)


def _labelled(*labels: str) -> Goal:
    return lambda was: replace(was, labels=frozenset(labels))


def _gone(_: Truth) -> None:
    return None


_QUERY = {"query": "subject:target", "mailboxes": ["INBOX"]}
ACTS: dict[str, Act | BoxAct] = {
    "messages_flag": Act("messages_flag", "INBOX", _starred(True), {"add": ["starred"]}),
    "messages_mark_read": Act("messages_mark_read", "INBOX", _unread(False)),
    "messages_mark_unread": Act("messages_mark_unread", "INBOX", _unread(True), unread=False),
    "messages_star": Act("messages_star", "Archive", _starred(True), places=("archive",)),
    "messages_unstar": Act("messages_unstar", "INBOX", _starred(False), places=("inbox", "starred")),
    "messages_flag_matching": Act(
        "messages_flag_matching", "INBOX", _unread(False), _QUERY | {"add": ["read"]}, names=False
    ),
    "messages_move": Act("messages_move", "INBOX", to("Folders/Work"), {"to": "Folders/Work"}),
    "messages_move from a label": Act(
        "messages_move", "Labels/Red", to("Folders/Work"), {"to": "Folders/Work"}, ("inbox", "Labels/Red")
    ),
    "messages_move_matching": Act(
        "messages_move_matching", "INBOX", to("Folders/Work"), _QUERY | {"to": "Folders/Work"}, names=False
    ),
    "messages_archive": Act("messages_archive", "INBOX", to("Archive"), places=("inbox", "Labels/Red")),
    "messages_trash": Act("messages_trash", "INBOX", to("Trash")),
    "messages_trash guarded": Act("messages_trash", "INBOX", to("Trash"), guarded=True),
    "messages_spam": Act("messages_spam", "INBOX", to("Spam")),
    "messages_restore": Act("messages_restore", "Trash", to("INBOX"), places=("trash",)),
    "messages_restore an orphan": Act("messages_restore", "All Mail", to("INBOX"), places=()),
    "messages_not_spam": Act("messages_not_spam", "Spam", to("INBOX"), places=("spam",)),
    "messages_destroy": Act("messages_destroy", "Trash", _gone, places=("trash",)),
    "messages_destroy spam": Act("messages_destroy", "Spam", _gone, places=("spam",)),
    "messages_destroy_matching": Act(
        "messages_destroy_matching",
        "Trash",
        _gone,
        {"query": "subject:target", "mailboxes": ["trash"]},
        ("trash",),
        names=False,
    ),
    "mailboxes_empty": Act("mailboxes_empty", "Trash", _gone, {"mailbox": "trash"}, ("trash",), names=False),
    "labels_apply": Act(
        "labels_apply", "INBOX", _labelled("Labels/Red", "Labels/Blue"), {"label": "Blue"}, ("inbox", "Labels/Red")
    ),
    "labels_apply_matching": Act(
        "labels_apply_matching", "INBOX", _labelled("Labels/Blue"), _QUERY | {"label": "Blue"}, names=False
    ),
    "labels_remove": Act(
        "labels_remove",
        "Labels/Blue",
        _labelled("Labels/Red"),
        {"label": "Blue"},
        ("inbox", "Labels/Red", "Labels/Blue"),
    ),
    "folders_create": BoxAct("folders_create", {"folder": "New"}, gives=frozenset({"Folders/New"})),
    "folders_rename": BoxAct(
        "folders_rename",
        {"folder": "Folders/Other", "to": "Renamed"},
        frozenset({"Folders/Other"}),
        frozenset({"Folders/Renamed"}),
    ),
    "folders_move": BoxAct(
        "folders_move",
        {"folder": "Folders/Other", "into": "Folders/Work"},
        frozenset({"Folders/Other"}),
        frozenset({"Folders/Work/Other"}),
    ),
    "folders_delete": BoxAct(
        "folders_delete", {"folder": "Folders/Empty"}, frozenset({"Folders/Empty"}), elsewhere="Folders/Empty"
    ),
    "labels_create": BoxAct("labels_create", {"label": "New"}, gives=frozenset({"Labels/New"})),
    "labels_rename": BoxAct(
        "labels_rename",
        {"label": "Labels/Red", "to": "Renamed"},
        frozenset({"Labels/Red"}),
        frozenset({"Labels/Renamed"}),
    ),
    "labels_delete": BoxAct("labels_delete", {"label": "Labels/Red"}, frozenset({"Labels/Red"})),
    "mailboxes_subscribe": BoxAct("mailboxes_subscribe", {"mailbox": "Folders/Work", "subscribed": False}),
}
Acts = Mapping[str, Act | BoxAct]
UNSUPPORTED: dict[str, Act] = {
    "messages_copy": Act("messages_copy", "INBOX", _unread(True), {"to": "Archive"}),
    "messages_mark_deleted": Act("messages_mark_deleted", "INBOX", _unread(True)),
}
"""What a Bridge has nothing for: refused before anything is sent."""
ELSEWHERE = {"messages_get": "its `mark_read` is messages_mark_read on one message"}
WRITES = ("UID MOVE", "UID COPY", "UID STORE", "UID EXPUNGE", "CREATE", "RENAME", "DELETE", "SUBSCRIBE", "UNSUBSCRIBE")
