"""What a write on Bridge has to know of the messages it names: who they are, their flags, and where their kind belongs.

Only the messages named have their id header read: it costs the whole literal of each, and a SEARCH for it would read the
whole mailbox.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcp_proton.domain.mail import Flag
from mcp_proton.imap.changing import homes
from mcp_proton.imap.changing.marks import Marks
from mcp_proton.imap.protocol import flags
from mcp_proton.imap.protocol.fetching import Items

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from mcp_proton.domain.mail import Role
    from mcp_proton.imap.changing.marks import Mark
    from mcp_proton.imap.protocol.box import Box
    from mcp_proton.imap.protocol.rows import FetchRow

ID_HEADER = "HEADER.FIELDS (X-PM-INTERNAL-ID)"


class InternalIdToken:
    """`X-Pm-Internal-Id`: Proton's own id of a message, the same in every mailbox and after every resync."""

    items = Items(flags=True, internaldate=True, size=True, envelope=True, sections=(ID_HEADER,))

    def read(self, row: FetchRow) -> str:
        """The id; empty where a row has none, or none that an id can be."""
        _, _, value = row.sections.get(ID_HEADER, b"").partition(b":")
        token = value.strip().decode("ascii", "replace")
        return token if token.isprintable() and " " not in token and len(token) < 200 else ""


MARKS = Marks(InternalIdToken())


@dataclass(frozen=True, slots=True)
class Seen:
    """One message as it is now."""

    mark: Mark | None
    starred: bool
    kind: Role


async def look(box: Box, uids: Iterable[int], own: Collection[str]) -> dict[int, Seen]:
    """Those of the messages that are there. `own` are the owner's addresses in lower case."""
    wanted = list(uids)
    rows = await box.fetch_all(wanted, InternalIdToken.items) if wanted else []
    return {
        row.uid: Seen(MARKS.of(row), Flag.FLAGGED in flags.ours(row.flags or ()), homes.kind(row, own)) for row in rows
    }
