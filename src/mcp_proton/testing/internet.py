"""`MemoryRemote`: an internet in a dictionary."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mcp_proton.domain.errors import NotFound, OverLimit
from mcp_proton.domain.remote import RemoteFile
from mcp_proton.domain.web_address import WebAddress


class MemoryRemote:
    """Files by address (`files`: name, media type, octets). `asked` are the addresses that were asked for, in their order."""

    def __init__(self) -> None:
        self.files: dict[str, tuple[str, str, bytes]] = {}
        self.asked: list[str] = []

    @asynccontextmanager
    async def open(self, address: WebAddress, most: int) -> AsyncIterator[RemoteFile]:
        """Read one in a single chunk."""
        self.asked.append(str(address))
        if str(address) not in self.files:
            raise NotFound("there is no such file", code="no_such_file")
        filename, media_type, octets = self.files[str(address)]
        if len(octets) > most:
            raise OverLimit(f"the limit is {most} octets", code="too_large")
        yield RemoteFile(filename, media_type, len(octets), _once(octets))


async def _once(octets: bytes) -> AsyncIterator[bytes]:
    yield octets
