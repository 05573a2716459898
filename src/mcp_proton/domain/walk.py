"""A walk over the ids of a mailbox, oldest first: exact while nothing changes, refused once something did (J-60, N-4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from mcp_proton.domain.handles import Handle


@dataclass(frozen=True, slots=True)
class Interval:
    """Received at or after `after` and before `before`: UTC dates of RFC 8620 §1.4, as they were written."""

    after: str | None = None
    before: str | None = None

    @property
    def since(self) -> datetime | None:
        """`after` as an instant."""
        return None if self.after is None else datetime.fromisoformat(self.after)

    @property
    def until(self) -> datetime | None:
        """`before` as an instant."""
        return None if self.before is None else datetime.fromisoformat(self.before)


@dataclass(frozen=True, slots=True)
class Stretch:
    """A piece of a walk. `state` is another one whenever what is walked over is: a message more, a message less.

    `total` None: the server does not tell. `more` is whether something comes after it (with an unknown total: unless it
    is empty).
    """

    handles: Sequence[Handle]
    total: int | None
    state: str
    more: bool
