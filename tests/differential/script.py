"""A session in words: what an account holds, and what two clients and another device do to it, one step a line.

a UID MOVE 1:3 "Archive"           client a (or b) says it; {key} at the end of an APPEND stands for a mail
elsewhere label m1 trash           another device: label, unlabel, read, unread, flag, delete, deliver (key, place),
elsewhere make Folders/New         or make, drop, rename (path, new name)
events                             Bridge fetches and applies what happened elsewhere
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from mcp_proton.simulator.given import GivenLabel, GivenMessage, GivenUser

if TYPE_CHECKING:
    from collections.abc import Sequence

Model = Literal["fake", "real"]
ADDRESS = "alice@proton.local"
LABELS = ("Folders/Work", "Labels/Blue", "Labels/Red")


@dataclass(frozen=True)
class Session:
    """What is there (`key place … [sent|draft] [read]` for each message) and the steps; a name for reports."""

    name: str
    model: Model
    given: tuple[str, ...]
    steps: tuple[str, ...]

    def user(self) -> GivenUser:
        """The account it begins with."""
        labels = [GivenLabel.from_path(path) for path in LABELS]
        return GivenUser("alice", [ADDRESS], labels, [_message(words.split()) for words in self.given])

    def __str__(self) -> str:
        lines = [f"{self.name}, model {self.model}", *(f"  given {one}" for one in self.given)]
        return "\n".join([*lines, *(f"  {number:3} {step}" for number, step in enumerate(self.steps, 1))])


def _message(words: Sequence[str]) -> GivenMessage:
    key, *rest = words
    flavour = next((word for word in rest if word in {"sent", "draft"}), "received")
    places = tuple(word for word in rest if word not in {"sent", "draft", "read"})
    return GivenMessage(mail(key), places, (flavour,), "read" not in rest, key)


def mail(key: str) -> bytes:
    """A small mail with the key as its subject."""
    return (
        f"From: Bob <bob@example.com>\nTo: {ADDRESS}\nSubject: {key}\nDate: Mon, 02 Jan 2023 10:00:00 +0000\n"
        f"Message-ID: <{key}@example.com>\n\nHello {key}\n"
    ).encode()
