"""`MemoryArtifacts`: octets in a dictionary."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

from mcp_proton.domain.caller import Caller
from mcp_proton.domain.errors import NotFound, OutOfBounds
from mcp_proton.domain.ports import (
    Artifact,
    ArtifactWriter,
)


class MemoryArtifacts:
    """Artifacts in a dictionary (`kept`, by id). There is no export folder."""

    def __init__(self) -> None:
        self.kept: dict[str, tuple[Artifact, str, bytes]] = {}
        self.named = 0

    def name(self) -> str:
        """Return an id for one that is yet to be made."""
        self.named += 1
        return f"later{self.named}"

    @asynccontextmanager
    async def create(
        self, caller: Caller, filename: str, media_type: str, *, id: str | None = None
    ) -> AsyncIterator[ArtifactWriter]:
        """Begin one."""
        yield _MemoryWriter(self.kept, caller.name, filename, media_type, id)

    def export(self, directory: Path, filename: str, media_type: str) -> AbstractAsyncContextManager[ArtifactWriter]:
        """Refuse: no folder was allowed."""
        raise OutOfBounds("there is no such export folder")

    async def find(self, artifact_id: str, caller: Caller) -> Artifact:
        """Return one of the caller's."""
        artifact, owner, _ = self.kept.get(artifact_id, (None, "", b""))
        if artifact is None or owner != caller.name:
            raise NotFound("there is no such artifact of yours")
        return artifact

    async def read(self, artifact: Artifact) -> AsyncIterator[bytes]:
        """Yield it in one chunk."""
        yield self.kept[artifact.id][2]


class _MemoryWriter:
    def __init__(
        self, kept: dict[str, tuple[Artifact, str, bytes]], caller: str, filename: str, kind: str, id: str | None
    ) -> None:
        self._kept, self._caller, self._filename, self._kind, self._id = kept, caller, filename, kind, id
        self._octets = bytearray()

    async def write(self, chunk: bytes) -> None:
        self._octets += chunk

    async def done(self) -> Artifact:
        digest = hashlib.sha256(self._octets).hexdigest()
        artifact = Artifact(
            self._id or f"a{len(self._kept) + 1}", self._filename, self._kind, len(self._octets), digest
        )
        self._kept[artifact.id] = (artifact, self._caller, bytes(self._octets))
        return artifact
