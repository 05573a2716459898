"""Links: one file in or out over HTTP, once, for a short while, for one client. Octets never travel through arguments (N-12).

What is kept of a link is a digest of its secret; whoever has the secret and no other client's token may use it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol

LIFETIME = timedelta(minutes=10)
MOST_OPEN = 50
"""So many links of one client wait to be used."""


class Way(StrEnum):
    """Which way the file goes."""

    DOWNLOAD = "download"
    UPLOAD = "upload"


@dataclass(frozen=True, slots=True)
class Link:
    """What a link is for. `artifact` is what is fetched by it, or the name of what it will make; `most` octets of that.

    `account` is where the file comes from, if it comes from one: whether it may leave is judged again when it does.
    """

    client: str
    way: Way
    artifact: str
    filename: str
    media_type: str
    most: int
    expires: datetime
    account: str | None = None


class Links(Protocol):
    """The links of one service."""

    @property
    def most(self) -> int:
        """The octets that one upload may have."""
        ...

    def check(self) -> None:
        """Raise `Unsupported` (`links_need_http`) where nobody serves them."""
        ...

    async def make(self, link: Link) -> str:
        """Keep a link, durably, and return its URL, for the only time. `OverLimit` where too many of the client's wait."""
        ...

    async def find(self, secret: str) -> Link | None:
        """Return a link that waits to be used; None for one that never was, was used, or is over."""
        ...

    async def use(self, secret: str) -> bool:
        """Use it up, durably. False if somebody else was first, or its time has passed."""
        ...
