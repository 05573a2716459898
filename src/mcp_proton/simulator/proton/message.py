"""One message of a Proton account, as the API keeps it."""

from __future__ import annotations

import zlib
from functools import cache
from typing import TYPE_CHECKING

from mcp_proton.simulator.proton import account_message
from mcp_proton.simulator.proton import labels as ids
from mcp_proton.simulator.texts.addresses import Address

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_proton.simulator.given import GivenMessage
    from mcp_proton.simulator.proton.account_message import AccountMessage

AT_HOME = "home"
"""The place that follows a message's flavour."""
NO_LABELS: frozenset[str] = frozenset()


class Message:
    """A message on the server. `labels` are custom labels only; the star and the place are kept apart.

    `composed` is what the API holds of mail that was written through SMTP; for all other mail that follows from `raw`.
    `parent` is the id of the message it answers to.
    """

    __slots__ = (
        "_raw", "address", "composed", "flags", "id", "key", "labels", "order", "origin", "parent", "place", "starred",
        "time", "unread",
    )  # fmt: skip

    def __init__(self, message_id: str, given: GivenMessage, time: float, address: str, order: int) -> None:
        self.id = message_id
        self.key = given.key
        self._raw: bytes | Callable[[], bytes] = (
            given.raw if callable(given.raw) else zlib.compress(_crlf(given.raw), 1)
        )
        self.flags = _interned(frozenset(given.flags))
        self.labels: frozenset[str] = NO_LABELS
        self.place: str | None = None
        self.starred = False
        self.unread = given.unread
        self.time = time
        self.address = address
        self.origin = given.origin
        self.order = order
        self.composed: AccountMessage | None = None
        self.parent = ""

    @property
    def raw(self) -> bytes:
        """The message's bytes as they reached the server, lines ended by CRLF."""
        return _crlf(self._raw()) if callable(self._raw) else zlib.decompress(self._raw)

    @raw.setter
    def raw(self, raw: bytes) -> None:
        self._raw = zlib.compress(_crlf(raw), 1)

    @property
    def held(self) -> AccountMessage:
        """What the API holds of it. Of a draft that was appended the header lacks its date."""
        if self.composed is not None:
            return self.composed
        if self.is_draft:
            sender = Address(self.address, self.address) if self.origin == "appended" else None
            return account_message.composed(self.raw, draft=True, date="", sender=sender)
        if self.origin == "delivered":
            return account_message.delivered(self.raw)
        if self.origin == "appended":
            return account_message.appended(self.raw, "0")
        return account_message.imported(self.raw)

    @property
    def subject(self) -> str:
        """The subject as the API has it."""
        return self.held.subject

    @property
    def is_draft(self) -> bool:
        """Neither sent nor received."""
        return not self.flags & {"received", "sent", "scheduled"}

    @property
    def home(self) -> str:
        """The place its flavour gives it."""
        if "scheduled" in self.flags:
            return ids.SCHEDULED
        if "received" in self.flags:
            return ids.INBOX
        return ids.SENT if "sent" in self.flags else ids.DRAFTS

    @property
    def location(self) -> str | None:
        """The label id of the place it is in; None for an orphan."""
        return self.home if self.place == AT_HOME else self.place

    @property
    def label_ids(self) -> list[str]:
        """Every label the API shows on it."""
        shown = [ids.ALL_MAIL]
        if self.flags & {"sent", "scheduled"}:
            shown.append(ids.ALL_SENT)
        if self.is_draft:
            shown.append(ids.ALL_DRAFTS)
        if self.location is not None:
            shown.append(self.location)
        if self.starred:
            shown.append(ids.STARRED)
        return [*shown, *sorted(self.labels)]


@cache
def _interned(flags: frozenset[str]) -> frozenset[str]:
    return flags


def _crlf(raw: bytes) -> bytes:
    return raw.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
