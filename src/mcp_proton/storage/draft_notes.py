"""SqlDraftNotes: what servers do not keep of drafts, in the store. The DraftNotes port."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from sqlalchemy import delete, select
from sqlalchemy.dialects.sqlite import insert

from mcp_proton.domain.draft_notes import DraftNote
from mcp_proton.storage.instants import moment, ticks
from mcp_proton.storage.tables import draft_notes

if TYPE_CHECKING:
    from mcp_proton.domain.ports import Clock
    from mcp_proton.storage.database import Database

KEEP = timedelta(days=400)
"""A draft that nobody sent, changed or discarded through us for so long is gone, or past caring about its thread."""


class SqlDraftNotes:
    """The notes of one store."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database, self._clock = database, clock

    async def keep(self, note: DraftNote) -> None:
        """Keep it; see the port."""
        values = {
            "account": note.account,
            "message_id": note.message_id,
            "body": note.body,
            "seal": note.seal,
            "made": ticks(note.made),
        }
        async with self._database.writing() as connection:
            await connection.execute(delete(draft_notes).where(draft_notes.c.made < ticks(self._clock.now() - KEEP)))
            await connection.execute(
                insert(draft_notes)
                .values(values)
                .on_conflict_do_update(index_elements=["account", "message_id"], set_=values)
            )

    async def find(self, account: str, message_id: str) -> DraftNote | None:
        """Return the note of a draft; see the port."""
        its = select(draft_notes).where(draft_notes.c.account == account, draft_notes.c.message_id == message_id)
        async with self._database.reading() as connection:
            row = (await connection.execute(its)).one_or_none()
        return None if row is None else DraftNote(row.account, row.message_id, row.body, row.seal, moment(row.made))

    async def forget(self, account: str, message_id: str) -> None:
        """Drop it; see the port."""
        its = delete(draft_notes).where(draft_notes.c.account == account, draft_notes.c.message_id == message_id)
        async with self._database.writing() as connection:
            await connection.execute(its)
