"""InMemoryNotes: the draft notes of a world that shares its store with nobody and ends with its process."""

from __future__ import annotations

from mcp_proton.domain.draft_notes import DraftNote


class InMemoryNotes:
    """Notes in a dictionary."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str], DraftNote] = {}

    async def keep(self, note: DraftNote) -> None:
        """Keep it."""
        self._kept[note.account, note.message_id] = note

    async def find(self, account: str, message_id: str) -> DraftNote | None:
        """Look it up."""
        return self._kept.get((account, message_id))

    async def forget(self, account: str, message_id: str) -> None:
        """Drop it."""
        self._kept.pop((account, message_id), None)
