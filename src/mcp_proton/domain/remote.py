"""The port to files on the internet: one https address, fetched once, under guard."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from mcp_proton.domain.web_address import WebAddress


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file that is being fetched. Name and type are what its server says, a stranger's words; `size` in octets, if it says.

    `chunks` yields the octets once; it ends only when all that were announced have come.
    """

    filename: str
    media_type: str
    size: int | None
    chunks: AsyncIterator[bytes]


class Remote(Protocol):
    """Fetches files. Nobody within this machine's networks is ever asked, and no redirect is followed (J-110, J-111)."""

    def open(self, address: WebAddress, most: int) -> AbstractAsyncContextManager[RemoteFile]:
        """Ask for a file, and read it while this is open.

        `OutOfBounds` (`address_not_public`, `port_not_allowed`) before any octet is sent; `NotFound` and `Unavailable` for
        what its server says or does not say; `OverLimit` (`too_large`, `too_slow`) beyond `most` octets, or the owner's
        limits.
        """
        ...
