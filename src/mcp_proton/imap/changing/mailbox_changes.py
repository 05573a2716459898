"""Making, renaming, deleting and showing mailboxes on any IMAP server (RFC 9051 §6.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_proton.domain.errors import Conflict, Defect, Invalid, MailError, NotFound, Unsupported
from mcp_proton.domain.mail import Role
from mcp_proton.imap.errors import Rejected
from mcp_proton.imap.mailboxes import wire_name
from mcp_proton.imap.protocol import commands

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from mcp_proton.domain.mail import Mailbox
    from mcp_proton.imap.protocol.asks import Ask, Done
    from mcp_proton.imap.protocol.pool import Pool

LONGEST_PATH = 1_000
_TAKEN = "a mailbox of that path exists already"


class MailboxChanges:
    """`listed` gives all mailboxes; with True, as they are now."""

    roles = frozenset({Role.FOLDER})
    """what can be made, renamed and deleted"""

    def __init__(self, pool: Callable[[], Pool], listed: Callable[[bool], Awaitable[Sequence[Mailbox]]]) -> None:
        self._pool, self._listed = pool, listed

    async def create(self, path: str, role: Role) -> Mailbox:
        """Make a mailbox, with the parents it lacks."""
        self._only(role, "made")
        boxes = await self._listed(True)
        path = self.checked(path, role, boxes)
        if any(_same(box, path) and box.selectable for box in boxes):
            raise Conflict(_TAKEN, code="name_taken", next="choose another path")
        for parent in self.missing_parents(path, boxes):
            await self._send(commands.Create(parent))
        await self._send(commands.Create(path))
        await self._show(path)
        return await self._found(path)

    async def rename(self, box: Mailbox, path: str) -> Mailbox:
        """Give it another path, and what is below it too."""
        self._only(box.role, "renamed")
        boxes = await self._listed(True)
        path = self.checked(path, box.role, boxes)
        if path == box.path or (box.delimiter and path.startswith(box.path + box.delimiter)):
            raise Invalid("a mailbox cannot be moved into itself", code="invalid_path")
        if any(_same(one, path) and one.id != box.id for one in boxes):
            raise Conflict(_TAKEN, code="name_taken", next="choose another path")
        for parent in self.missing_parents(path, boxes):
            await self._send(commands.Create(parent))
        self._pool().let_go(wire_name(box))
        await self._send(commands.Rename(wire_name(box), path))
        return await self._found(path)

    async def remove(self, box: Mailbox) -> None:
        """Delete it, if nothing is in it that would be lost."""
        self._only(box.role, "deleted")
        if box.role is Role.FOLDER:
            await self._check_empty(box)
        self._pool().let_go(wire_name(box))
        await self._send(commands.Delete(wire_name(box)))
        await self._listed(True)

    async def subscribe(self, box: Mailbox, *, on: bool) -> None:
        """Show or hide it in other programs."""
        await self._send(commands.Subscribe(wire_name(box), on=on))

    def checked(self, path: str, role: Role, boxes: Sequence[Mailbox]) -> str:
        """The path as the server has it. Raises `Invalid` for one no mailbox can have."""
        delimiter = _delimiter(boxes)
        segments = path.split(delimiter) if delimiter else [path]
        good = all(segment.strip() == segment and segment and segment.isprintable() for segment in segments)
        if not good or len(path) > LONGEST_PATH or any(one in path for one in "*%"):
            raise Invalid(
                "a path has names of printable characters, without `*` and `%`, without blanks around them",
                code="invalid_path",
            )
        return path

    def missing_parents(self, path: str, boxes: Sequence[Mailbox]) -> list[str]:
        """Parents that have to be made first, the highest first: some servers do it by themselves, some refuse."""
        delimiter = _delimiter(boxes)
        if not delimiter:
            return []
        known = {box.path.casefold() if box.role is Role.INBOX else box.path for box in boxes}
        segments = path.split(delimiter)
        parents = [delimiter.join(segments[:count]) for count in range(1, len(segments))]
        return [one for one in parents if one not in known and one.upper() != "INBOX"]

    async def _check_empty(self, box: Mailbox) -> None:
        boxes = await self._listed(True)
        if box.delimiter and any(one.path.startswith(box.path + box.delimiter) for one in boxes):
            raise Conflict("there are mailboxes in this folder", code="not_empty", next="move or delete them first")
        if not any(one.id == box.id for one in boxes):
            raise NotFound("there is no such mailbox")
        if not box.selectable:
            return
        told = await self._pool().run(commands.StatusOf(wire_name(box), ("MESSAGES",)))
        if told.items.get("MESSAGES", 1):
            raise Conflict("there is mail in this folder", code="not_empty", next="move the mail out of it first")

    def _only(self, role: Role, done: str) -> None:
        if role not in self.roles:
            raise Unsupported(f"a mailbox of the role `{role.value}` cannot be {done} here")

    async def _show(self, path: str) -> None:
        """Other programs list only what is subscribed; a server that keeps no subscriptions is none the worse."""
        try:
            await self._pool().run(commands.Subscribe(path, on=True))
        except Rejected:
            return

    async def _send(self, ask: Ask[Done]) -> None:
        try:
            await self._pool().run(ask)
        except Rejected as refusal:
            raise self.refused(refusal) from refusal

    def refused(self, refusal: Rejected) -> MailError:
        """What a server's NO to one of these commands means."""
        if refusal.response_code == "ALREADYEXISTS":
            return Conflict(_TAKEN, code="name_taken", next="choose another path")
        if refusal.response_code == "NONEXISTENT":
            return NotFound("there is no such mailbox")
        return refusal if refusal.retry else Invalid("the mail server refuses that", code="server_refused")

    async def _found(self, path: str) -> Mailbox:
        for box in await self._listed(True):
            if box.path == path:
                return box
        raise Defect("the mail server does not list the mailbox it just made")


def _same(box: Mailbox, path: str) -> bool:
    return box.path == path or (box.role is Role.INBOX and path.upper() == "INBOX")


def _delimiter(boxes: Sequence[Mailbox]) -> str:
    return next((box.delimiter for box in boxes if box.delimiter), "")
