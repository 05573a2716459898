"""A message as Bridge serves it: its literal is built when it is first wanted, and kept only as long as there is room."""

from __future__ import annotations

import datetime as dt
from collections import OrderedDict
from typing import TYPE_CHECKING

from mcp_proton.simulator.texts import structure

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp_proton.simulator.proton.account_message import AccountMessage

_SHELF_BYTES = 24 * 1024 * 1024


class Shelf:
    """Literals that were built lately, the oldest dropped first; shared by everything one simulator serves."""

    def __init__(self, room: int = _SHELF_BYTES) -> None:
        self._room = room
        self._used = 0
        self._literals: OrderedDict[str, bytes] = OrderedDict()

    def get(self, key: str, build: Callable[[], bytes]) -> bytes:
        """The literal of a key, built if it isn't on the shelf."""
        found = self._literals.get(key)
        if found is not None:
            self._literals.move_to_end(key)
            return found
        literal = build()
        self._literals[key] = literal
        self._used += len(literal)
        # The last one stays whatever its size: large messages are fetched in pieces.
        while self._used > self._room and len(self._literals) > 1:
            self._used -= len(self._literals.popitem(last=False)[1])
        return literal

    def clear(self) -> None:
        """Drop everything."""
        self._literals.clear()
        self._used = 0


class ServedMessage:
    """A message in Bridge's local view, whatever mailboxes show it.

    `flags` are those of the whole message (neither \\Deleted nor \\Recent). `remote_id` is the API's id, `gluon_id` the
    IMAP engine's. `lost` says that the disk cache lost the literal and it must be asked of the API again. `composed` is
    what the account held of mail written through SMTP when this was built from it.
    """

    __slots__ = (
        "_body",
        "_build",
        "_envelope",
        "_shelf",
        "_size",
        "_structure",
        "composed",
        "flags",
        "gluon_id",
        "lost",
        "remote_id",
        "time",
    )

    def __init__(
        self,
        remote_id: str,
        gluon_id: str,
        flags: frozenset[str],
        time: float,
        build: Callable[[str], bytes],
        shelf: Shelf,
        composed: AccountMessage | None = None,
    ) -> None:
        self.composed = composed
        self.remote_id = remote_id
        self.gluon_id = gluon_id
        self.flags = flags
        self.time = time
        self.lost = False
        self._build = build
        self._shelf = shelf
        self._size = -1
        self._envelope: bytes | None = None
        self._body: bytes | None = None
        self._structure: bytes | None = None

    @property
    def literal(self) -> bytes:
        """The message's bytes, header and all."""
        return self._shelf.get(self.gluon_id, lambda: self._build(self.gluon_id))

    @property
    def size(self) -> int:
        """RFC822.SIZE."""
        if self._size < 0:
            self._size = len(self.literal)
        return self._size

    @property
    def envelope(self) -> bytes:
        """The ENVELOPE list."""
        if self._envelope is None:
            self._envelope = structure.envelope(self.literal)
            self._size = len(self.literal)
        return self._envelope

    @property
    def body(self) -> bytes:
        """BODY without extension data."""
        if self._body is None:
            self._body = structure.body(self.literal, extended=False)
        return self._body

    @property
    def body_structure(self) -> bytes:
        """BODYSTRUCTURE."""
        if self._structure is None:
            self._structure = structure.body(self.literal, extended=True)
        return self._structure

    def prepare(self) -> None:
        """Work out everything that is kept: size, envelope, structure."""
        if self._envelope is None or self._structure is None:
            self._envelope = structure.envelope(self.literal)
            self._structure = structure.body(self.literal, extended=True)
            self._size = len(self.literal)

    @property
    def internal_date(self) -> str:
        """INTERNALDATE as Bridge prints it, always in UTC."""
        return dt.datetime.fromtimestamp(int(self.time), dt.UTC).strftime("%d-%b-%Y %H:%M:%S +0000")
