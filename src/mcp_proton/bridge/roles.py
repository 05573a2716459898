r"""Bridge's mailbox tree: names give the roles, since its SPECIAL-USE set leaves out Scheduled and all custom ones.

`Folders/x` is a FOLDER, `Labels/x` a LABEL; `Folders`, `Labels` and the parents LIST invents for a label with a slash
in its name are NODEs, whatever attributes they show (`\Noselect` is not enforced by Bridge, and STATUS says NO).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_proton.domain.mail import Mailbox, Role
from mcp_proton.imap import roles

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mcp_proton.imap.protocol.responses import ListEntry

FOLDERS, LABELS = "Folders", "Labels"

SYSTEM: Mapping[str, Role] = {
    "INBOX": Role.INBOX,
    "Sent": Role.SENT,
    "Drafts": Role.DRAFTS,
    "Trash": Role.TRASH,
    "Spam": Role.SPAM,
    "Archive": Role.ARCHIVE,
    "All Mail": Role.ALL,
    "Starred": Role.STARRED,
    "Scheduled": Role.SCHEDULED,
    "Recovered Messages": Role.RECOVERED,
}


def role_of(path: str) -> Role:
    """The role of a mailbox that holds mail. A name Bridge is not known to have counts as a folder."""
    if path in SYSTEM:
        return SYSTEM[path]
    if path in {FOLDERS, LABELS}:
        return Role.NODE
    return Role.LABEL if path.startswith(f"{LABELS}/") else Role.FOLDER


def mailboxes(account: str, entries: Iterable[ListEntry]) -> list[Mailbox]:
    """The tree of a Bridge account, parents first. Raises `Conflict` when two tags collide."""
    return roles.arranged([roles.make(account, entry, role_of(entry.name)) for entry in entries if entry.name])
