"""What a `MemoryAccount` holds, and how its mail is found, put and changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from mcp_proton.domain.errors import Conflict, Invalid, NotFound, Stale
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.mail import Mailbox, Role
from mcp_proton.domain.outcome import Fate
from mcp_proton.testing.boxes import Box, Mail, Stored, handle_of
from mcp_proton.testing.clock import EPOCH


class Shelves:
    """The boxes of an account, by path."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.boxes: dict[str, Box] = {}
        for path, role in (
            ("INBOX", Role.INBOX),
            ("Sent", Role.SENT),
            ("Drafts", Role.DRAFTS),
            ("Trash", Role.TRASH),
            ("Spam", Role.SPAM),
            ("Archive", Role.ARCHIVE),
        ):
            self.add_mailbox(path, role)

    def add_mailbox(self, path: str, role: Role = Role.FOLDER) -> Mailbox:
        """Make a mailbox."""
        box = Mailbox(self.name, path, path, role)
        self.boxes[path] = Box(box)
        return box

    def add(self, path: str, raw: bytes, *, received: datetime = EPOCH, flags: frozenset[str] = frozenset()) -> Handle:
        """Put a message into a mailbox and return its handle."""
        return self.put(self.boxes[path], Mail(raw, received, flags))

    def find(self, handle: Handle) -> Stored:
        """Return what a handle points at. `Stale` when it is gone."""
        return self.held(handle)[1]

    def rebuild(self, path: str) -> None:
        """Give a mailbox a new generation, as a UIDVALIDITY change does: all handles into it go stale."""
        self.boxes[path].generation += 1

    def box(self, path: str) -> Box:
        """The box of a path. `NotFound` without one."""
        if path not in self.boxes:
            raise NotFound("there is no such mailbox")
        return self.boxes[path]

    def put(self, box: Box, mail: Mail) -> Handle:
        """Put a message into a box, as one more occurrence of it."""
        stored = Stored(box.next_uid, mail)
        box.mail[stored.uid] = stored
        box.next_uid += 1
        return handle_of(box, stored)

    def each(self, handles: Sequence[Handle], change: Callable[[Handle, Box, Stored], Fate]) -> list[Fate]:
        """Change what each handle points at, once, and return a fate a handle."""
        fates: dict[Handle, Fate] = {}
        for handle in dict.fromkeys(handles):
            try:
                fates[handle] = change(handle, *self.held(handle))
            except (Stale, Invalid, Conflict) as error:
                fates[handle] = Fate.of_error(handle, error)
        return [fates[handle] for handle in handles]

    def held(self, handle: Handle) -> tuple[Box, Stored]:
        """What a handle points at, and where it is. `Stale` when it is gone, `Invalid` for another account's."""
        if handle.account != self.name:
            raise Invalid("this handle belongs to another account", code="invalid_handle")
        for box in self.boxes.values():
            if box.mailbox.tag == handle.tag:
                generation, _, uid = handle.key.partition("-")
                if not (generation.isdigit() and uid.isdigit()):
                    raise Invalid("this is not a handle of this account", code="invalid_handle")
                stored = box.mail.get(int(uid)) if int(generation) == box.generation else None
                if stored is None:
                    raise Stale("this handle no longer points at a message")
                return box, stored
        raise Stale("the mailbox this handle names is gone")
