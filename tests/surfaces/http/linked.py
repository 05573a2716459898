"""A service whose links are served in this process: its house, and requests as a server hands them over."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from mcp_proton.mcp.http.bearers import Bearer, Stranger
from mcp_proton.mcp.http.files import Files
from mcp_proton.storage.access.links import SqlLinks
from mcp_proton.storage.artifacts import FileArtifacts
from mcp_proton.storage.database import Database
from mcp_proton.storage.migrating import migrate
from mcp_proton.testing import FixedClock
from tests.service.conftest import House

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

ORIGIN = "http://127.0.0.1:8420"


class Tokens:
    """Knows a client by a token that is its name."""

    async def recognise(self, headers: Iterable[tuple[bytes, bytes]]) -> Bearer | Stranger:
        shown = next(value.decode().removeprefix("Bearer ") for name, value in headers if name == b"authorization")
        return Bearer(shown, shown, "0" * 16) if shown in {"hermes", "other"} else Stranger(presented=True)


@dataclass
class Answer:
    """What was answered. `whole`: the body was brought to its end."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    whole: bool = False


class Linked(House):
    """The house, with a store of links and files on the disk."""

    def __init__(self, folder: Path, database: Database, **limits: Any) -> None:
        clock = FixedClock()
        self.kept = folder / "artifacts"
        store = SqlLinks(database, clock, most=1 << 20)
        store.origin = ORIGIN
        super().__init__(clock=clock, artifacts=FileArtifacts(self.kept, clock), links=store)  # type: ignore[arg-type]
        self.store = store
        self.rules(preset="autonomous")
        self.files = Files(self.service.world, Tokens(), **limits)  # type: ignore[arg-type]

    async def request(
        self,
        method: str,
        url: str,
        body: Iterable[bytes | float | asyncio.Event] = (),
        *,
        headers: dict[str, str] | None = None,
    ) -> Answer:
        """Send a request: pieces of a body, pauses between them (seconds, or an event). A negative one: it breaks off."""
        pieces, answer = list(body), Answer()

        async def receive() -> dict[str, Any]:
            while pieces:
                piece = pieces.pop(0)
                if isinstance(piece, asyncio.Event):
                    await piece.wait()
                    continue
                if isinstance(piece, bytes):
                    return {"type": "http.request", "body": piece, "more_body": bool(pieces)}
                if piece < 0:
                    return {"type": "http.disconnect"}
                await asyncio.sleep(piece)
            if method == "PUT":
                return {"type": "http.request", "body": b"", "more_body": False}
            return await asyncio.Event().wait()  # type: ignore[return-value]  # nobody leaves

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                answer.status = message["status"]
                answer.headers = {name.decode(): value.decode() for name, value in message["headers"]}
            else:
                answer.body += message.get("body", b"")
                answer.whole = not message.get("more_body", False)

        given = [(name.lower().encode(), value.encode()) for name, value in (headers or {}).items()]
        scope = {"type": "http", "method": method, "path": urlsplit(url).path, "headers": given}
        await self.files(scope, receive, send)
        return answer

    def held(self) -> list[str]:
        """What lies in the folder of artifacts."""
        return sorted(path.name for path in self.kept.iterdir()) if self.kept.exists() else []


@asynccontextmanager
async def linked(folder: Path, **limits: Any) -> AsyncIterator[Linked]:
    """Open one."""
    (folder / "state").mkdir(mode=0o700, exist_ok=True)
    database = Database(folder / "state" / "store.sqlite3", migrate)
    try:
        yield Linked(folder, database, **limits)
    finally:
        await database.aclose()
