"""What a row's roles are on this account: mailboxes, and messages that are in them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

from mcp_proton.domain.handles import Handle
from mcp_proton.domain.mail import Role

if TYPE_CHECKING:
    from tests.unit.bridge.hazards.scene import Scene

PATHS = {
    Role.INBOX: "INBOX", Role.SENT: "Sent", Role.DRAFTS: "Drafts", Role.TRASH: "Trash", Role.SPAM: "Spam",
    Role.ARCHIVE: "Archive", Role.FOLDER: "Folders/Work", Role.LABEL: "Labels/Blue", Role.STARRED: "Starred",
    Role.ALL: "All Mail", Role.SCHEDULED: "Scheduled", Role.RECOVERED: "Recovered Messages", Role.NODE: "Folders",
}  # fmt: skip
"""A row's source; its destination too, where there is no second mailbox of the kind."""
TARGETS = {**PATHS, Role.FOLDER: "Folders/Other", Role.LABEL: "Labels/Red", Role.NODE: "Labels"}
HOMES = {"received": "INBOX", "sent": "Sent", "draft": "Drafts"}
KINDS = {Role.SENT: "sent", Role.DRAFTS: "draft", Role.SCHEDULED: "scheduled"}
VIEWS = {Role.LABEL: ("Labels/Blue",), Role.STARRED: ("starred",), Role.ALL: ()}
_LABELS = frozenset({"Labels/Blue", "Labels/Red", "Starred"})
_NUMBERS = count(1)


@dataclass(frozen=True)
class Placed:
    """A message in a mailbox of a row's source, under the key it has in the account."""

    scene: Scene
    key: str
    path: str

    async def handle(self) -> Handle:
        """Its handle there."""
        return await self.scene.handle(self.key, self.path)

    def truth(self) -> set[str] | None:
        """Where the account has it."""
        return self.scene.truth(self.key)

    def is_unread(self) -> bool:
        """Whether it is unread."""
        return bool(self.scene.bridge.state()[self.key]["unread"])

    def leave(self) -> None:
        """It is gone, so that the next one is alone."""
        if self.truth() is not None:
            self.scene.phone("delete", self.key)
            self.scene.events()


def name(path: str) -> str:
    """The account's word for a mailbox."""
    return "Inbox" if path == "INBOX" else path


def place_of(truth: set[str] | None) -> set[str]:
    """The one place in it, if there is one."""
    return (truth or set()) - _LABELS


def held_by(truth: set[str] | None) -> set[str]:
    """The labels in it, and the star."""
    return (truth or set()) & _LABELS


def put(scene: Scene, role: Role, *more: str, kind: str = "", place: str = "inbox") -> Placed:
    """A message in the mailbox of this role, with more labels. In one that only shows mail, its place is `place`."""
    key = f"m{next(_NUMBERS)}"
    path = PATHS[role]
    places = (place, *VIEWS[role]) if role in VIEWS else (path.lower() if role is not Role.FOLDER else path,)
    scene.put(key, *dict.fromkeys((*places, *more)), kind=kind or KINDS.get(role, "received"))
    return Placed(scene, key, path)
