"""The service in a thread of the test's own process: as `mcp-proton serve` puts it together, without the price of a start."""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import TYPE_CHECKING, Self

from mcp_proton import bootstrap
from mcp_proton.config.serving import Place
from mcp_proton.mcp.http import listening, watching
from mcp_proton.mcp.http.app import Application
from mcp_proton.mcp.http.identifying import identity
from mcp_proton.mcp.http.limits import Limits
from mcp_proton.mcp.http.readiness import Readiness
from mcp_proton.mcp.http.running import Server
from mcp_proton.mcp.logs import AUDIT

if TYPE_CHECKING:
    from pathlib import Path

PATIENCE = 50.0


class Inside(logging.Handler):
    """A running service. `lines` are what it wrote into its logs."""

    def __init__(self, home: Path, **environ: str) -> None:
        super().__init__()
        self._environ = {"MCP_PROTON_HOME": str(home), **environ}
        self.lines: list[str] = []
        self.port = 0
        self._failed: BaseException | None = None
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    @property
    def output(self) -> str:
        return "\n".join(self.lines)

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))

    def __enter__(self) -> Self:
        self._audit = logging.getLogger(AUDIT)
        self._level = self._audit.level
        self._audit.setLevel(logging.INFO)
        for logger in (self._audit, logging.getLogger("mcp_proton")):
            logger.addHandler(self)
        self._thread.start()
        assert self._ready.wait(PATIENCE)
        if self._failed is not None:
            raise self._failed
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._end)
        self._thread.join(PATIENCE)
        for logger in (self._audit, logging.getLogger("mcp_proton")):
            logger.removeHandler(self)
        self._audit.setLevel(self._level)

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:
            self._failed = error
        finally:
            self._ready.set()

    async def _serve(self) -> None:
        door = listening.opened(Place("127.0.0.1", 0))
        self.port = door.socket.getsockname()[1]
        notices = watching.Notices()
        async with bootstrap.real(self._environ) as running, identity(running, door, notices) as (trusted, front):
            gate = watching.Watched(Limits(running.settings.config.service), [watching.audit])
            self._app = Application(running, gate, Readiness(running).look, notices, trusted, front)
            self._server = Server(self._app)
            self._loop = asyncio.get_running_loop()
            self._loop.call_soon(self._ready.set)
            try:
                await self._server.serve([door.socket])
            finally:
                await self._app.aclose()
                door.close()

    def _end(self) -> None:
        self._app.ending.set()
        self._server.should_exit = True
