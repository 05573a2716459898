"""Files from the internet: what fetches them is made, and HTTP loaded, when the first is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from mcp_proton.config.tables import Storage
    from mcp_proton.domain.remote import Remote, RemoteFile
    from mcp_proton.domain.web_address import WebAddress


class Internet:
    """The port to https addresses, within the owner's limits."""

    def __init__(self, limits: Storage) -> None:
        self._limits = limits
        self._made: Remote | None = None

    def open(self, address: WebAddress, most: int) -> AbstractAsyncContextManager[RemoteFile]:
        """Ask for a file; see the port."""
        if self._made is None:
            from mcp_proton.remote.web import Guarded

            self._made = Guarded(most=self._limits.fetch_megabytes << 20, seconds=self._limits.fetch_seconds)
        return self._made.open(address, most)
