"""A Proton account as the API keeps it: one place a message, labels, a star, and a log of what changed.

Two models (facts of go-proton-api's fake, and of Proton's web client): `fake` keeps labels and star of whatever moves;
`real` strips both in Trash and Spam and marks read in Trash.
"""

from __future__ import annotations

import datetime as dt
import random
import uuid
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Literal

from mcp_proton.simulator.proton import labels as ids
from mcp_proton.simulator.proton.message import AT_HOME, NO_LABELS, Message

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcp_proton.simulator.given import GivenLabel, GivenMessage
    from mcp_proton.simulator.proton.account_message import AccountMessage

Model = Literal["fake", "real"]


class NoSuchLabelError(LookupError):
    """The account has no label of that id or path."""


@dataclass(frozen=True)
class Change:
    """One entry of the account's log: a message or label made, changed or gone; or the server asks for a refresh."""

    what: Literal["message", "label", "refresh"]
    id: str
    how: Literal["created", "updated", "deleted"] = "updated"


@dataclass
class Label:
    """A folder or label the owner made."""

    id: str
    name: str
    folder: bool
    parent: str | None = None


class Account:
    """One user's mail on the server; every change is logged for Bridge's event loop."""

    def __init__(self, name: str, addresses: Iterable[str], *, model: Model = "fake", seed: int = 0) -> None:
        self.name = name
        self.addresses: dict[str, bool] = dict.fromkeys(addresses, True)
        self.model = model
        self.is_revoked = False
        self.labels: dict[str, Label] = {}
        self.messages: dict[str, Message] = {}
        self.log: list[Change] = []
        self._random = random.Random(f"{name}/{seed}")  # noqa: S311 - ids of a simulation
        self._made = 0

    def new_id(self) -> str:
        """A fresh id in the API's form."""
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))

    @property
    def primary(self) -> str:
        """The first address."""
        return next(iter(self.addresses))

    # -- labels

    def add_label(self, given: GivenLabel) -> Label:
        """Make a folder or label; its parent, if named, must exist."""
        parent = self.label_by_path(given.parent).id if given.parent else None
        label = Label(self.new_id(), given.name, given.folder, parent)
        self.labels[label.id] = label
        self.log.append(Change("label", label.id, "created"))
        return label

    def label_path(self, label: Label) -> str:
        """The IMAP path of a label, slashes in names and all."""
        parts = [label.name]
        while label.parent is not None and label.parent in self.labels:
            label = self.labels[label.parent]
            parts.append(label.name)
        return "/".join([ids.FOLDERS_NODE if label.folder else ids.LABELS_NODE, *reversed(parts)])

    def label_by_path(self, path: str) -> Label:
        """The label of an IMAP path."""
        for label in self.labels.values():
            if self.label_path(label) == path:
                return label
        raise NoSuchLabelError(f'{self.name} has no label "{path}"')

    def name_is_taken(self, name: str, parent: str | None, *, but: str = "") -> bool:
        """Whether the API refuses another label of that name; the fake looks at the last part of a path alone."""
        others = [label for label in self.labels.values() if label.id != but and label.name == name]
        if self.model == "fake":
            return bool(others) or name in ids.ACCOUNT_NAMES.values()
        return any(label.parent == parent for label in others) or (
            parent is None and name in ids.ACCOUNT_NAMES.values()
        )

    def change_label(self, label_id: str, *, name: str, parent: str | None) -> None:
        """Rename or move a label."""
        label = self.labels[label_id]
        label.name, label.parent = name, parent
        self.log.append(Change("label", label_id))

    def delete_label(self, label_id: str) -> None:
        """Delete a label, or a folder with everything below it; mail in it loses that place, nothing else."""
        for child in [label.id for label in self.labels.values() if label.parent == label_id]:
            self.delete_label(child)
        del self.labels[label_id]
        for message in self.messages.values():
            if message.place == label_id:
                message.place = None
            message.labels -= {label_id}
        self.log.append(Change("label", label_id, "deleted"))

    def label_id(self, name: str) -> str:
        """The id behind a name as a recording gives it: `inbox`, `starred`, `Folders/Work`."""
        known = ids.GIVEN_NAMES.get(name.lower().replace(" ", ""))
        return known if known is not None else self.label_by_path(name).id

    # -- messages

    def add(self, given: GivenMessage, *, now: float = 0.0) -> Message:
        """Put a message into the account."""
        sent_at = given.time if given.time is not None else _date_of(given, now)
        self._made += 1
        message = Message(self.new_id(), given, sent_at, given.address or self.primary, self._made)
        for name in given.places:
            self._put(message, self.label_id(name))
        self.messages[message.id] = message
        self.log.append(Change("message", message.id, "created"))
        return message

    def label(self, message_ids: Iterable[str], label_id: str) -> None:
        """The API's label call: to a place it moves, to a label or the star it adds. Unknown ids are passed over."""
        for message in self._known(message_ids):
            self._put(message, label_id)
            self._strip(message)
            self._changed(message)

    def unlabel(self, message_ids: Iterable[str], label_id: str) -> None:
        """The API's unlabel call: from its place a message becomes an orphan."""
        for message in self._known(message_ids):
            if label_id in ids.HOMES:
                message.place = None if message.place == AT_HOME else message.place
            elif label_id == ids.STARRED:
                message.starred = False
            elif message.place == label_id:
                message.place = None
            else:
                message.labels -= {label_id}
            self._changed(message)

    def set_read(self, message_ids: Iterable[str], *, read: bool) -> None:
        """Mark read or unread."""
        for message in self._known(message_ids):
            message.unread = not read
            self._changed(message)

    def set_flag(self, message_ids: Iterable[str], flag: str, *, on: bool = True) -> None:
        """Set or clear one of Proton's flags (`replied`, `forwarded`)."""
        for message in self._known(message_ids):
            message.flags = message.flags | {flag} if on else message.flags - {flag}
            self._changed(message)

    def delete(self, message_ids: Iterable[str]) -> None:
        """Delete for good."""
        for message in self._known(message_ids):
            del self.messages[message.id]
            self.log.append(Change("message", message.id, "deleted"))

    def own_address(self, wanted: str) -> str | None:
        """The address of this account that is meant, case and `+tag` aside; None if it has none such."""
        local, at, domain = wanted.rpartition("@")
        bare = f"{local.partition('+')[0]}{at}{domain}".lower()
        return next((one for one in self.addresses if one.lower() == bare), None)

    def sent(self, message: Message, composed: AccountMessage, time: float) -> None:
        """A draft becomes sent mail."""
        message.composed = composed
        message.flags = (message.flags - {"draft"}) | {"sent"}
        message.place = AT_HOME
        message.time = time
        self._changed(message)

    def rewrite(self, message: Message, composed: AccountMessage) -> None:
        """Change what is held of a draft."""
        message.composed = composed
        self._changed(message)

    def with_message_id(self, external_id: str) -> list[Message]:
        """The messages of exactly this Message-ID (without brackets), the oldest first."""
        named = external_id.encode("utf-8", "surrogateescape")
        return [
            message
            for message in self.messages.values()
            if (message.composed is not None or named in message.raw.partition(b"\r\n\r\n")[0])
            and message.held.external_id == external_id
        ]

    def ask_for_refresh(self) -> None:
        """Tell every Bridge to load all mail anew."""
        self.log.append(Change("refresh", "mail"))

    def find(self, key: str) -> Message:
        """The message of a key (or id)."""
        if key in self.messages:
            return self.messages[key]
        return next(message for message in self.messages.values() if message.key == key)

    def _known(self, message_ids: Iterable[str]) -> list[Message]:
        return [self.messages[one] for one in dict.fromkeys(message_ids) if one in self.messages]

    def _put(self, message: Message, label_id: str) -> None:
        if label_id in ids.HOMES:
            message.place = AT_HOME
        elif label_id == ids.STARRED:
            message.starred = True
        elif label_id in ids.FIXED_PLACES or (label_id in self.labels and self.labels[label_id].folder):
            message.place = label_id
        elif label_id in self.labels:
            message.labels |= {label_id}

    def _strip(self, message: Message) -> None:
        if self.model == "real" and message.place in {ids.TRASH, ids.SPAM}:
            message.labels = NO_LABELS
            message.starred = False
            message.unread = message.unread and message.place != ids.TRASH

    def _changed(self, message: Message) -> None:
        self.log.append(Change("message", message.id))

    # -- what a test asks

    def state(self) -> dict[str, dict[str, object]]:
        """Each message by key (or id): where it is, its flags, unread, subject, as recordings write it."""
        return {message.key or message.id: self._describe(message) for message in self.messages.values()}

    def _describe(self, message: Message) -> dict[str, object]:
        return {
            "in": sorted(self._label_name(one) for one in message.label_ids),
            "flags": sorted(message.flags - {"draft"}),
            "unread": message.unread,
            "subject": message.subject,
        }

    def _label_name(self, label_id: str) -> str:
        return ids.ACCOUNT_NAMES[label_id] if label_id in ids.ACCOUNT_NAMES else self.label_path(self.labels[label_id])


def _date_of(given: GivenMessage, now: float) -> float:
    raw = given.raw() if callable(given.raw) else given.raw
    for line in raw.split(b"\n"):
        if line.strip() == b"":
            break
        if line[:5].lower() == b"date:":
            try:
                moment = parsedate_to_datetime(line[5:].decode("latin-1").strip())
            except ValueError:
                break
            return (moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)).timestamp()
    return now
