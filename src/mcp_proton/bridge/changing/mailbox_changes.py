"""Folders and labels on Bridge: checked before anything is sent, since a refused name may leave half of it made.

Only `Folders/…` and `Labels/…` can be changed. System names are never sent: Bridge asks Proton to delete them without a
look of its own, and RENAME INBOX moves every message of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_proton.bridge.roles import FOLDERS, LABELS, SYSTEM
from mcp_proton.domain.errors import Ambiguous, Conflict, Invalid, MailError
from mcp_proton.domain.mail import Role
from mcp_proton.imap.changing import mailbox_changes
from mcp_proton.imap.errors import Rejected
from mcp_proton.imap.mailboxes import wire_name
from mcp_proton.imap.protocol import commands

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_proton.domain.mail import Mailbox

_RESERVED = frozenset(name.casefold() for name in SYSTEM)
_REFUSED_BY_PROTON = (" 400 ", " 404 ", " 422 ")


class MailboxChanges(mailbox_changes.MailboxChanges):
    """Paths may be given with or without `Folders/` or `Labels/`."""

    roles = frozenset({Role.FOLDER, Role.LABEL})

    def checked(self, path: str, role: Role, boxes: Sequence[Mailbox]) -> str:
        """The whole path. A label has no levels; the first level below `Folders` bears no system name (B-08)."""
        node = LABELS if role is Role.LABEL else FOLDERS
        other = FOLDERS if role is Role.LABEL else LABELS
        if path.split("/")[0] == other:
            raise Invalid("a folder stays a folder and a label a label", code="invalid_path")
        path = super().checked(path if path.startswith(f"{node}/") else f"{node}/{path}", role, boxes)
        levels = path.split("/")[1:]
        if role is Role.LABEL and len(levels) > 1:
            raise Invalid("a label has no labels in it, and no `/` in its name", code="invalid_path")
        if levels[0].casefold() in _RESERVED:
            raise Invalid("this is the name of a mailbox of Proton's own", code="invalid_path")
        same = [box for box in boxes if box.path.split("/")[1:] == levels and box.path.split("/")[0] == other]
        if same:
            raise Conflict(
                "a folder and a label cannot have the same name", code="name_taken", next="choose another path"
            )
        return path

    async def subscribe(self, box: Mailbox, *, on: bool) -> None:
        """Kept by this Bridge alone, until its next resync."""
        try:
            await self._pool().run(commands.Subscribe(wire_name(box), on=on))
        except Rejected as refusal:
            # What is so already is refused here, with nothing but words to tell it by.
            if "subscribed" not in refusal.server_text:
                raise self.refused(refusal) from refusal

    async def _show(self, path: str) -> None:
        """Everything starts subscribed."""

    def refused(self, refusal: Rejected) -> MailError:
        """Bridge has no response codes for these; its text carries Proton's status, and is never shown."""
        text = f" {refusal.server_text} "
        if " 409 " in text or "already exists" in text:
            return Conflict("that name is taken", code="name_taken", next="choose another path")
        if "operation not allowed" in text or any(code in text for code in _REFUSED_BY_PROTON):
            return Invalid("Proton refuses that name", code="server_refused")
        return Ambiguous("Bridge refused that, and it need not mean that nothing was done")
