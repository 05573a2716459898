"""What a server does not keep of a draft, kept here until it is sent: the thread, the plain text beside HTML."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True)
class DraftNote:
    """Belongs to the draft of this account and Message-ID. `body` is JSON, content, and never goes into a record.

    `seal` is a digest of what the server was given: whatever it shows otherwise was changed elsewhere.
    """

    account: str
    message_id: str
    body: str
    seal: str
    made: datetime


class DraftNotes(Protocol):
    """The notes of all drafts. Durable when `keep` returns."""

    async def keep(self, note: DraftNote) -> None:
        """Keep it, in the place of an earlier one of the same draft."""
        ...

    async def find(self, account: str, message_id: str) -> DraftNote | None:
        """Return the note of a draft; None where nothing had to be kept."""
        ...

    async def forget(self, account: str, message_id: str) -> None:
        """The draft is gone; so is its note."""
        ...
